"""Reports of programs: ``program: … message``, in the languages of operating systems and shells.

``patterns/system_messages.tsv`` has the messages. A message counts only after the name of a program and a colon: the same
words elsewhere may be anything.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from tooltrace.core.codes import ToolErrorCode
from tooltrace.normalize.heuristics.literal_search import literal_search
from tooltrace.normalize.lazy_regex import lazy
from tooltrace.normalize.terms import guess_code_from_message

_LONGEST = 500
"""Maximum characters of a line that is a report."""
_SHELLS = frozenset({"bash", "sh", "dash", "zsh", "ksh", "fish", "ash", "-bash", "-sh"})
_LINE = lazy(r"(?:\S*/)?(?P<name>[\w.+@\[-]{1,40}): +(?P<rest>\S.*)")
_OPERAND = lazy(r"[‘'\"`«„“].{1,200}?[’'\"´»“”]")
_OF_A_SCRIPT = lazy(r"\S{1,200}: (?:line |-c: line )?\d+: (?P<rest>\S.*)")
"""A report of a shell about a line of a script."""
_FAILED = lazy(
    r"(?i)\b(?:invalid|not|no|cannot|can't|could not|couldn't|unable|unknown|unrecogni[sz]ed|unsupported|missing|extra"
    r"|bad|wrong|too (?:few|many|large|long|small|short)|illegal|denied|refused|fail(?:ed|ure|s)?|errors?|must"
    r"|unexpected|unterminated|unmatched|garbage|inappropriate|expected|requires|non-integer|division by (?:zero|0)"
    r"|mutually exclusive|required|exists|killed|usage|ambiguous|only|undefined|conflicting)\b"
)
_HARMLESS = lazy(
    r"(?i)(?:warning|note|info|notice|debug|nothing to be done|.* is up to date|version|removing|adding)\b"
)
_ASIDE = lazy(r" \([^()]{1,80}\)(?=\.?$)")
_HINT = lazy(
    r"(?i)\s*(?:try|usage|run|see|more info|or|aborting|for more (?:help|info)|hint|help|note|did you mean|the most similar)\b.*"
    r"||.* --help\b.*"
)
"""A line after the report that explains the usage."""
_USAGE = lazy(r"(?i)\s*(?:usage|(?:\w+ ){0,2}options)\b.*|\S+ ?[:：]\s*\S+ .*\[.*")
"""A line from which on the usage of the program is explained."""
_CHANGE = lazy(
    r"(?i)(?:fix|add|remov|emit|avoid|allow|skip|clarif|improv|implement|updat|handl|support|ensur|renam|refactor|chang)(?:e?s|ed|ing|y|e)?\b"
    r"|(?:do not|don't|use|make|new|let|return|print|report|port|always|never|list|lookup|show|drop|move|stop|there|build|now)\b(?! (?:of|is|not))"
    r"|can (?!not)|-\w+ (?:no longer|now|does|always|never|is)\b"
)
"""Beginning of the subject of a commit, which has the form of a report."""
_USAGE_END = lazy(r"(?:Try|For more (?:help|info)\w*,? (?:try|run|see)) ['`\"]?\S+(?: \S+)? (?:--help|help|-h)\b.*")
_OF_A_SHELL = lazy(r"\S+ \d+: .*|-c: .*")
_OTHER_LANGUAGE = lazy(r"[À-ÿĀ-ɏͰ-ҿ]")
"""Letters of European languages other than English."""
_OF_GO = lazy(
    r"(?:(?:open|stat|lstat|read|write|mkdir|remove|rename|chdir|unlink|exec|fork/exec|dial|lookup|listen|Get|Post|Head|Put) ?\S*|dial \w+[^:]*): .*"
)
"""An operation of Go's library and what it worked on, before the message of the system."""
_NO_COMMAND = lazy(
    r"(?i)(?:FAILED \((?:exit status|exit code|errors?|failures?)[ =:]?\d+\)|(?:PHP )?(?:parse|fatal) error: .*|g?make(?:\[\d+\])?: \*\*\* .*"
    r"|(?:error code|errcode|error|status code|http status)[:：]? [1-9]\d{2,4})"
    r"|(?i:\S+ : the term '.*|\S+ : (?:Cannot find path|Access to the path) .*|.*(?:command not found|is not recognized as )\b.*|zsh: (?:command not found|no matches found).*)"
)


class Report(NamedTuple):
    """What a program said about its failure."""

    message: str
    code: ToolErrorCode | None = None


class _Messages(NamedTuple):
    ends: dict[str, ToolErrorCode]
    """Messages that end a line."""
    parts: dict[str, ToolErrorCode]
    """Messages that stand anywhere in a line."""


class _Names(NamedTuple):
    all: frozenset[str]
    plain: frozenset[str]
    """Names that are no words of records."""


def _read(name: str) -> list[str]:
    lines = files("tooltrace.normalize").joinpath("patterns", name).read_text("utf-8").splitlines()
    return [line for line in lines if not line.startswith("#")]


@cache
def _names() -> _Names:
    words = " ".join(_read("programs.txt")).split()
    return _Names(frozenset(word.rstrip("*") for word in words), frozenset(word for word in words if word[-1] != "*"))


def _normal(message: str) -> str:
    return _ASIDE.sub("", message.strip()).casefold().strip(" .。\xa0")


@cache
def _messages() -> _Messages:
    found = _Messages({}, {})
    for line in _read("system_messages.tsv"):
        place, _language, code, message = line.split("\t")
        if place == "end":
            found.ends[_normal(message)] = ToolErrorCode(code)
        else:
            found.parts[message.casefold()] = ToolErrorCode(code)
    return found


def may_report(text: str) -> bool:
    """Whether the first or the last line of ``text`` ends with a message of the operating system, or has one of a shell."""
    words = text.strip()
    first, last = words[:_LONGEST].partition("\n")[0], words[-_LONGEST:].rpartition("\n")[2]
    names = {line.partition(": ")[0].rpartition("/")[2] for line in (first, last)}
    if not names.isdisjoint(_names().all) or " --help" in words[-_LONGEST:]:
        return True
    return any(": " in line and _ends(line) is not None for line in {first, last})


def _system_message(line: str) -> ToolErrorCode | None:
    return _ends(line) or _part(line)


def _ends(line: str) -> ToolErrorCode | None:
    """Return the code of the system's message at the end of ``line``."""
    return _messages().ends.get(_normal(line.rpartition(": ")[2]))


def _part(line: str) -> ToolErrorCode | None:
    lowered = line.partition(": ")[2].casefold()
    if not lowered or not _has_part()(lowered):
        return None
    return next((code for part, code in _messages().parts.items() if part in lowered), None)


@cache
def _has_part() -> Callable[[str], bool]:
    return literal_search(_messages().parts)


def report_of(line: str) -> Report | None:
    """Return the failure that ``line``, one line that a program printed, reports; None if it reports none."""
    line = line.strip()
    found = _LINE.fullmatch(line) if len(line) <= _LONGEST else None
    if found is None:
        code = _ends(line) if _OF_GO.fullmatch(line) else None
        if code is not None:
            return Report(line, code)
        return Report(line, _part(line)) if len(line) <= _LONGEST and _NO_COMMAND.fullmatch(line) else None
    name, rest = found["name"], found["rest"]
    if _HARMLESS.match(rest):
        return None
    code = _system_message(line)
    if code is not None and (name in _names().all or _ends(line) is not None or "." in name):
        return Report(line, code)
    scripted = _OF_A_SCRIPT.fullmatch(line)
    if _CHANGE.match(rest) and name not in _SHELLS:
        return None
    if (name in _SHELLS or scripted is not None) and _FAILED.search(rest):
        return Report(line) if name in _SHELLS or "line " in line else None
    if name in _SHELLS and _OF_A_SHELL.match(rest):
        return Report(line)
    # a name that is a word of records too ("date: not specified") names the operand that it refuses, in quotes
    if (name in _names().plain or (name in _names().all and _OPERAND.search(rest))) and _FAILED.search(rest):
        return Report(line)
    if name in _names().all and rest.startswith("***"):
        return Report(line)
    return Report(line) if name in _names().plain and _OTHER_LANGUAGE.search(rest) else None


def read_output(words: str) -> Report | None:
    """Return the failure that the output of a program reports: its first line before hints, or its last line."""
    lines = words.strip().splitlines()
    if not lines:
        return None
    name = lines[0].partition(":")[0].strip()
    # The hint at the usage names the program in every language: "Try 'cut --help' …".
    if len(lines) > 1 and name in _names().all and any(f"{name} --help" in line for line in lines[1:4]):
        return report_of(lines[0]) or Report(lines[0], ToolErrorCode.INVALID_PARAM)
    first = report_of(lines[0])
    if first is None and len(lines) > 1 and lines[0].startswith(("error: ", "fatal: ")):
        first = Report(lines[0].partition(": ")[2])
    if first is not None and _explains(lines[1:]):
        return first
    if lines[0].lower().lstrip().startswith("usage:") and len(lines) > 1 and _USAGE_END.fullmatch(lines[-1]):
        return Report(lines[0], ToolErrorCode.INVALID_PARAM)
    return None


def _explains(lines: list[str]) -> bool:
    """Whether lines after a report are further reports, hints, or the usage of the program."""
    for line in lines:
        if _USAGE.match(line):
            return True
        if not _HINT.fullmatch(line) and report_of(line) is None:
            return False
    return True


def coded(report: Report) -> ToolErrorCode:
    """Return the code of a report: that of the system's message, else the one that its words suggest."""
    return report.code or guess_code_from_message(report.message)
