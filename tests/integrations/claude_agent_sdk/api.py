"""A local server that speaks as much of Anthropic's Messages API as Claude Code needs, from a script."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

Turn = str | list[tuple[str, dict[str, Any], str]]
"""A text, or calls as ``(tool, arguments, call id)``."""


class ScriptedApi:
    """The API on ``url``; requests with tools take the next of ``turns``. ``results`` are what it was given."""

    def __init__(self) -> None:
        self.turns: list[Turn] = []
        self.results: dict[str, Any] = {}
        api = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *args: Any) -> None:
                pass

            def do_HEAD(self) -> None:
                self.send_response(200)
                self.end_headers()

            def do_GET(self) -> None:
                self.send_response(404)
                self.end_headers()

            def do_POST(self) -> None:
                request = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
                message = {"input_tokens": 10} if "count_tokens" in self.path else api.answer(request)
                self.send_response(200)
                streams = bool(request.get("stream"))
                self.send_header("content-type", "text/event-stream" if streams else "application/json")
                self.end_headers()
                for name, event in _events(message) if streams else ():
                    self.wfile.write(f"event: {name}\ndata: {json.dumps(event)}\n\n".encode())
                if not streams:
                    self.wfile.write(json.dumps(message).encode())

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        Thread(target=self._server.serve_forever, daemon=True).start()

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the message of the next turn."""
        for each in request.get("messages", ()):
            for block in each["content"] if isinstance(each["content"], list) else ():
                if block.get("type") == "tool_result":
                    self.results[block["tool_use_id"]] = block.get("content")
        turn = self.turns.pop(0) if request.get("tools") and self.turns else "done"
        if isinstance(turn, str):
            content: list[dict[str, Any]] = [{"type": "text", "text": turn}]
        else:
            content = [{"type": "tool_use", "id": call, "name": name, "input": given} for name, given, call in turn]
        return {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "claude-scripted",
            "content": content,
            "stop_reason": "end_turn" if isinstance(turn, str) else "tool_use",
            "stop_sequence": None,
            "usage": {"input_tokens": 10, "output_tokens": 5},
        }

    def close(self) -> None:
        """Stop the server."""
        self._server.shutdown()
        self._server.server_close()


def _events(message: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    yield "message_start", {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}}
    for number, block in enumerate(message["content"]):
        if block["type"] == "text":
            start: dict[str, Any] = {"type": "text", "text": ""}
            delta = {"type": "text_delta", "text": block["text"]}
        else:
            start = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        yield "content_block_start", {"type": "content_block_start", "index": number, "content_block": start}
        yield "content_block_delta", {"type": "content_block_delta", "index": number, "delta": delta}
        yield "content_block_stop", {"type": "content_block_stop", "index": number}
    delta = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield "message_delta", {"type": "message_delta", "delta": delta, "usage": {"output_tokens": 5}}
    yield "message_stop", {"type": "message_stop"}
