"""Reader of the output of a program that gave up, in several lines of which few report the failure."""

from __future__ import annotations

import re

from tooltrace.core.response import ToolResponse
from tooltrace.normalize.heuristics.error_patterns import OF_A_LOG
from tooltrace.normalize.heuristics.error_sentences import PROGRAM
from tooltrace.normalize.heuristics.failure_phrases import is_no_error_phrase, is_success_phrase
from tooltrace.normalize.lazy_regex import lazy
from tooltrace.normalize.response_builders import build_error, build_partial
from tooltrace.normalize.transports.completed_process import exit_code

_LONGEST_OUTPUT = 4000
_MOST_LINES = 60
_LINE = 500
"""Maximum characters of a line that are examined."""

_ENDED_BY = lazy(
    r"(?:g?make(?:\[\d+\])?: \*\*\* |ninja: build stopped).*|Execution halted|compilation terminated\.|\d+ errors?(?: generated\.)?|(?:-- )?Configuring incomplete, errors occurred!"
    r"|Execution of \S+ aborted due to compilation errors\.|Build FAILED\.|BUILD FAILED(?: in .*)?|Automatic merge failed; .*|Aborting|error Command failed .*|Host key verification failed\."
    r"|SyntaxError: .+|(?:curl|wget|tar|ssh|scp|rsync): (?:\(\d+\) |.*\b(?:cannot|unable|failed|no such|refused|could not)\b).*|error: (?:aborting due to|could not compile|failed to push) .*"
    r"|Error opening (?:input|output) files?:? .*|collect2: error: .*|[^\n:]{0,20}% .*curl: \(\d+\) .*|\d+ out of \d+ hunks? (?:ignored|failed)\b.*",
    re.IGNORECASE,
)
"""A last line with which a program gives up."""

_BEGUN_BY = lazy(
    r"FAILURE: Build failed with an exception\.|CMake Error\b.*|error: Your local changes .*|Error: Cannot find module .*|\s*× No solution found .*|\S+ : The term '.*|Get-\w+ : .*|error: externally-managed-environment"
)
"""A first line with which a program gives up, before lines that explain it."""

_GAVE_UP_IN = (
    "fatal: ",
    "E: ",
    "error: subprocess-exited",
    "npm error ",
    "npm ERR! ",
    "wget: unable",
    "ERROR: failed to solve",
    "CMake Error at ",
)
"""Beginnings of a line in which a program gives up; advice may follow."""

_REPORTED = lazy(
    r"(?:(?:fatal |zip )?error|Error|ERROR|fatal|FATAL): (?P<message>\S.*)|(?:\S{1,60}: )+(?:fatal )?[Ee]rror: (?P<tail>\S.*)"
)
"""A last line that is an error and its message."""
_CLAUSE = lazy(
    r"(?:Failed|Unable) to [a-z]+ \S.*|(?:Cannot|Could not|Couldn't|Can't) (?:connect|open|find|read|load|resolve|start|write|create|access|locate)\b.*|The connection to the server \S+ was refused\b.*"
)
"""A last line that is a clause of failure."""
_ENDS = (".", ":", "!", "?", ")", "'", '"', "`", "…")
"""Signs at the end of the line before a clause: a wrapped sentence has none of them."""
_PAIR = lazy(r"\s*[\"'\w-]{1,40}: ?\S.*")
_ADVICE = ("error", "warning", "hint", "fatal", "note", "npm", "remote")
_QUOTED = ("$ ", "> ", ">>> ", "| ", "- ", "* ", "# ", "//")
"""Beginnings of lines of a document or of a terminal's transcript."""

_KLOG = lazy(r"(?:[EW]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ \S+\.go:\d+\] [^\n]*\n)+")
"""Entries of a Kubernetes client's log before its report."""
_GO = lazy(
    r"\S+\.go:\d+:\d+: (?:undefined|cannot|declared and not used|\S+ (?:declared and not used|redeclared)|\"[^\"]+\" imported and not used|syntax error|missing|too many|not enough|invalid|no required|assignment|impossible|unreachable|unknown)\b.*"
)
"""A finding of Go's compiler, which stands under the name of the package."""

_COMPILED = lazy(
    r"[^\s:]+\.(?:c|cc|cpp|cxx|h|hpp|m|mm|cu):(?:\d+:(?:\d+:)?)?(?: In \S.*| (?:fatal )?error: .*)|In file included from .*"
)
"""First line of the report of a compiler of C."""
_COMPILE_ERROR = lazy(r"[^\s:]+\.\w{1,4}:\d+:(?:\d+:)? (?:fatal )?error: (?P<message>\S.*)")

_CAPTURED = lazy(
    r"(?is)stdout: ?(?P<out>.*?)\s*\nstderr: ?(?P<err>.*?)\s*\n(?:exit ?code|return ?code|exit status): ?(?P<exit>[1-9]\d{0,2})"
)
"""The captured output of a command that failed, with a caption for each stream."""
_RAN = lazy(
    r"(?s)Command: [^\n]*\nDirectory: [^\n]*\n(?:Output|Stdout): (?P<out>.*?)\n(?:Stderr: (?P<err>.*?)\n)?(?:Error: [^\n]*\n)?Exit Code: (?P<exit>[1-9]\d{0,2})\b.*"
)
"""The report of Gemini CLI about a command that failed."""

_READS_SEVERAL = lazy(
    r"(?:cat|ls|wc|head|tail|grep|egrep|rg|find|du|stat|file|md5sum|sha\d+sum|tree): [^\n]{1,300}: (?:No such file or directory|Permission denied|Is a directory|Not a directory|Input/output error)"
)
"""Report of a program, which reads several things, about one of them."""


def read_program_failure(words: str, text: str) -> ToolResponse | None:
    """Read the short output of a program that gave up in its first or its last line, or in a line that says so.

    Partial if a program that reads several files could read some of them.
    """
    if len(words) > _LONGEST_OUTPUT or "\n" not in words or "```" in words:
        return None
    klog = _KLOG.match(words)
    words = words[klog.end() :] if klog is not None else words
    lines = [line.rstrip()[:_LINE] for line in words.splitlines() if line.strip()]
    if not lines or len(lines) > _MOST_LINES:
        return None
    if _COMPILED.fullmatch(lines[0]):
        found = next(filter(None, map(_COMPILE_ERROR.fullmatch, lines)), None)
        return build_error(found["message"], text=text) if found else None
    captured = _CAPTURED.fullmatch(words) or _RAN.fullmatch(words)
    if captured is not None:
        return build_error(
            captured["err"] or captured["out"] or words,
            exit_code(int(captured["exit"])),
            type=f"exit_{captured['exit']}",
            text=text,
        )
    # After the forms that contain such lines themselves.
    if any(map(OF_A_LOG.match, lines)):
        return None
    if _BEGUN_BY.fullmatch(lines[0]):
        return build_error(lines[0].strip(), text=text)
    if lines[0].startswith("# ") and len(lines) > 1 and _GO.fullmatch(lines[1]):
        return build_error(lines[1], text=text)
    message = next((line.strip() for line in lines if line.lstrip().startswith(_GAVE_UP_IN)), None)
    if message is None and _ENDED_BY.fullmatch(lines[-1].strip()):
        message = lines[-1].strip()
    if message is not None:
        return build_error(message.removeprefix("fatal: ").removeprefix("E: "), text=text)
    return _by_inputs(lines, text) or _by_last_line(lines, text)


def _by_inputs(lines: list[str], text: str) -> ToolResponse | None:
    """Read the output of ``cat a b`` where one of the files does not exist, before or after what was read."""
    if not (_READS_SEVERAL.fullmatch(lines[0]) or _READS_SEVERAL.fullmatch(lines[-1])):
        return None
    failed = [line for line in lines if _READS_SEVERAL.fullmatch(line)]
    if len(failed) == len(lines):
        return build_error("\n".join(failed), text=text)
    return build_partial(failed[0], text, text)


def _by_last_line(lines: list[str], text: str) -> ToolResponse | None:
    """Read an output whose last line is an error message, as a program prints it."""
    last, before = lines[-1].strip(), lines[-2].strip() if len(lines) > 1 else ""
    if any(line.startswith(_QUOTED) for line in lines) or is_success_phrase(text):
        return None
    found = _REPORTED.fullmatch(last)
    if found is not None:
        message = found["message"] or found["tail"]
        paired = _PAIR.fullmatch(before) is not None and not before.lower().startswith(_ADVICE)
        if is_no_error_phrase(message) or before.endswith(":") or (paired and found["message"]):
            return None
        return build_error(message, text=text)
    if PROGRAM.fullmatch(last):
        return build_error(last, text=text)
    if _CLAUSE.fullmatch(last) and (not before or before.endswith(_ENDS)) and not before.endswith(":"):
        return build_error(last, text=text)
    return None
