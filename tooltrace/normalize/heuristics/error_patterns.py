"""Patterns of texts that are an error message, and of texts that only mention an error.

``patterns/texts.txt`` has those of the reports; here are the few signs around them.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from tooltrace.normalize.lazy_regex import lazy

_PART = re.compile(r"\{\{(\w+)\}\}")


class TextPattern(NamedTuple):
    """A pattern, and a text that it matches."""

    pattern: str
    example: str


@cache
def patterns(name: str) -> tuple[TextPattern, ...]:
    """Return the patterns of the list ``name``, in their order."""
    return _lists()[name]


@cache
def _lists() -> dict[str, tuple[TextPattern, ...]]:
    parts: dict[str, str] = {}
    lists: dict[str, list[TextPattern]] = {}
    found: list[TextPattern] = []
    for line, pattern in _entries(files("tooltrace.normalize").joinpath("patterns", "texts.txt").read_text("utf-8")):
        mark, _, text = line.partition(" ")
        if mark == "##":
            found = lists.setdefault(text, [])
        elif mark == "=":
            parts[text] = pattern
        else:
            found.append(TextPattern(pattern, text.replace("⏎", "\n")))
    return {
        name: tuple(TextPattern(_whole(each.pattern, parts), each.example) for each in rows)
        for name, rows in lists.items()
    }


def _entries(text: str) -> list[tuple[str, str]]:
    """Return each line with a mark, and the pattern in the lines after it."""
    entries: list[tuple[str, str]] = []
    for line in text.splitlines():
        if line.startswith(("## ", "= ", "+ ")):
            entries.append((line, ""))
        elif line and entries:
            mark, before = entries[-1]
            entries[-1] = (mark, before + line.removeprefix("    "))
    return entries


def _whole(pattern: str, parts: dict[str, str]) -> str:
    """Return ``pattern`` with its named parts."""
    while _PART.search(pattern):
        pattern = _PART.sub(lambda match: parts[match[1]], pattern)
    return pattern


def any_of(name: str, flags: int = 0) -> re.Pattern[str]:
    """Return one pattern for all of the list ``name``, compiled on first use."""
    return lazy(lambda: "|".join(f"(?:{each.pattern})" for each in patterns(name)), flags)


def each_of(name: str, flags: int = 0) -> tuple[re.Pattern[str], ...]:
    """Return the patterns of the list ``name``, each compiled on first use."""
    return tuple(lazy(each.pattern, flags) for each in patterns(name))


PREFIXES = each_of("prefix", re.DOTALL)
"""Whole error messages by their beginning; they may have several lines and sentences."""
ONE_LINERS = each_of("one_liner")
"""First lines that are an error message; a second sentence may follow, but no longer text."""
OPENING = any_of("opening")
"""First lines that report the tool's own failure, in English: the thing that failed, and what happened to it."""
CLAUSE = any_of("clause")
"""A clause of failure that is nearly all of a short text: a subject, and what it must be, is not, or failed to do."""
RUNTIME = any_of("runtime")
"""Whole lines that are the message of an exception of a runtime, a database, a browser or a proxy."""
NOT_A_REPORT = any_of("not_a_report", re.IGNORECASE)
"""Beginnings of texts that explain an error, tell of one, or report that nothing was found."""
OTHER_LANGUAGES = any_of("other_languages")
"""First lines that report the tool's own failure, in languages other than English and Chinese."""
CHINESE_OPENING = any_of("chinese")
"""First lines that report the tool's own failure, in Chinese."""
NOT_A_CHINESE_REPORT = any_of("not_a_chinese_report")
CHINESE = lazy("[\u3400-\u9fff]")
CLOSINGS = lazy(
    r"(?is).{1,300}(?:(?:(?:please )?(?<!let's )(?<!let\u2019s )try again|(?:please |and |then |or |to |[,.;:!-] ?)retry(?: the \w+)?)(?: later"
    r"| in .{1,30}| after .{1,30}| with .{1,60}| using .{1,60})?"
    r"|fix the errors? and try again|(?:请|稍后|稍候).{0,6}(?:再试|重试|再次尝试|再次请求)|请(?:联系管理员|检查.{1,20}|重新登录|重新输入|先登录))[.!。！]?"
)
"""Texts that end with the advice to try again; only a failure ends so, unless the opening is about no results."""
ADVISED = ("again", "retry", "试", "请")
"""Words of which every text that ends with an advice has one at its end."""
HEADED = lazy(
    r"(?:#{1,4} Result\s*\n(?=Error: )|(?:#{1,4} Error|\*\*(?:[A-Z]\w+ ){0,3}Error\*\*|\*\*(?:Not Found|Access Denied|Permission Denied|Unauthorized|Forbidden|Rate Limited)\*\*)\s*\n\s*(?=\S))"
)
"""A heading in Markdown above the report of an error."""
OFFERS = lazy(
    r"(?i)(?:available|options?|valid|choose|following|supported|allowed|members|did you mean|one of)\b[^\n:：]{0,40}[:：]$|(?:可用|可选|支持)[^\n]{0,20}[:：]$"
)
"""End of a line above the list of what the caller can choose instead."""
LISTED = lazy(r"(?m)^\s*(?:❌|✅|✔|✓|☑|🚫|⚠️?|✗|✖)")
"""Lines with a sign; several of them are a list."""
MARKED = lazy(r"(?:❌|🚫|⛔|✗|✖|✘|🛑|\U0001f6a8|x️)\s*(?:\*\*)?(?P<message>\S.*)", 16)
"""Texts that open with a sign for failure (16: DOTALL)."""
WARNED = lazy(r"(?:⚠️?|❗|‼️)\s*")
"""A warning sign, which alone does not say that the call failed."""
SIMPLIFIED = str.maketrans(
    "錯誤無敗請異連權檢時發處應資傳過場網絡確認證載讀寫檔執行開啟關閉參數據庫獲沒個無響應務",
    "错误无败请异连权检时发处应资传过场网络确认证载读写档执行开启关闭参数据库获没个无响应务",
)
"""Traditional characters of the words below."""
STATES_NONE = lazy(
    r"(?i)(?:[\w ]{0,30}(?:fail(?:ed|ures?)|errors?|exceptions?)[\w ]{0,15} ?[:=] ?(?:0|none|null|nil|no|false|n/a|\[\]|\{\}|\"\"|''|-)"
    r"|[\w ]{0,30}time-?out[\w ]{0,15} ?[:=] ?\d+(?:\.\d+)? ?(?:ms|s|sec(?:ond)?s?|m|min(?:ute)?s?|h|hours?)?)\s*(?:\n|$)"
)
"""A line that states that nothing failed, such as ``failed: 0``, or a limit of time, such as ``Timeout: 30 s``."""
COUNTED = lazy(r"[^\n]{0,60}\b(?:returned|gave|found|has) [45]\d\d (?!errors\b)[a-z]+s\b")
"""A number of items, which is no status of HTTP: ``Server returned 500 results``."""
SENTENCES = lazy(r"[.!?] +(?=[A-Z])")
OF_A_MANUAL = lazy(
    r"(?i)(?:is |are )?(?:raised|thrown|occurs?|happens|returned|used)\b|(?:this|an?|the) (?:error|exception)\b.*\b(?:when|if)\b"
    r"|base class|the base class|.{0,40}\bis raised\b"
)
"""Words with which a manual explains an error."""
DEFINITION = lazy(r"(?i)(?:an?|the|any) [\w -]{1,40} (?:which|that|who|in which)\b")
"""Beginning of the definition of a term, as in "Exception: An event which …"."""
OF_A_LIST = lazy(
    r"\s*(?:-(?!-{7,}\s*$)|[*•#|>]|\d{1,3}[.)\]]\s|https?://\S+\s*$|\d{4}-\d\d-\d\d|\[?(?:INFO|DEBUG|WARN|ERROR)\b)"
)
"""Beginning of a line in a list or in a log."""
OF_A_LOG = lazy(
    r"^\s*(?:\[?\d{4}[-/]\d\d[-/]\d\d|\[\w{1,10}\] \d+#\d+: |\[?\d\d:\d\d:\d\d|[A-Z][a-z]{2} +\d{1,2} \d\d:\d\d|\S+ +\| "
    r"|\[?(?:INFO|DEBUG|WARN|WARNING|ERROR|CRITICAL|FATAL|NOTICE|TRACE)(?:\] |\]?:[\w.]+:|\s+[\w.]+: |\s+\[|\s+\d))",
    re.MULTILINE,
)
"""Beginning of a log entry: a time, a level and its logger, or a container's name."""
BEFORE_A_TRACE = lazy(
    r"(?i)(?:❌\s*|\[)?(?:(?:an? |the )?(?:[a-z]+ ){0,2}(?:error|exception|failure|stderr)(?: (?:output|occurred|raised|while|when|in|during|executing|running|from)\b[^\n]{0,120})?"
    r"|(?:the )?(?:tool|code|script|command|python|function|execution|program|query|cell|process|evaluation)\b[^\n]{0,120}\b(?:failed|error|raised|crashed|exception|stderr)[^\n]{0,60}"
    r"|(?:错误|异常|执行失败|运行失败|执行出错|运行出错)[^\n]{0,60})\s*\]?[:：]?"
)
"""Announcement that a tool prints before the traceback of its failure."""
OF_AN_INTRODUCTION = lazy(
    r"(?i)\b(?:traceback|following|below|this|these|i|we|you|my|your|our|logs?|example|when|why|question|issue|bug|reported"
    r"|ticket|user|customer)\b|^[A-Z][\w -]{0,30}: \S|[:：]\s*$|^\s*[#>$%]"
)
"""Words with which a person introduces a traceback, or a colon at the end of the introduction."""
OF_A_PAGE = lazy(
    r"(?i)\bhow (?:to|do i|can i)\b|stack ?overflow|\btutorial\b|[-–|] wikipedia\b|^wikipedia\b|为什么|如何|怎么"
)
"""Words in the title of a page about an error."""
