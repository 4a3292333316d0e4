"""Readers of the output of a crash, from other languages' runtimes, package managers and shells."""

from __future__ import annotations

import re
from typing import NamedTuple

from tooltrace.core.response import ToolResponse
from tooltrace.normalize.heuristics import programs
from tooltrace.normalize.heuristics.error_patterns import OF_A_LOG
from tooltrace.normalize.heuristics.failure_phrases import is_no_error_phrase, is_success_phrase
from tooltrace.normalize.heuristics.literal_search import literal_search
from tooltrace.normalize.lazy_regex import lazy
from tooltrace.normalize.response_builders import build_error

_LONGEST_OUTPUT = 4000
_MOST_PROGRAM_LINES = 60
_PROGRAM_LINE = 500
"""Maximum characters of a line that are examined."""

_ENDED_BY = lazy(
    r"(?:g?make(?:\[\d+\])?: \*\*\* |ninja: build stopped).*|Execution halted|compilation terminated\.|\d+ errors?(?: generated\.)?|(?:-- )?Configuring incomplete, errors occurred!"
    r"|Execution of \S+ aborted due to compilation errors\.|Build FAILED\.|BUILD FAILED(?: in .*)?|Automatic merge failed; .*|Aborting|error Command failed .*|Host key verification failed\."
    r"|SyntaxError: .+|(?:curl|wget|tar|ssh|scp|rsync): (?:\(\d+\) |.*\b(?:cannot|unable|failed|no such|refused|could not)\b).*|error: (?:aborting due to|could not compile|failed to push) .*"
    r"|Error opening (?:input|output) files?:? .*|collect2: error: .*|[^\n:]{0,20}% .*curl: \(\d+\) .*|\d+ out of \d+ hunks? (?:ignored|failed)\b.*",
    re.IGNORECASE,
)
"""A last line with which a program gives up."""


_GAVE_UP_IN = (
    "fatal: ", "E: ", "error: subprocess-exited", "npm error ", "npm ERR! ", "wget: unable",
    "ERROR: failed to solve", "CMake Error at ",
)  # fmt: skip
"""Beginnings of a line in which a program gives up; advice may follow."""

_REPORTED = lazy(
    r"(?:(?:fatal |zip )?error|Error|ERROR|fatal|FATAL): (?P<message>\S.*)|(?:\S{1,60}: )+(?:fatal )?[Ee]rror: (?P<tail>\S.*)"
)
"""A last line that is an error and its message."""
_CLAUSE = lazy(
    r"(?:Failed|Unable) to [a-z]+ \S.*|(?:Cannot|Could not|Couldn't|Can't) (?:connect|open|find|read|load|resolve|start|write|create|access"
    r"|locate)\b.*|The connection to the server \S+ was refused\b.*"
)
"""A last line that is a clause of failure."""
_ENDS = (".", ":", "!", "?", ")", "'", '"', "`", "…")
"""Signs at the end of the line before a clause: a wrapped sentence has none of them."""
_PAIR = lazy(r"\s*[\"'\w-]{1,40}: ?\S.*")
_ADVICE = ("error", "warning", "hint", "fatal", "note", "npm", "remote")
_QUOTED = ("$ ", "> ", ">>> ", "| ", "- ", "* ", "# ", "//")
"""Beginnings of lines of a document or of a terminal's transcript."""

_GO = lazy(
    r"\S+\.go:\d+:\d+: (?:undefined|cannot|declared and not used|\S+ (?:declared and not used|redeclared)|\"[^\"]+\" imported and not used"
    r"|syntax error|missing|too many|not enough|invalid|no required|assignment|impossible|unreachable|unknown)\b.*"
)
"""A finding of Go's compiler, which stands under the name of the package."""

_COMPILED = lazy(
    r"[^\s:]+\.(?:c|cc|cpp|cxx|h|hpp|m|mm|cu):(?:\d+:(?:\d+:)?)?(?: In \S.*| (?:fatal )?error: .*)|In file included from .*"
)
"""First line of the report of a compiler of C."""
_COMPILE_ERROR = lazy(r"[^\s:]+\.\w{1,4}:\d+:(?:\d+:)? (?:fatal )?error: (?P<message>\S.*)")


def read_program_failure(words: str, text: str) -> ToolResponse | None:
    """Read the short output of a compiler, or of a program that gave up in its last line or in a line that says so."""
    if len(words) > _LONGEST_OUTPUT or "\n" not in words or "```" in words:
        return None
    lines = [line.rstrip()[:_PROGRAM_LINE] for line in words.splitlines() if line.strip()]
    if not lines or len(lines) > _MOST_PROGRAM_LINES:
        return None
    if _COMPILED.fullmatch(lines[0]):
        found = next(filter(None, map(_COMPILE_ERROR.fullmatch, lines)), None)
        return build_error(found["message"], text=text) if found else None
    if any(map(OF_A_LOG.match, lines)):
        return None
    if lines[0].startswith("# ") and len(lines) > 1 and _GO.fullmatch(lines[1]):
        return build_error(lines[1], text=text)
    message = next((line.strip() for line in lines if line.lstrip().startswith(_GAVE_UP_IN)), None)
    if message is None and _ENDED_BY.fullmatch(lines[-1].strip()):
        message = lines[-1].strip()
    if message is not None:
        return build_error(message.removeprefix("fatal: ").removeprefix("E: "), text=text)
    return _by_last_line(lines, text)


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
    report = programs.report_of(last)
    if report is not None:
        return build_error(report.message, programs.coded(report), text=text)
    if _CLAUSE.fullmatch(last) and (not before or before.endswith(_ENDS)) and not before.endswith(":"):
        return build_error(last, text=text)
    return None


_LONGEST, _MOST_LINES = 60_000, 500
_LINE = 500
"""Maximum characters of a line that are examined."""
_FRONT = 6000
"""Maximum characters before the first frame of a crash of Node; more if Node's version is the last line."""
_MOST_BEFORE = 8
"""Maximum lines with which Node shows the place of an error."""


class _Crash(NamedTuple):
    head: re.Pattern[str]
    """Pattern of the first line."""
    rest: re.Pattern[str]
    """Pattern of every other line."""
    proof: str = ""
    """Required beginning of at least one of the other lines; empty: none is required."""


_JS = lazy(r"(?:Uncaught )?(?P<type>(?:[A-Z]\w{0,60})?Error)(?: \[\w+\])?: (?P<message>.+)")
_JS_REST = lazy(r"    at .*|Node\.js v[\d.]+|\s*|[{}].*|  .*|.* \{|Require stack:|- .*")
_JS_END = lazy(r"Node\.js v[\d.]+")
"""The last line that Node prints when a program dies."""
_JS_PLACE = lazy(r"(?:\S.*:\d+|Uncaught:?|)")
_CRASHES = tuple(
    _Crash(lazy(head), lazy(rest), *proof)
    for head, rest, *proof in (
        (r"(?:panic|fatal error): (?P<message>.+)", r".*", "goroutine "),  # Go
        (r"thread '[^']*'(?: \(\d+\))? panicked at '(?P<message>.*)', .*", r"note: .*|stack backtrace:|\s.*|"),  # Rust
        (r"thread '[^']*'(?: \(\d+\))? panicked at (?P<place>\S+:\d+:\d+):", r".*"),
        (r"Exception in thread \"[^\"]*\" (?P<type>[\w.$]+)(?:: (?P<message>.*))?", r"\s+.*|Caused by: .*|"),  # Java
        (
            r"(?P<type>(?:[a-z]\w*\.)+[A-Z]\w*(?:Exception|Error))(?:: (?P<message>.*))?",
            r"\s+.*|Caused by: .*|",
            "\tat ",
        ),
        (r"Unhandled [Ee]xception[.:] (?P<type>[\w.]+)(?:: (?P<message>.*))?", r"\s+.*|"),  # .NET
        (
            r"(?:PHP )?Fatal error: +Uncaught (?P<type>[\w\\]+): (?P<message>.+) in \S+:\d+",
            r"Stack trace:|#\d+ .*|\s+.*|",
        ),
        (r"[^:]+\.rb:\d+:in [^:]+: (?P<message>.+) \((?P<type>[A-Z][\w:]*)\)", r"\s+.*|"),  # Ruby
        (
            r"terminate called after throwing an instance of '(?P<type>[^']+)'",
            r"\s+what\(\):\s+(?P<message>.*)|Aborted.*|",
        ),
        (r"\*\* \((?P<type>[A-Z][\w.]*)\) (?P<message>.+)", r"\s+.*|"),  # Elixir
        (r"error(?:\[E\d+\])?: (?P<message>.+)", r".*", "error: could not compile"),  # cargo
        (r"#\d+ ERROR: (?P<message>.+)", r".*", "ERROR: failed to solve"),  # docker
        (r"ERROR: \((?P<type>(?:gcloud|gsutil|bq)(?:\.[\w-]+)*)\) (?P<message>.+)", r".*"),
        (r"# (?P<message>\d+ SEARCH/REPLACE blocks? failed to match!)", r".*"),  # aider
        (r"(?P<message>(?:Segmentation fault|Bus error|Aborted|Illegal instruction) \(core dumped\))", r""),
    )
)
_HEADS = (
    *("panic", "error", "exception", "terminate called", ".rb:", "** (", "search/replace", "segmentation fault"),
    *("aborted", "illegal instruction"),
)
"""Parts in lower case of which each head of a crash has one."""
_may_begin = literal_search(_HEADS)
_ENDED = lazy(r"(?:exit status|exit code:?) \d+|Aborted(?: \(core dumped\))?", re.IGNORECASE)
"""A line after the crash in which the parent program reports how the crashed program ended."""

_NPM = lazy(r"npm (?:ERR!|error)[ \t]*(.*)")
_NPM_LINE = lazy(r"npm (?:ERR!|error|WARN|warn|notice)(?:[ \t].*)?|")
_NPM_CODE = lazy(r"code\s+(\S+)")
_NPM_FIELD = lazy(r"(?:code|syscall|path|errno|cwd|command|sh|lifecycle|A complete log)\b")

EXIT = lazy(
    r"[\[(]?(?:(?:The )?(?:Process|Command|Program|Script|Shell) )?(?:(?:has )?(?:finished|completed|ended|terminated|failed) with )?"
    r"(?:(?:an? |non-?zero )*Exit(?:ed)?(?: with)? (?:code|status)|(?:Return|Exit)[ _]?code)[:=]?\s*(?P<exit>0|[1-9]\d{0,2})(?: \(execution failed\))?\.?[\])]?\.?"
    r"|<(?:exit_?code|return_?code)>(?P<tagged>\d{1,3})</\w+>",
    re.IGNORECASE,
)
"""A last line that holds the exit status of a command."""


def read_crash(words: str, text: str) -> ToolResponse | None:
    """Return the error of a program that crashed, if ``words`` is its output and nothing more."""
    if len(words) > _LONGEST or "```" in words:
        return None
    if not _may_be(words):
        return read_program_failure(words, text)
    lines = words.splitlines()
    if len(lines) > _MOST_LINES:
        return None
    return _npm(lines, text) or _crashed(lines, text) or _node(lines, text) or read_program_failure(words, text)


def _may_be(words: str) -> bool:
    """Whether the text may be a crash, by its first and its last line.

    This quick test keeps most texts from the slower patterns.
    """
    if words.startswith("npm ") or "\n    at " in words[:_FRONT]:
        return True
    first = words[: _LINE + 1].partition("\n")[0][:_LINE]
    last = words[-_LINE:].rpartition("\n")[2]
    if _JS_END.fullmatch(last):
        return True
    if any(_may_state_exit(line) and EXIT.fullmatch(line.strip()) for line in (last, first)):
        return True
    lowered = first.lower()
    return _may_begin(lowered) and any(crash.head.fullmatch(first) for crash in _CRASHES)


def _may_state_exit(line: str) -> bool:
    lowered = line.lower()
    return "exit" in lowered or "code" in lowered


def _crashed(lines: list[str], text: str) -> ToolResponse | None:
    head = lines[0][:_LINE]
    for crash in _CRASHES:
        match = crash.head.fullmatch(head)
        if match is not None:
            return _died(match, lines[1:], crash, text)
    return None


def _died(head: re.Match[str], others: list[str], crash: _Crash, text: str) -> ToolResponse | None:
    rest = [(line, crash.rest.fullmatch(line[:_LINE])) for line in others]
    if not all(match or _ENDED.fullmatch(line) for line, match in rest):
        return None
    if crash.proof and not any(line.startswith(crash.proof) for line in others):
        return None
    parts = head.groupdict()
    messages = [match["message"] for _, match in rest if match and match.groupdict().get("message")]
    message = parts.get("message") or (messages[0] if messages else None)
    if message is None and parts.get("place"):  # Rust prints the message on the next line
        message = others[0].strip() if others else None
    return _failure(message, parts.get("type"), text)


def _node(lines: list[str], text: str) -> ToolResponse | None:
    """Read a crash of Node: the place of the error, the error, and its frames.

    The program's own output may stand before the place if Node's version is the last line.
    """
    died = _JS_END.fullmatch(lines[-1]) is not None
    searched = lines if died else lines[: _MOST_BEFORE + 1]
    number = next((n for n, line in enumerate(searched) if _JS.fullmatch(line[:_LINE])), None)
    if number is None or (number and not died and not _JS_PLACE.fullmatch(lines[0][:_LINE])):
        return None
    frames = lines[number + 1 :]
    if not any(line.startswith("    at ") for line in frames) or not all(
        _JS_REST.fullmatch(line[:_LINE]) for line in frames
    ):
        return None
    match = _JS.fullmatch(lines[number][:_LINE])
    return _failure(match["message"], match["type"], text) if match else None


def _failure(message: str | None, kind: str | None, text: str) -> ToolResponse:
    name = re.split(r"[.\\:$]", kind)[-1] if kind else None
    return build_error(message or name or text.strip(), type=name, text=text)


def _npm(lines: list[str], text: str) -> ToolResponse | None:
    lines_of_npm = [match[1] for line in lines if (match := _NPM.fullmatch(line))]
    code = next((match[1] for line in lines_of_npm if (match := _NPM_CODE.fullmatch(line.strip()))), None)
    if not lines_of_npm or not (code or "ERR!" in lines[0]) or not all(map(_NPM_LINE.fullmatch, lines)):
        return None
    message = next((line for line in lines_of_npm if line and not _NPM_FIELD.match(line)), lines_of_npm[0])
    return build_error(message, type=code, text=text)
