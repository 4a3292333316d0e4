"""Short texts that as a whole report a failure, and texts that report that nothing failed."""

from __future__ import annotations

from tooltrace.normalize.lazy_regex import lazy
from tooltrace.normalize.terms import snake_case

_TRIMMED = lazy(r"^[\W_]+|[\W_]+$")
_SPACES = lazy(r"[\s_-]+")
_FIGURE = lazy(r"[\s±+~<>≤≥-]*[\d.,]+\s*\S{0,4}\s*|0 \w+")
_WELL = lazy(
    r"(?i)\bno (?:errors?|issues?|problems?|failures?)\b|\b(?![45]\d\d/)\d+ ?(?:of|/|out of) ?\d+\b|没有(?:错误|问题)"
)
_LONGEST = 60

_FAILURES = (
    "timeout|timed out|time out|request timeout|request timed out|the request timed out|connection timeout",
    "connection timed out|operation timed out|the operation timed out|read timeout|read timed out|gateway timeout",
    "deadline exceeded|execution timed out|query timed out|tool timed out",
    "not found|404 not found|page not found|file not found|resource not found|object not found|user not found",
    "no such file|no such file or directory|command not found|tool not found|record not found|does not exist",
    "rate limit|rate limited|rate limit exceeded|ratelimited|too many requests|quota exceeded|throttled",
    "429 too many requests",
    "permission denied|access denied|unauthenticated|unauthorized|401 unauthorized|forbidden|403 forbidden|authentication failed",
    "authentication required|invalid api key|invalid token|invalid auth|invalid credentials|token expired",
    "connection refused|connection reset|connection reset by peer|connection error|connection failed",
    "network error|network unreachable|network is unreachable|host unreachable|no route to host|connection closed",
    "internal server error|500 internal server error|internal error|server error|service unavailable",
    "503 service unavailable|service temporarily unavailable|bad gateway|502 bad gateway|bad request",
    "payment required|402 payment required|400 bad request|504 gateway timeout|upstream error|api error",
    "unknown error|unexpected error|an error occurred|an unexpected error occurred|an unknown error occurred",
    "something went wrong|error occurred|execution failed|execution error|tool execution failed|tool call failed",
    "request failed|operation failed|invalid input|invalid request|invalid argument|invalid arguments",
    "invalid parameter|invalid parameters|out of memory|segmentation fault|parse error|syntax error",
    "超时|请求超时|连接超时|执行超时|操作超时|查询超时|未找到|找不到|不存在|文件不存在|文件未找到|找不到文件|资源不存在",
    "用户不存在|请求过于频繁|请求频率过高|请求过多|触发限流|已被限流|限流|权限不足|无权限|没有权限|权限被拒绝|拒绝访问",
    "访问被拒绝|未授权|网络错误|网络异常|连接失败|连接被拒绝|无法连接|请求失败|执行失败|操作失败|调用失败|工具执行失败",
    "工具调用失败|查询失败|搜索失败|服务不可用|服务暂不可用|服务暂时不可用|服务器错误|内部错误|服务器内部错误|未知错误",
    "系统错误|发生错误|出错了|参数错误|格式错误|解析失败",
)
FAILURES = frozenset("|".join(_FAILURES).split("|"))
"""Phrases that report a failure, in lower case, with single spaces."""

_NOTHING = (
    "none|null|nil|no|false|ok|okay|success|successful|succeeded|completed|done|n/a|na|no error|no errors|without error",
    "without errors|undefined|nan|inf|infinity|无|没有|成功|无错误|没有错误",
)
NO_FAILURES = frozenset("|".join(_NOTHING).split("|"))
"""Phrases that stand for "no error", in lower case, with single spaces."""


_BAD_FIRST = frozenset(["no", "invalid", "not", "unknown", "missing", "too", "bad", "unsupported", "illegal", "duplicate", "insufficient", "incorrect", "malformed", "cannot"])  # fmt: skip
"""Words that begin the code of a failure."""
_BAD_WORDS = frozenset([
    "error", "exception", "denied", "exceeded", "failed", "failure", "invalid", "expired", "required", "timeout", "unavailable", "mismatch", "conflict",
    "forbidden", "unauthorized", "unauthenticated", "notfound", "throttling", "throttled", "rejected", "refused", "revoked", "disabled", "fault", "missing", "unsupported",
])  # fmt: skip
"""Words of a code that mean a failure wherever they stand."""
_AFTER_NOT = frozenset(["found", "allowed", "authorized", "supported", "available", "permitted", "exist", "exists", "valid", "enabled", "implemented"])  # fmt: skip
"""Words that end the code of a failure after ``not``."""


def is_failure_phrase(text: str) -> bool:
    """Whether all of ``text`` is one of the phrases for a failure."""
    return len(text) <= _LONGEST and text[:1] != "#" and normalize_phrase(text) in FAILURES


def is_no_error_phrase(text: str) -> bool:
    """Whether ``text``, in the place of an error, reports none: empty, ``none``, ``ok``, a figure."""
    return (
        not any(map(str.isalpha, text[:_LONGEST]))
        or bool(_FIGURE.fullmatch(text))
        or normalize_phrase(text[:_LONGEST]) in NO_FAILURES
    )


def is_success_phrase(text: str) -> bool:
    """Whether ``text`` mentions that nothing is wrong, or how much was done."""
    return _WELL.search(text) is not None


def normalize_phrase(text: str) -> str:
    """Return ``text`` in lower case with single spaces, without the signs around it."""
    return _SPACES.sub(" ", _TRIMMED.sub("", text.casefold()))


def is_failure_word(code: str) -> bool:
    """Whether a service's own code is a failure by its words: ``NoRoute``, ``INVALID_TOKEN``, ``user_not_found``."""
    words = snake_case(code).replace("-", "_").replace(".", "_").split("_") if " " not in code else []
    negated = "not" in words and words[-1] in _AFTER_NOT
    return (
        len(words) > 1
        and "no_error" not in "_".join(words)
        and (negated or words[0] in _BAD_FIRST or not _BAD_WORDS.isdisjoint(words))
    )
