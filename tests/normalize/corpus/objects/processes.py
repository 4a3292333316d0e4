"""Results of ``subprocess.run``."""

from __future__ import annotations

import subprocess
from typing import Any

from .entries import given


def process(code: int, out: Any = "", err: Any = "", args: Any = ("make", "test")) -> subprocess.CompletedProcess[Any]:
    return subprocess.CompletedProcess(list(args), code, out, err)


given("process_ok", lambda: process(0, "3 files changed\n"))
given("process_ok_silent", lambda: process(0))
given("process_ok_none", lambda: process(0, None, None, ["touch", "a"]))
given("process_ok_stderr", lambda: process(0, "", "warning: unused variable `x`\nerror count: 0\n", ["cargo", "check"]))
given("process_ok_grep_error", lambda: process(0, "app.log:3:ERROR timeout\n", "", ["grep", "-n", "ERROR", "app.log"]))
given("process_ok_bytes", lambda: process(0, b"\x00\x01", b"", ["cat", "a.bin"]))
given("process_ok_curl_noise", lambda: process(0, "{}", "  % Total    % Received\n100     2", ["curl", "x"]))
given(
    "process_missing_file",
    lambda: process(2, "", "ls: cannot access 'nope': No such file or directory\n", ["ls", "nope"]),
)
given("process_denied", lambda: process(1, "", "cat: /etc/shadow: Permission denied\n", ["cat", "/etc/shadow"]))
given("process_no_command", lambda: process(127, "", "sh: 1: frobnicate: not found\n", ["frobnicate"]))
given("process_killed", lambda: process(-9, "", "", ["python", "big.py"]))
given("process_timeout_tool", lambda: process(124, "", "", ["timeout", "5", "sleep", "60"]))
given("process_compile", lambda: process(1, "", "a.c:3:5: error: expected ';' before 'return'\n", ["cc", "a.c"]))
given("process_git", lambda: process(128, "", "fatal: not a git repository\n", ["git", "status"]))
given("process_bytes_error", lambda: process(1, b"", b"Error: boom\n", ["node", "a.js"]))
given("process_curl_resolve", lambda: process(6, "", "curl: (6) Could not resolve host: nope.invalid\n", ["curl", "x"]))
given("process_grep_none", lambda: process(1, "", "", ["grep", "nothing", "a.txt"]))
given("process_diff", lambda: process(1, "1c1\n< a\n---\n> b\n", "", ["diff", "a", "b"]))
given("process_pytest_failed", lambda: process(1, "1 failed, 11 passed in 0.31s\n", "", ["pytest", "-q"]))
