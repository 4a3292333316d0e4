"""A server on this machine that speaks the APIs of OpenAI and Anthropic, for the code of the documentation.

A model that received no result yet requests the weather of two cities, one of which the tool does not know. With the
results, it answers in words.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

CALLS = (("call_1", {"city": "Paris"}), ("call_2", {"city": "Atlantis"}))
ANSWER = "It is 18 °C in Paris. I found no weather for Atlantis."


def chat_completion(request: dict[str, Any]) -> dict[str, Any]:
    """Answer ``POST /chat/completions``."""
    message: dict[str, Any] = {"role": "assistant", "content": ANSWER}
    if not any(each["role"] == "tool" for each in request["messages"]):
        calls = [
            {"id": id_, "type": "function", "function": {"name": "get_weather", "arguments": json.dumps(arguments)}}
            for id_, arguments in CALLS
        ]
        message = {"role": "assistant", "content": None, "tool_calls": calls}
    reason = "tool_calls" if message["content"] is None else "stop"
    return {
        "id": "c",
        "object": "chat.completion",
        "created": 0,
        "model": request["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }


def response(request: dict[str, Any]) -> dict[str, Any]:
    """Answer ``POST /responses``."""
    given = request["input"] if isinstance(request["input"], list) else []
    text = {"type": "output_text", "text": ANSWER, "annotations": []}
    output: list[dict[str, Any]] = [
        {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": [text]}
    ]
    if not any(each.get("type") == "function_call_output" for each in given):
        output = [
            {
                "type": "function_call",
                "id": f"fc_{id_}",
                "status": "completed",
                "call_id": id_,
                "name": "get_weather",
                "arguments": json.dumps(arguments),
            }
            for id_, arguments in CALLS
        ]
    return {
        "id": "r",
        "object": "response",
        "created_at": 0,
        "model": request["model"],
        "status": "completed",
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": 1,
            "output_tokens": 1,
            "total_tokens": 2,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens_details": {"reasoning_tokens": 0},
        },
    }


def message(request: dict[str, Any]) -> dict[str, Any]:
    """Answer ``POST /v1/messages``."""
    blocks = [block for each in request["messages"] if isinstance(each["content"], list) for block in each["content"]]
    content: list[dict[str, Any]] = [{"type": "text", "text": ANSWER}]
    if not any(block["type"] == "tool_result" for block in blocks):
        content = [
            {"type": "tool_use", "id": id_, "name": "get_weather", "input": arguments} for id_, arguments in CALLS
        ]
    return {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "model": request["model"],
        "content": content,
        "stop_reason": "tool_use" if len(content) > 1 else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


ROUTES = {"/chat/completions": chat_completion, "/responses": response, "/v1/messages": message}


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        body = json.dumps(ROUTES[self.path](request)).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Log nothing."""


@contextmanager
def model_server() -> Iterator[dict[str, str]]:
    """Serve until the block ends; yield the environment with which the clients of both providers use this server."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield {
            "OPENAI_BASE_URL": url,
            "OPENAI_API_KEY": "none",
            "ANTHROPIC_BASE_URL": url,
            "ANTHROPIC_API_KEY": "none",
        }
    finally:
        server.shutdown()
        server.server_close()
