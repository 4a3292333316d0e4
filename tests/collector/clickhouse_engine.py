"""``clickhouse_engine.py PORT FOLDER``: ClickHouse's own engine behind an HTTP port, for the collector's exporter.

The engine is chdb, ClickHouse as a library: the exporter's tables, its inserts and the questions of a test run in it.
Only the port is ours, and speaks as much of the protocol as the exporter asks for. Questions of a test come with
``default_format=JSONEachRow``. What was inserted is kept in ``FOLDER/inserts`` as it came: ``N.sql`` and ``N.native``.
"""

from __future__ import annotations

import json
import struct
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from threading import Lock
from urllib.parse import parse_qsl, urlsplit

from chdb.session import Session

BLOCK_INFO = b"\x01\x00\x02\xff\xff\xff\xff\x00"
"""Which a block carries from the protocol's revision 51903 on."""


class Engine:
    """One session of the engine, one statement at a time."""

    def __init__(self, folder: Path) -> None:
        self.session = Session(str(folder / "data"))
        self.inserts = folder / "inserts"
        self.inserts.mkdir(parents=True)
        self._lock, self._numbers = Lock(), count()

    def ask(self, sql: str, form: str) -> bytes:
        with self._lock:
            return self.session.query(sql, form).bytes()

    def insert(self, sql: str, block: bytes) -> None:
        file = self.inserts / f"{next(self._numbers):04}.native"
        file.write_bytes(block)
        file.with_suffix(".sql").write_text(sql)
        into, _, _ = sql.rpartition("FORMAT Native")
        self.ask(f"{into} FROM INFILE '{file}' FORMAT Native", "Null")


def number(value: int) -> bytes:
    """LEB128, as the Native format counts."""
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def text(value: str) -> bytes:
    encoded = value.encode()
    return number(len(encoded)) + encoded


def native(answer: bytes) -> bytes:
    """``JSONCompact`` as one Native block, of the two types that the exporter's own questions have."""
    block = json.loads(answer)
    out = BLOCK_INFO + number(len(block["meta"])) + number(len(block["data"]))
    for place, column in enumerate(block["meta"]):
        whole = column["type"] == "UInt32"
        out += text(column["name"]) + text("UInt32" if whole else "String") + b"\x00"
        values = [row[place] for row in block["data"]]
        out += b"".join(struct.pack("<I", value) if whole else text(str(value)) for value in values)
    return out


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    engine: Engine

    def do_POST(self) -> None:
        asked = dict(parse_qsl(urlsplit(self.path).query))
        try:
            status, answer = 200, self.answer(asked, self.body())
        except Exception as error:
            status, answer = 500, str(error).encode()
            print(asked.get("query", ""), error, file=sys.stderr, flush=True)
        self.send_response(status)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def answer(self, asked: dict[str, str], body: bytes) -> bytes:
        if "query" in asked:
            self.engine.insert(asked["query"], body)
            return b""
        sql = body.decode()
        if asked.get("default_format") == "JSONEachRow":
            return self.engine.ask(sql, "JSONEachRow")
        if sql.lstrip().upper().startswith(("SELECT", "DESC")):
            return native(self.engine.ask(sql, "JSONCompact"))
        self.engine.ask(sql, "Null")
        return b""

    def body(self) -> bytes:
        if "chunked" not in self.headers.get("Transfer-Encoding", ""):
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        out = b""
        while size := int(self.rfile.readline(), 16):
            out += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return out

    def log_message(self, *_: object) -> None:
        pass


if __name__ == "__main__":
    Handler.engine = Engine(Path(sys.argv[2]))
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
