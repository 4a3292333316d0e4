"""The forms of texts that are the message of an error, and the marks of texts that only speak of one."""

from __future__ import annotations

import re

_DOING = (
    "execut|call|runn|invok|process|fetch|read|writ|open|pars|load|connect|creat|updat|delet|search|send|retriev|gett"
    "|access|download|upload|sav|mak|perform|generat|decod|query|validat|initializ|evaluat|comput|import|list|mov|copy"
)
_TO_DO = (
    "execute|call|run|invoke|process|fetch|read|write|open|parse|load|connect|create|update|delete|send|retrieve|get"
    "|access|download|upload|save|perform|generate|decode|query|search|validate|initialize|evaluate|compute|import|list"
    "|move|copy|resolve|authenticate|complete|start|render|compile|install|acquire|bind|establish"
)
_CLASS = r"(?P<type>(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Exit|Interrupt|Timeout))"

_FAILED = (
    r"(?i:the )?(?i:tool|function|action|command|script|query|request|operation|connection|execution) "
    r"(?:\S+ )?(?i:execution |call |invocation )?(?i:failed|error|timed out)"
)

PREFIXES = tuple(
    re.compile(pattern, re.DOTALL)
    for pattern in (
        r"(?:(?i:(?:fatal |unexpected |tool |runtime |internal )?error)|Exception|EXCEPTION|fatal|FATAL)\s*[:：]\s*(?P<message>\S.*)",
        r"(?i:error)\s*(?:\[(?P<code>[\w. -]{1,40})\]|\((?P<code2>[\w. -]{1,40})\))\s*[:：-]?\s*(?P<message>\S.*)",
        r"\[(?i:error)\]\s*[:：]?\s*(?P<message>\S.*)",
        r"(?P<message>(?i:error|exception|an error occurred) (?:while |when |in |during |from |occurred|trying to ).{0,160}?[:：].*)",
        rf"(?P<message>(?i:error) (?:{_DOING})ing\b.{{0,160}}?[:：].*)",
        rf"(?P<message>{_FAILED}\s*[:：]\s*(?P<tail>.*))",
    )
)
"""What a message begins with; it may have several lines and sentences."""

ONE_LINERS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"{_CLASS}(?:\s*\[[^\]]{{0,60}}\]|\s*\([^)]{{0,60}}\))?: (?P<message>\S.*)",
        rf"{_CLASS}(?:\(\)|:)",
        (
            r"(?:HTTP(?:/[\d.]+)?|HTTP ?Error|HTTP status|HTTPError|Error(?: code)?)[ :]+(?P<status>[45]\d\d)\b"
            r"(?:[ :,-]+(?!is\b|are\b|was\b|means?\b|indicates?\b|errors?\b|status|responses?\b|pages?\b|and\b|or\b|vs\b).*)?"
        ),
        r"(?P<status>[45]\d\d) (?:Client|Server) Error: .*",
        (
            r"(?P<status>[45]\d\d)[ :-]+(?:Bad Request|Unauthorized|Forbidden|Not Found|Method Not Allowed|Request Timeout"
            r"|Conflict|Gone|Unprocessable Entity|Too Many Requests|Internal Server Error|Bad Gateway|Service Unavailable"
            r"|Gateway Timeout)\.?"
        ),
        (
            r"(?i:request|server|call|fetch) (?:failed|returned|responded)(?: with)?(?: an?)?(?: error)?(?: HTTP)?(?: status)?"
            r"(?: code)? ?(?P<status>[45]\d\d)\b.*"
        ),
        (
            r"(?i:command|process|script|program)(?: .{1,160}?)? (?:failed|exited|returned|terminated|died)"
            r" (?:with|due to)?\s?(?:a )?(?:non-zero )?(?:exit )?(?:code|status|exit status|exit code)[ :]+(?P<exit>[1-9]\d{0,2})\b.*"
        ),
        r"(?i:exit(?:ed)?(?: with)? (?:code|status)):? (?P<exit>[1-9]\d{0,2})\b.{0,200}",
        rf"(?P<message>{_FAILED}(?: (?:with|after|because|due)\b.*|[.!]?))",
        r"(?:\S*/)?(?:bash|sh|zsh|dash|ksh|fish): (?:line )?\d+: (?P<message>.+)",
        (
            r"(?:\S*/)?(?:bash|sh|zsh|dash|ksh|fish): (?P<message>(?:.*: )?(?:command not found|not found|No such file"
            r"|Permission denied|syntax error|cannot |Is a directory|unbound variable|ambiguous redirect|no matches found).*)"
        ),
        (
            r"(?:cat|ls|cp|mv|rm|cd|grep|find|mkdir|rmdir|touch|head|tail|chmod|chown|ln|tar|python3?|node|sed|awk|stat|open)"
            r": (?P<message>.*(?:No such file or directory|Permission denied|Is a directory|Not a directory|File exists"
            r"|Operation not permitted|Read-only file system|can't open file|cannot (?:access|open|stat|remove|create)).*)"
        ),
        r"curl: \(\d+\) (?P<message>.+)",
        rf"(?P<message>(?:Failed|Unable) to (?:{_TO_DO})\b.*)",
        r"(?P<message>(?:Could not|Couldn't|Cannot|Can't) (?:connect|resolve|parse|open|read|write|load|execute|import)\b.*)",
        (
            r"(?P<message>(?:执行|调用|操作|请求|获取|读取|写入|连接|解析|加载|查询|搜索|保存|创建|删除|更新|上传|下载|工具|函数)"
            r"[^\n:：，。？]{0,16}(?:失败|出错|异常|超时)\s*[:：].+)"
        ),
        r"(?P<message>[A-Z\u4e00-\u9fff][^\n:：，。？]{0,16}(?:操作|执行|调用|请求)失败\s*[:：].+)",
        r"(?:错误|异常|失败|出错)\s*[:：]\s*(?P<message>.+)",
    )
)
"""A first line that is a message; a second sentence may follow, but no story."""

SENTENCES = re.compile(r"[.!?] +(?=[A-Z])")
OF_A_MANUAL = re.compile(
    r"(?i)(?:is |are )?(?:raised|thrown|occurs?|happens|returned|used)\b|(?:this|an?|the) (?:error|exception)\b.*\b(?:when|if)\b"
    r"|base class|the base class|.{0,40}\bis raised\b"
)
"""The words with which a manual explains an error."""

OF_A_LIST = re.compile(
    r"\s*(?:[-*•#|>]|\d{1,3}[.)\]]\s|https?://\S+\s*$|\d{4}-\d\d-\d\d|\[?(?:INFO|DEBUG|WARN|ERROR)\b)"
)
"""The beginning of a line in a list or in a log."""

OF_A_PAGE = re.compile(r"(?i)\bhow (?:to|do i|can i)\b|stack ?overflow|\btutorial\b|\bwikipedia\b|为什么|如何|怎么")
"""What the title of a page about an error says."""
