"""``phoenix_run.py PYTHON OTELCOL FOLDER``: the demo into Phoenix, through a collector and directly; prints what Phoenix then shows.

``PYTHON`` has arize-phoenix. Everything runs as children of this program, which runs where no network but the loopback is:
Phoenix listens for gRPC on every interface.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import tooltrace as tt

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.collector.harness import Collector, free_port, quiet
from tests.waiting import until

CALLS = 40


def get(url: str) -> bytes:
    """The answer; nothing where there is none, or not yet."""
    try:
        with urllib.request.urlopen(url) as answer:
            return answer.read()
    except OSError:
        return b""


@contextmanager
def phoenix(python: str, folder: Path) -> Any:
    """Phoenix at work: its address."""
    port = free_port()
    own = {"PHOENIX_WORKING_DIR": str(folder), "PHOENIX_HOST": "127.0.0.1", "PHOENIX_PORT": str(port)}
    own |= {"PHOENIX_GRPC_PORT": str(free_port()), "PHOENIX_TELEMETRY_ENABLED": "false"}
    with (folder / "phoenix.log").open("wb") as log:
        command = [python, "-m", "phoenix.server.main", "serve"]
        process = subprocess.Popen(command, env={**os.environ, **own}, stdout=log, stderr=log)
    try:
        address = f"http://127.0.0.1:{port}"
        until(lambda: process.poll() is not None or get(f"{address}/healthz"))
        assert process.poll() is None, (folder / "phoenix.log").read_text()
        yield address
    finally:
        process.kill()
        process.wait()


def shown(address: str, project: str, store: Path) -> Any:
    """Return what Phoenix shows of ``project``, once it has as many spans as ``store``."""
    with tt.connect(store) as db:
        attempts = db.execute("SELECT count(*) FROM tool_calls").fetchall()[0][0]
    spans = f"{address}/v1/projects/{project}/spans?limit=1000"
    body = until(lambda: (found := get(spans)).count(b'"span_id"') >= attempts and found)
    return json.loads(body)["data"]


def through(otelcol: Path, folder: Path, address: str) -> Path:
    """The demo to Phoenix by a collector: its store."""
    collector = Collector(otelcol, "to-phoenix.yaml", folder, {"PHOENIX": address, "PHOENIX_PROJECT": "through"})
    store, env = folder / "through.duckdb", collector.environment("http/protobuf")
    try:
        collector.start()
        run("demo", "--calls", str(CALLS), "--days", "0", "--store", str(store), env=env)
        run("export", "otlp", "--pending", "--store", str(store), env=env)
        collector.stop()
    finally:
        collector.kill()
    return store


def direct(folder: Path, address: str) -> Path:
    """The demo to Phoenix without one: its store."""
    store = folder / "direct.duckdb"
    run("demo", "--calls", str(CALLS), "--days", "0", "--store", str(store), env=quiet())
    to = ["--endpoint", address, "--signal", "traces", "--header", "x-project-name=direct"]
    run("export", "otlp", *to, "--store", str(store), env=quiet())
    return store


def main(python: str, otelcol: str, folder: Path) -> None:
    with phoenix(python, folder) as address:
        stores = {"through": through(Path(otelcol), folder, address), "direct": direct(folder, address)}
        print(json.dumps({project: shown(address, project, store) for project, store in stores.items()}))


def run(*words: str, env: dict[str, str]) -> None:
    subprocess.run([sys.executable, "-m", "tooltrace", *words], env=env, check=True, stdout=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
