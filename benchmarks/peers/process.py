"""One library in its own environment: ``python -m benchmarks.peers.process PEER`` measures what standard input asks for.

A request is a line of JSON, ``{"kind": "plain dict", "calls": 200}``. The reply is a line with microseconds of CPU for a call,
without the time of the tool itself: of the calling thread, and of the other threads until everything is flushed.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TextIO

from benchmarks.payloads import payloads
from benchmarks.peers import libraries
from benchmarks.peers.libraries import Peer
from benchmarks.rounds import burst, frozen_heap

Calls = Mapping[str, Callable[[], object]]


def main() -> None:
    """Reply to requests until standard input ends."""
    replies = os.fdopen(os.dup(1), "w")  # a library may print
    os.dup2(2, 1)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        peer = getattr(libraries, sys.argv[1])(Path(folder))
        kinds = payloads(peer.response)
        plain = {kind: payload.caller(payload.tool()) for kind, payload in kinds.items()}
        traced = {kind: payload.caller(peer.trace(payload.tool())) for kind, payload in kinds.items()}
        for call in traced.values():
            call()
        peer.flush()
        with frozen_heap():
            _reply(peer, plain, traced, replies)
    os._exit(0)  # some libraries try to send at the end


def _reply(peer: Peer, plain: Calls, traced: Calls, replies: TextIO) -> None:
    print(json.dumps({"versions": peer.versions}), file=replies, flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        kind, calls = request["kind"], request["calls"]
        bare = burst(plain[kind], calls, lambda: None).caller
        found = burst(traced[kind], calls, peer.flush)
        print(json.dumps({"caller": found.caller - bare, "others": found.others}), file=replies, flush=True)


if __name__ == "__main__":
    main()
