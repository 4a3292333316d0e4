"""A process that has imported modules and forks a Python program for each request: ``fork_server.py SOCKET MODULE…``.

A request has the environment, the directory, the arguments and the code, and three file descriptors. The program is
adopted by the process that asks (``tests.programs``), because the process between them ends at once.
"""

from __future__ import annotations

import importlib
import json
import os
import socket
import sys
import time
import types
from typing import Any

MAX_BYTES = 1 << 20


def main() -> None:
    """Serve requests until the socket is closed; return in each forked program, after its code has run."""
    requests = socket.socket(fileno=int(sys.argv[1]))
    for name in sys.argv[2:]:
        importlib.import_module(name)
    while True:
        message, standard, _, _ = socket.recv_fds(requests, MAX_BYTES, 3)
        if not message:
            return
        if _is_program(requests):
            break
        for fd in standard:
            os.close(fd)
    requests.close()
    _run(json.loads(message), standard)


def _is_program(requests: socket.socket) -> bool:
    """Fork twice; return True in the second child once it is adopted, after it has sent its pid and its parent's."""
    between = os.fork()
    if between:
        os.waitpid(between, 0)
        return False
    between = os.getpid()
    if os.fork():
        os._exit(0)
    while os.getppid() == between:
        time.sleep(0.0005)
    requests.send(json.dumps([os.getpid(), os.getppid()]).encode())
    return True


def _run(request: dict[str, Any], standard: list[int]) -> None:
    """Run the code as ``python -c`` would."""
    for number, fd in enumerate(standard):
        os.dup2(fd, number)
        os.close(fd)
    sys.stdin = sys.__stdin__ = open(0, closefd=False)  # noqa: SIM115, PTH123 - the streams of the process
    sys.stdout = sys.__stdout__ = open(1, "w", closefd=False)  # noqa: SIM115, PTH123
    sys.stderr = sys.__stderr__ = open(2, "w", buffering=1, errors="backslashreplace", closefd=False)  # noqa: SIM115, PTH123
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["directory"])
    sys.path[0] = ""
    sys.argv[:] = ["-c", *request["arguments"]]
    program = types.ModuleType("__main__")
    sys.modules["__main__"] = program
    exec(compile(request["code"], "<string>", "exec"), vars(program))


if __name__ == "__main__":
    main()
