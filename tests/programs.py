"""Programs of tests in processes of their own, forked where their modules are imported already.

An interpreter that imports tooltrace costs a quarter of a second of CPU time; a fork of one costs a few milliseconds.
"""

from __future__ import annotations

import atexit
import ctypes
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from tests.fork_server import MAX_BYTES

SERVER = Path(__file__).with_name("fork_server.py")
PR_SET_CHILD_SUBREAPER = 36
_adoption = threading.Lock()


def start_program(
    code: str,
    *arguments: str,
    modules: tuple[str, ...],
    environment: Mapping[str, str] | None = None,
    directory: Path | None = None,
) -> subprocess.Popen[str]:
    """Start ``code`` as ``python -c`` does, with three pipes; elsewhere than on Linux, in a new interpreter.

    ``modules``: what every program of the caller imports. It is imported before ``environment`` is set.
    """
    given = dict(os.environ if environment is None else environment)
    if sys.platform == "linux":
        return _Forked(_server(modules), code, arguments, given, directory or Path.cwd())
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments], env=given, cwd=directory, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


class _Server:
    def __init__(self, modules: tuple[str, ...]) -> None:
        self._requests, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, str(SERVER), str(theirs.fileno()), *modules],
                stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()],
                env={name: value for name, value in os.environ.items() if name != "TOOLTRACE_STRICT"},  # read by an import
            )  # fmt: skip

    def fork(self, request: bytes, standard: list[int]) -> int:
        """Return the pid of a new child of this process."""
        assert len(request) < MAX_BYTES
        with _adoption:  # a property of the process, whatever thread asks
            _adopt_orphans(True)
            try:
                socket.send_fds(self._requests, [request], standard)
                pid, parent = json.loads(self._requests.recv(100))
            finally:
                _adopt_orphans(False)
        assert parent == os.getpid(), "the program was adopted by another process"
        return pid

    def close(self) -> None:
        self._requests.close()
        self._process.wait()


@cache
def _server(modules: tuple[str, ...]) -> _Server:
    server = _Server(modules)
    atexit.register(server.close)
    return server


def _adopt_orphans(wanted: bool) -> None:
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, int(wanted), 0, 0, 0)


class _Forked(subprocess.Popen[str]):
    def __init__(
        self, server: _Server, code: str, arguments: tuple[str, ...], environment: Mapping[str, str], directory: Path
    ) -> None:
        self._server = server
        self._request = json.dumps(
            {"environment": dict(environment), "directory": str(directory), "arguments": arguments, "code": code}
        ).encode()
        super().__init__(
            ["python", *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def _execute_child(self, *given: Any) -> None:
        """Fork in place of an execution; ``given`` has the pipes' ends from its eleventh item on."""
        standard_in, _, _, standard_out, _, standard_error = given[10:16]
        standard = [standard_in, standard_out, standard_error]
        try:
            self.pid = self._server.fork(self._request, standard)
            self._child_created = True
        finally:
            for fd in standard:
                os.close(fd)
