"""The protocols' names for errors and next actions, translated to those of ``ToolResponse``."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Final, get_args

from tooltrace.core.codes import NextAction, ToolErrorCode
from tooltrace.normalize.lazy_regex import lazy
from tooltrace.normalize.transports.http_status import of_status

_C = ToolErrorCode

SPENT_QUOTA: Final = "insufficient_quota"
"""OpenAI's word for a quota that is used up; its HTTP status is that of a rate limit, but no retry helps."""

_CODES: dict[str, ToolErrorCode] = {
    **{code.value: code for code in _C},
    "NOT_EXIST": _C.NOT_FOUND, "NO_SUCH": _C.NOT_FOUND, "NO_RESULT": _C.NOT_FOUND, "NO_RESULTS": _C.NOT_FOUND,
    "MISSING": _C.NOT_FOUND, "RESOURCE_NOT_FOUND": _C.NOT_FOUND, "RESOURCE_MISSING": _C.NOT_FOUND, "FILE_NOT_FOUND": _C.NOT_FOUND, "ENOENT": _C.NOT_FOUND,
    "EXISTS": _C.ALREADY_EXISTS, "DUPLICATE": _C.ALREADY_EXISTS,
    "UNAUTHORIZED": _C.ACCESS_DENIED, "UNAUTHENTICATED": _C.ACCESS_DENIED, "AUTH": _C.ACCESS_DENIED,
    "AUTHENTICATION": _C.ACCESS_DENIED, "AUTHENTICATION_FAILED": _C.ACCESS_DENIED, "INVALID_AUTH": _C.ACCESS_DENIED,
    "INVALID_API_KEY": _C.ACCESS_DENIED, "INVALID_TOKEN": _C.ACCESS_DENIED, "TOKEN_EXPIRED": _C.ACCESS_DENIED,
    "EXPIRED_TOKEN": _C.ACCESS_DENIED, "INVALID_SESSION_ID": _C.ACCESS_DENIED, "LOGIN_REQUIRED": _C.ACCESS_DENIED,
    # OAuth 2 (RFC 6749 and 6750): names that differ from those of the codes.
    "INVALID_GRANT": _C.ACCESS_DENIED, "INVALID_CLIENT": _C.ACCESS_DENIED, "UNAUTHORIZED_CLIENT": _C.ACCESS_DENIED,
    "INSUFFICIENT_SCOPE": _C.PERMISSION_DENIED, "INVALID_SCOPE": _C.INVALID_PARAM,
    "UNSUPPORTED_GRANT_TYPE": _C.INVALID_PARAM, "TEMPORARILY_UNAVAILABLE": _C.SERVICE_UNAVAILABLE,
    "FORBIDDEN": _C.PERMISSION_DENIED, "PERMISSION": _C.PERMISSION_DENIED, "EACCES": _C.PERMISSION_DENIED,
    "AUTHORIZATION": _C.PERMISSION_DENIED, "NOT_ALLOWED": _C.PERMISSION_DENIED,
    "INVALID": _C.INVALID_PARAM, "INVALID_INPUT": _C.INVALID_PARAM, "INVALID_ARGUMENT": _C.INVALID_PARAM,
    "INVALID_ARGUMENTS": _C.INVALID_PARAM, "INVALID_PARAMS": _C.INVALID_PARAM, "INVALID_PARAMETER": _C.INVALID_PARAM,
    "INVALID_REQUEST": _C.INVALID_PARAM, "BAD_REQUEST": _C.INVALID_PARAM, "VALIDATION": _C.INVALID_PARAM,
    "VALIDATION_FAILED": _C.INVALID_PARAM, "BAD_INPUT": _C.INVALID_PARAM, "INPUT": _C.INVALID_PARAM,
    "BAD_USER_INPUT": _C.INVALID_PARAM, "ARGUMENT": _C.INVALID_PARAM, "INVALID_ARGS": _C.INVALID_PARAM,
    "UNPROCESSABLE_ENTITY": _C.INVALID_PARAM, "MISSING_PARAM": _C.INVALID_PARAM, "MISSING_PARAMETER": _C.INVALID_PARAM,
    "PARSE": _C.INVALID_FORMAT, "PARSER": _C.INVALID_FORMAT, "CONVERSION": _C.INVALID_PARAM, "CONSTRAINT": _C.CONFLICT,
    "SYNTAX": _C.INVALID_FORMAT, "FORMAT": _C.INVALID_FORMAT,
    "JSON_DECODE": _C.INVALID_FORMAT, "MALFORMED": _C.INVALID_FORMAT, "MALFORMED_QUERY": _C.INVALID_FORMAT, "UNSUPPORTED_FORMAT": _C.INVALID_FORMAT,
    "TIMED_OUT": _C.TIMEOUT, "TIME_OUT": _C.TIMEOUT, "DEADLINE_EXCEEDED": _C.TIMEOUT, "REQUEST_TIMEOUT": _C.TIMEOUT,
    "GATEWAY_TIMEOUT": _C.TIMEOUT, "ETIMEDOUT": _C.TIMEOUT, "READ_TIMEOUT": _C.TIMEOUT, "CONNECT_TIMEOUT": _C.TIMEOUT,
    "RATE_LIMITED": _C.RATE_LIMIT, "RATELIMIT": _C.RATE_LIMIT, "RATELIMITED": _C.RATE_LIMIT, "RATE_LIMIT_EXCEEDED": _C.RATE_LIMIT,
    "TOO_MANY_REQUESTS": _C.RATE_LIMIT, "QUOTA_EXCEEDED": _C.RATE_LIMIT, "RESOURCE_EXHAUSTED": _C.RATE_LIMIT,
    "THROTTLED": _C.RATE_LIMIT, "REQUEST_LIMIT_EXCEEDED": _C.RATE_LIMIT, "THROTTLING": _C.RATE_LIMIT, "SLOW_DOWN": _C.RATE_LIMIT, "INSUFFICIENT_QUOTA": _C.RATE_LIMIT,
    "NETWORK": _C.NETWORK_ERROR, "CONNECTION": _C.NETWORK_ERROR, "CONNECTION_REFUSED": _C.NETWORK_ERROR,
    "ECONNREFUSED": _C.NETWORK_ERROR, "ECONNRESET": _C.NETWORK_ERROR, "DNS": _C.NETWORK_ERROR, "CONNECT": _C.NETWORK_ERROR,
    "UNAVAILABLE": _C.SERVICE_UNAVAILABLE, "OVERLOADED": _C.SERVICE_UNAVAILABLE, "BAD_GATEWAY": _C.SERVICE_UNAVAILABLE,
    "UPSTREAM": _C.API_ERROR, "EXTERNAL": _C.API_ERROR, "EXTERNAL_API": _C.API_ERROR, "API": _C.API_ERROR, "HTTP": _C.API_ERROR,
    "INTERNAL": _C.INTERNAL_ERROR, "INTERNAL_SERVER": _C.INTERNAL_ERROR, "SERVER": _C.INTERNAL_ERROR,
    "EXECUTION": _C.EXECUTION_ERROR, "EXECUTION_FAILED": _C.EXECUTION_ERROR, "RUNTIME": _C.EXECUTION_ERROR, "TOOL": _C.EXECUTION_ERROR,
    "ABORTED": _C.CONFLICT, "PRECONDITION_FAILED": _C.CONFLICT, "LOCKED": _C.CONFLICT, "VERSION_MISMATCH": _C.CONFLICT,
    "CIRCUIT_BREAKER_OPEN": _C.CIRCUIT_OPEN, "PARTIAL": _C.PARTIAL_SUCCESS,
    # Python's own exceptions, with the same codes as in exceptions/codes.py.
    "VALUE": _C.INVALID_PARAM, "TYPE": _C.INVALID_PARAM, "KEY": _C.NOT_FOUND, "MODULE_NOT_FOUND": _C.NOT_FOUND,
    "FILE_EXISTS": _C.ALREADY_EXISTS, "EEXIST": _C.ALREADY_EXISTS, "IS_A_DIRECTORY": _C.IS_DIRECTORY, "EISDIR": _C.IS_DIRECTORY, "NOT_A_DIRECTORY": _C.INVALID_PARAM,
    "UNICODE_DECODE": _C.BINARY_FILE, "CONNECTION_RESET": _C.NETWORK_ERROR, "CONNECTION_ABORTED": _C.NETWORK_ERROR,
    "BROKEN_PIPE": _C.NETWORK_ERROR, "MEMORY": _C.INTERNAL_ERROR, "RECURSION": _C.INTERNAL_ERROR,
    "NOT_IMPLEMENTED": _C.INTERNAL_ERROR,
}  # fmt: skip
"""Other names of the codes, in capitals and without a trailing ERROR, EXCEPTION, FAILURE or ERR."""

_PHRASES: tuple[tuple[re.Pattern[str], ToolErrorCode], ...] = tuple(
    (lazy(pattern, re.IGNORECASE), code)
    for pattern, code in (
        # The order decides, because a message often has words of several codes. A limit comes before a refusal
        # (GitHub reports it as 403), a refusal before "not found" and "invalid", and a failed name resolution ("Name
        # or service not known") before "not found".
        (r"rate.?limit|too many requests|quota (?:was |has been )?exceeded|exceeded (?:your |the )?(?:current )?quota|insufficient.quota|throttl|(?<!/)\b429\b(?!/)|限流|频率|频繁|请求过多|配额", _C.RATE_LIMIT),
        (r"circuit (?:breaker )?(?:is )?open|熔断", _C.CIRCUIT_OPEN),
        (r"timed?[ _-]?out|did(?: not|n't) (?:complete|finish|respond) (?:within|in)\b|took (?:more than|longer than|too long)|deadline.exceeded|\b(?:408|504)\b|超时", _C.TIMEOUT),
        ((r"permission denied|operation not permitted|\b(?:outside|escapes|beyond) (?:of )?(?:the |your |its )?(?:allowed|permitted|base|work(?:ing"
         r"|space)|root|project|sandbox)|path traversal|\bis (?:write.?)?protected\b|\b(?:eacces|eperm)\b|forbidden|not permitted|not allowed"
         r"|not authorized to|insufficient (?:permission|privilege|scope)|read-only file system|(?<!/)\b403\b(?!/)|\bno privilege|(?:denied|rejected"
         r"|declined|refused) (?:by the user|this\b|the (?:request|operation|action|tool|command|call))|prohibited|\bnot approved|read-only and cannot"
         r"|can only \w+ your own|权限|不允许|禁止|用户(?:取消|拒绝)"), _C.PERMISSION_DENIED),
        ((r"unauthori[sz]ed|unauthenticated|not authenticated|authentication|access denied|bad credentials|(?:invalid|incorrect|missing|expired|wrong"
         r"|bad)[ _-](?:(?:access|user|auth|bearer|refresh|client|app|session)[ _-])?(?:api.?)?(?:key|token|secret|credentials?|password)|(?:api.?key"
         r"|token|session|credentials?|password|secret)(?: provided)?(?: has| have| is| was)? ?(?:expired|invalid|incorrect|not valid|revoked)"
         r"|invalid user ?name or password|(?:validate|locate|check your) credentials|could not log ?in|login required|not logged in|(?:invalid|not|no"
         r"|missing)_auth|not_authed|(?<!/)\b401\b(?!/)|\bsignature (?:is |was )?(?:invalid|mismatch|does not match|expired)|(?:wrong|bad"
         r"|invalid) signature|签名(?:错误|无效|不匹配|过期)|拒绝访问|访问被拒绝|未授权|认证|未登录"), _C.ACCESS_DENIED),
        (r"\bis a directory|^not a file\b|\beisdir\b|operation on a directory|(?<!不)是(?:一个)?目录", _C.IS_DIRECTORY),
        (r"binary file|二进制", _C.BINARY_FILE),
        (r"already exists|file exists|duplicate|name (?:is )?(?:already )?(?:taken|in use)|has already been taken|已存在|重复", _C.ALREADY_EXISTS),
        (r"getaddrinfo|enotfound|no such host|unknown host|nodename nor servname|name or service not known|resolve host|name resolution", _C.NETWORK_ERROR),
        (r"(?:unknown|unrecognized|invalid|illegal|no such) (?:\w+ )?(?:option|flag|switch|argument|parameter)\b|too small\b", _C.INVALID_PARAM),
        ((r"not.?found|no such|non.?existing|does(?: not|n't) exist|cannot find|could not find|couldn't find|unable to find|failed to find"
         r"|no (?:[\w-]+ ){1,4}found|unknown (?:tool|function|name|channel|user|command)|(?:not|n't) a valid (?:tool|function)|no (?:tool"
         r"|function) (?:named|called)|(?:tool|function) .{0,60}(?:is not|isn't) (?:registered|available)|\benoent\b|is not defined|(?<!/)\b404\b(?!/)"
         r"|未找到|未查询到|不存在|找不到|没有找到"), _C.NOT_FOUND),
        (r"unavailable|overloaded|bad gateway|try again later|under maintenance|\b50[23]\b|不可用|繁忙|维护", _C.SERVICE_UNAVAILABLE),
        (r"\bconnect|fetch failed|network|unreachable|\bdns\b|econn|broken pipe|socket|\bssl\b|certificate|网络|连接", _C.NETWORK_ERROR),
        ((r"json|\bpars(?:e|er|ing)\b|syntax|malformed|decod|expecting (?:value|property|[\"',:;])|unexpected (?:token|eof|end of)|(?:invalid"
         r"|unsupported|wrong|bad|unknown) (?:\w+ )?format|格式|解析|语法"), _C.INVALID_FORMAT),
        ((r"invalid|missing|required|mandatory|cannot specify both|mutually exclusive|must |(?<!un)expected|unexpected (?:keyword )?argument"
         r"|out of range|bad request|unprocessable|validation|unsupported|not supported|too (?:long|large|short|small|many)|exceeds|not a directory"
         r"|cannot be (?:empty|null|blank)|please (?:provide|specify|supply)|\bno \w+(?: \w+)? (?:provided|specified|given|supplied)"
         r"|\brequires (?:an? )?\w+\. usage|unknown timezone|\bmore unique\b|\b4(?:00|22)\b|参数|不能为空|请(?:输入|指定)|为空|无效|缺少|必须|必需|需要提供|没有提供|未提供|未指定|未传入|请提供"
         r"|不支持|非法"), _C.INVALID_PARAM),
        (r"conflict|locked|modified by|(?<!/)\b409\b(?!/)|冲突", _C.CONFLICT),
        (r"internal (?:server )?error|内部错误|服务器错误", _C.INTERNAL_ERROR),
        (r"\bhttp.{0,20}\b5\d\d\b|\bapi error|server error|upstream", _C.API_ERROR),
    )
)  # fmt: skip
"""Patterns of words in an error's message, and the code that each suggests; the first match counts."""

_THREE_DIGITS = lazy(r"[45][0-9]{2}")
_CAMEL = lazy(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_OTHER = lazy(r"[^A-Z0-9]+")
_ENDINGS = lazy(r"_(?:ERROR|EXCEPTION|FAILURE|ERR)$")
_NEXT: dict[str, NextAction] = {
    **{action: action for action in get_args(NextAction)},
    "proceed": "continue", "none": "continue", "done": "stop", "abort": "stop", "end": "stop", "finish": "stop",
    "retry_later": "retry", "try_again": "retry", "ask": "ask_user", "clarify": "ask_user", "user_input": "ask_user",
    "confirm": "ask_user", "escalate": "human_review", "review": "human_review", "human": "human_review",
}  # fmt: skip


_CHINESE = {
    **dict.fromkeys(("错误", "异常", "报错"), "error"), **dict.fromkeys(("错误信息", "错误消息", "错误描述"), "error_message"),
    **dict.fromkeys(("错误码", "错误代码"), "error_code"), "错误类型": "error_type", "状态": "status", "状态码": "status_code", "代码": "code",
    **dict.fromkeys(("消息", "信息", "提示"), "message"), "原因": "reason", "详情": "detail", "建议": "suggestion",
    "成功": "success", "是否成功": "success", "数据": "data", "结果": "result",
}  # fmt: skip
"""Chinese names of the members of an error, and of the members beside it."""

_NAME = 100
"""Maximum characters of a name; no name that a rule recognises is longer."""


def snake_case(word: str) -> str:
    """Return ``word`` in lower case with underscores.

    ``nextAction``, ``next-action`` and ``NextAction`` give the same name, and a Chinese name of a member of an error gives the
    English one.
    """
    return _known_snake(word) if len(word) <= _NAME else _spelled(word[:_NAME])


@lru_cache(maxsize=8192)
def _known_snake(word: str) -> str:
    return _CHINESE.get(word) or _spelled(word)


def _spelled(word: str) -> str:
    return _OTHER.sub("_", _CAMEL.sub("_", word).upper()).strip("_").lower()


def normalize_code(word: Any) -> str | None:
    """Return the code that ``word`` names; None if it is not a word.

    Other names of a code in the table give that code. An HTTP status that reports a failure names a code too. Any other
    word is a code itself, as the set of codes is open.
    """
    if isinstance(word, bool) or not isinstance(word, str | int) or word == "":
        return None
    status = http_status(word)
    return str(of_status(status).code) if status else lookup_code(str(word)) or str(word)


def http_status(word: Any) -> int | None:
    """Return the HTTP status that a number or a text of three digits is, if it reports a failure (400 to 599)."""
    if isinstance(word, bool) or not isinstance(word, str | int):
        return None
    # Only three digits in ASCII: int() would accept digits of other scripts, signs and spaces.
    number = int(word) if isinstance(word, int) or _THREE_DIGITS.fullmatch(word) else 0
    return number if 400 <= number < 600 else None


def lookup_code(word: str) -> ToolErrorCode | None:
    """Return the code in the table that ``word`` names, under any of its names."""
    normalized = snake_case(word).upper()
    return _CODES.get(normalized) or _CODES.get(_ENDINGS.sub("", normalized))


def guess_code_from_message(message: str | None) -> ToolErrorCode:
    """Return the code that the words of an error's ``message`` suggest.

    Only for a message that is known to report an error.
    """
    front = (message or "")[:2000]
    return _known_guess(front) if len(front) <= _SHORT_MESSAGE else _guessed(front)


_SHORT_MESSAGE = 200
"""Maximum characters of a message whose code is kept: a tool reports the same failure again, and several rules read it."""


@lru_cache(maxsize=512)
def _known_guess(message: str) -> ToolErrorCode:
    return _guessed(message)


def _guessed(message: str) -> ToolErrorCode:
    return next((code for pattern, code in _PHRASES if pattern.search(message)), _C.EXECUTION_ERROR)


def next_action_named(word: Any) -> NextAction | None:
    """Return the next action that ``word`` names; None if it names none."""
    return _NEXT.get(snake_case(word)) if isinstance(word, str) else None
