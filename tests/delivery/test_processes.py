"""Whole processes: killed, forked, many at once, ended while the receiver is away; each span arrives once."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tests.delivery.shared import python
from tests.exporters.otlp.receiver import Answer, HttpReceiver
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.fold.fold import fold
from tooltrace.store.journal.delivery_cursors import DestinationFiles
from tooltrace.store.read.reader import open_reader

pytestmark = [pytest.mark.processes, pytest.mark.long]
THREADS_AT_EXIT = pytest.mark.skipif(
    (3, 12) <= sys.version_info < (3, 12, 3), reason="needs threads at exit, which Python 3.12.0 to 3.12.2 refuse"
)

PROGRAM = """
import json, os, sys, threading, time
import tooltrace as tt

@tt.trace_tool
def search(number):
    return number

def run(count):
    for number in range(count):
        search(number)

def until(condition):
    while not condition():
        time.sleep(0.01)

def cursors():
    import pathlib
    found = pathlib.Path(os.environ["TOOLTRACE_STORE"] + ".export").glob("*.cursor.json")
    return [json.loads(file.read_bytes()) for file in found]

def delivered(count):
    until(lambda: min((cursor["sent"] for cursor in cursors()), default=0) >= count)

def tried():
    until(lambda: any(cursor["error"] for cursor in cursors()))
"""
PATIENT = """
# Let the end of the process wait for its deliveries however slow the machine is, instead of two seconds.
from tooltrace.recording import worker
from tooltrace.delivery import threads
threads.EXIT_SECONDS = 120.0
worker.Worker.close.__defaults__ = (120.0,)
shutdown = tt.shutdown
tt.shutdown = lambda: shutdown(None)
"""
ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"


def run(code: str, store: Path, *arguments: object, **environment: str) -> str:
    process = python(PROGRAM + code, store, *arguments, TOOLTRACE_STORE=str(store), **environment)
    out, err = process.communicate()
    assert process.returncode == 0, err
    return out


def spans_of(store: Path) -> set[str]:
    with open_reader(store) as db:
        return {span for (span,) in db.sql("SELECT span_id FROM tool_calls").fetchall()}


def test_a_short_program_has_delivered_when_it_ends(paths: StorePaths, receiver: HttpReceiver) -> None:
    for _ in range(2):
        code = "run(50); tt.shutdown(); print('duckdb' in sys.modules)"
        assert run(PATIENT + code, paths.database, **{ENDPOINT: receiver.endpoint}).strip() == "False"
        run(PATIENT + "run(0)", paths.database, **{ENDPOINT: receiver.endpoint})
    assert receiver.spans == dict.fromkeys(spans_of(paths.database), 1)
    assert len(receiver.spans) == receiver.counted == 100


@THREADS_AT_EXIT
@pytest.mark.parametrize("durability", ["call", "fsync"])
def test_durability_call_delivers_too(paths: StorePaths, receiver: HttpReceiver, durability: str) -> None:
    run(PATIENT + f"tt.configure(durability={durability!r}); run(20)", paths.database, **{ENDPOINT: receiver.endpoint})
    assert set(receiver.spans.values()) == {1}
    assert len(receiver.spans) == 20


def test_only_selected_destinations_receive_records(paths: StorePaths, receiver: HttpReceiver) -> None:
    code = (
        "tt.configure(); run(3); tt.flush();"
        "print([name for name in sys.modules if name.startswith('tooltrace.exporters') or name == 'urllib3'])"
    )
    assert run(code, paths.database).strip() == "[]"
    for variables in (
        {"OTEL_SDK_DISABLED": "true", ENDPOINT: receiver.endpoint},
        {"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": receiver.endpoint},
    ):
        run("run(3)", paths.database, **variables)
    run("tt.configure(export=None); run(3)", paths.database, **{ENDPOINT: receiver.endpoint})
    assert receiver.requests == []
    assert not DestinationFiles.of(paths, "otlp").folder.exists()


def test_an_application_that_exports_itself_sends_no_span_twice(paths: StorePaths, receiver: HttpReceiver) -> None:
    code = """
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
tt.configure()
provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
trace.set_tracer_provider(provider)
run(30)
provider.shutdown()
"""
    run(PATIENT + code, paths.database, **{ENDPOINT: receiver.endpoint})
    assert set(receiver.spans) == spans_of(paths.database)
    assert set(receiver.spans.values()) == {1}


@THREADS_AT_EXIT
def test_a_destination_that_was_named_gets_everything(paths: StorePaths, receiver: HttpReceiver) -> None:
    run(PATIENT + "tt.configure(export='otlp'); run(5)", paths.database, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=f"{receiver.endpoint}/v1/traces",
        OTEL_LOGS_EXPORTER="none", OTEL_METRICS_EXPORTER="none")  # fmt: skip
    assert len(receiver.spans) == 5
    assert set(receiver.signals) == {"traces"}


@pytest.mark.parametrize("protocol", ["http/protobuf", "grpc"])
def test_the_end_of_a_process_does_not_wait_for_a_dead_receiver(paths: StorePaths, protocol: str) -> None:
    """With a patience of two minutes, which is more than it is waited for here: who is known to be away is not waited for."""
    dead = {ENDPOINT: "http://127.0.0.1:9", "OTEL_EXPORTER_OTLP_PROTOCOL": protocol}
    run(PATIENT + "run(2000); tt.flush(); tried(); search(1)", paths.database, **dead)


@pytest.mark.parametrize("protocol", ["http/protobuf", "grpc"])
def test_nor_for_ever_for_one_that_hangs(paths: StorePaths, protocol: str) -> None:
    """The receiver takes the connection and says nothing, until the process has ended."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        hangs = {ENDPOINT: f"http://127.0.0.1:{silent.getsockname()[1]}", "OTEL_EXPORTER_OTLP_PROTOCOL": protocol}
        code = PROGRAM + "run(2000); tt.flush(); sys.stdin.readline(); search(1)"
        process = python(code, TOOLTRACE_STORE=str(paths.database), **hangs)
        with silent.accept()[0]:
            _, err = process.communicate("\n")
    assert process.returncode == 0, err


def test_a_hanging_destination_does_not_delay_another(paths: StorePaths) -> None:
    """The other is through while the first still hangs, and the process ends."""
    code = """
class Hanging:
    name = "hanging"
    def send(self, records):
        hangs.set()
        threading.Event().wait()
    def close(self):
        pass
class Other:
    name = "other"
    def send(self, records):
        assert hangs.wait()
        print(len(records), flush=True)
        sent.set()
    def close(self):
        pass
hangs, sent = threading.Event(), threading.Event()
tt.configure(export=[Hanging(), Other()])
search(1); tt.flush(); assert sent.wait()
"""
    process = python(PROGRAM + code, TOOLTRACE_STORE=str(paths.database))
    out, err = process.communicate()
    assert (process.returncode, out, err) == (0, "1\n", "")


@pytest.mark.end_to_end
def test_the_next_process_delivers_the_rest(paths: StorePaths, receiver: HttpReceiver) -> None:
    receiver.stop()
    run("run(700)", paths.database, **{ENDPOINT: receiver.endpoint})
    assert len(spans_of(paths.database)) == 700
    fold(paths)
    receiver.start()
    run("run(1); delivered(701)", paths.database, **{ENDPOINT: receiver.endpoint})
    assert receiver.spans == dict.fromkeys(spans_of(paths.database), 1)
    assert len(receiver.spans) == receiver.counted == 701
    fold(paths)
    assert paths.journals() == {}


def test_a_collector_away_for_an_hour_and_back_gets_everything_once_in_bounded_memory(
    paths: StorePaths, receiver: HttpReceiver
) -> None:
    receiver.stop()
    code = (
        "import resource\n"
        "peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024\n"
        "tt.configure(field_limit=4096); run(2000); tt.flush(); tried(); before = peak()\n"
        "run(18000); tt.flush(); print(before, peak(), flush=True); sys.stdin.readline(); print(peak(), flush=True)"
    )
    process = python(PROGRAM + code, TOOLTRACE_STORE=str(paths.database), **{ENDPOINT: receiver.endpoint})
    assert process.stdout is not None
    assert process.stdin is not None
    before, away = map(int, process.stdout.readline().split())
    receiver.start()
    receiver.wait_until(lambda: len(receiver.spans) == receiver.counted == 20_000)
    process.stdin.write("\n")
    process.stdin.flush()
    after = int(process.stdout.readline())
    process.communicate()
    assert set(receiver.spans.values()) == {1}
    assert receiver.counted == 20_000
    assert away - before < 40, "while it was away"
    assert after - before < 80, "while it was delivered"


def test_after_a_kill_another_process_delivers_the_rest(paths: StorePaths, receiver: HttpReceiver) -> None:
    """At most one request of each signal was under way at the kill."""
    hold = threading.Event()
    receiver.rule = lambda _signal, _message: Answer(hold=hold) if len(receiver.requests) >= 6 else None
    process = python(PROGRAM + "run(5000); tt.flush(); print(flush=True); sys.stdin.read()",
                     TOOLTRACE_STORE=str(paths.database), **{ENDPOINT: receiver.endpoint})  # fmt: skip
    assert process.stdout is not None
    process.stdout.readline()  # all calls are in the journal
    receiver.wait_until(lambda: len(receiver.requests) >= 6)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    hold.set()
    process = python(PROGRAM + "run(1); tt.flush(); sys.stdin.read()",
                     TOOLTRACE_STORE=str(paths.database), **{ENDPOINT: receiver.endpoint})  # fmt: skip
    receiver.wait_until(lambda: len(receiver.spans) == 5001 and receiver.counted >= 5001)
    process.communicate()
    known = spans_of(paths.database)
    assert set(receiver.spans) == known
    assert sum(receiver.spans.values()) + receiver.counted <= 2 * len(known) + 2 * 512


def test_many_processes_have_one_deliverer_at_a_time(paths: StorePaths, receiver: HttpReceiver) -> None:
    variables = {"TOOLTRACE_STORE": str(paths.database), ENDPOINT: receiver.endpoint}
    processes = [python(PROGRAM + PATIENT + "run(500); tt.flush(); run(500)", **variables) for _ in range(5)]
    for process in processes:
        _, err = process.communicate()
        assert process.returncode == 0, err
    run(PATIENT + "run(1); delivered(5001)", paths.database, **{ENDPOINT: receiver.endpoint})
    receiver.wait_until(lambda: len(receiver.spans) == receiver.counted == 5001)
    assert receiver.spans == dict.fromkeys(spans_of(paths.database), 1)
    assert receiver.counted == 5001


def test_a_forked_child_is_delivered_too_and_uses_nothing_of_its_parents(
    paths: StorePaths, receiver: HttpReceiver
) -> None:
    code = """
run(10); delivered(10)
pids = []
for _ in range(3):
    pid = os.fork()
    if pid == 0:
        run(10)
        tt.shutdown()
        os._exit(0)  # what it could not deliver in time, its parent does
    pids.append(pid)
for pid in pids:
    assert os.waitpid(pid, 0)[1] == 0
delivered(40)
"""
    run(code, paths.database, **{ENDPOINT: receiver.endpoint})
    assert receiver.spans == dict.fromkeys(spans_of(paths.database), 1)
    assert len(receiver.spans) == receiver.counted == 40


def test_a_forked_child_delivers_after_its_parent_ends(paths: StorePaths, receiver: HttpReceiver) -> None:
    code = """
run(10); delivered(10)
if os.fork():
    os._exit(0)
run(10); delivered(20); tt.shutdown()
"""
    process = python(PROGRAM + code, TOOLTRACE_STORE=str(paths.database), **{ENDPOINT: receiver.endpoint})
    receiver.wait_until(lambda: len(receiver.spans) == receiver.counted == 20)
    process.communicate()
    assert set(receiver.spans.values()) == {1}


@THREADS_AT_EXIT
def test_a_destination_of_the_users_own(paths: StorePaths) -> None:
    code = """
class Mine:
    name = "mine"
    got = []
    def send(self, records):
        self.got += records
    def close(self):
        print(len(self.got), len({record.span_id for record in self.got}))
tt.configure(export=[Mine()])
run(600)
"""
    assert run(PATIENT + code, paths.database).strip() == "600 600"
    assert DestinationFiles.of(paths, "mine").cursor.exists()


def test_requests_of_delivery_are_nobodys_spans(paths: StorePaths, receiver: HttpReceiver) -> None:
    """Instrumentations of HTTP clients read this key of the context."""
    code = """
import urllib3
from opentelemetry import context
seen = []
send = urllib3.PoolManager.urlopen
def urlopen(self, *args, **more):
    seen.append(context.get_value(context._SUPPRESS_INSTRUMENTATION_KEY))
    return send(self, *args, **more)
urllib3.PoolManager.urlopen = urlopen
run(5); tt.shutdown(); print(seen)
"""
    assert run(PATIENT + code, paths.database, **{ENDPOINT: receiver.endpoint}).strip() == "[True, True]"


@pytest.mark.parametrize(
    ("export", "message"),
    [
        ("'nothing'", "there is no destination 'nothing'"),
        ("[3]", "export must be"),
        ("type('D', (), {'send': 1, 'close': 1})", "export must be"),
        ("['otlp', 'otlp']", "must have different names"),
        ("'otlp', store=None", "export needs a store"),
    ],
)
def test_an_invalid_destination_is_reported_at_once(paths: StorePaths, export: str, message: str) -> None:
    code = f"""
try:
    tt.configure(export={export})
except tt.TooltraceError as error:
    print(type(error).__name__, error)
"""
    printed = run(code, paths.database)
    assert printed.startswith("ConfigError")
    assert message in printed
    assert "nothing was changed" in printed


GIVEN_UP = "until(lambda: not any('tooltrace-export' in thread.name for thread in threading.enumerate())); "


def test_a_missing_package_is_logged_once_and_loses_nothing(paths: StorePaths, receiver: HttpReceiver) -> None:
    code = "sys.modules['urllib3'] = None\nrun(5); tt.flush()\n" + GIVEN_UP + "run(5)"
    process = python(PROGRAM + code, TOOLTRACE_STORE=str(paths.database), **{ENDPOINT: receiver.endpoint})
    _, err = process.communicate()
    assert process.returncode == 0
    assert err.count("pip install 'tooltrace-recorder[otlp]'") == 1
    run("run(1); delivered(11)", paths.database, **{ENDPOINT: receiver.endpoint})
    assert receiver.spans == dict.fromkeys(spans_of(paths.database), 1)
    assert len(receiver.spans) == 11


def test_follow_delivers_records_of_other_processes_until_ctrl_c(paths: StorePaths, receiver: HttpReceiver) -> None:
    run("tt.configure(export=None); run(3)", paths.database)
    process = follow(paths, receiver)
    wait_for_cursor(paths)
    run("tt.configure(export=None); run(4)", paths.database)
    receiver.wait_until(lambda: len(receiver.spans) == receiver.counted == 4)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert (process.returncode, err) == (0, "")
    assert "otlp-traces: 4 records delivered" in out


def follow(paths: StorePaths, receiver: HttpReceiver, *more: str) -> subprocess.Popen[Any]:
    code = "import sys\nfrom tooltrace.cli import main\nsys.argv = ['tooltrace', *sys.argv[1:]]\nmain()"
    arguments = ("export", "otlp", "--follow", "--store", paths.database, "--endpoint", receiver.endpoint)
    return python(code, *arguments, *more)


def wait_for_cursor(paths: StorePaths) -> None:
    names = "otlp-traces", "otlp-logs", "otlp-metrics"
    while True:
        made = [DestinationFiles.of(paths, name).load() for name in names]
        if all(cursor is not None and cursor.journals is not None for cursor in made):
            return
        time.sleep(0.01)
