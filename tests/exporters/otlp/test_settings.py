"""The standard variables mean what the specification says, for each signal."""

from __future__ import annotations

from pathlib import Path

import pytest

from tooltrace.errors import ConfigError
from tooltrace.exporters.otlp import create
from tooltrace.exporters.otlp_config import SIGNALS, SignalSettings, chosen, settings_of, signals, with_endpoint
from tooltrace.exporters.protocol import Target

BASE = "OTEL_EXPORTER_OTLP_"


def of(signal: str, target: Target | None = None, **variables: str) -> SignalSettings:
    return settings_of(signal, target or Target(), {f"{BASE}{name}": value for name, value in variables.items()})


@pytest.mark.parametrize("signal", SIGNALS)
@pytest.mark.parametrize(
    ("base", "url"),
    [
        ("http://c:4318", "http://c:4318/v1/"),
        ("http://c:4318/", "http://c:4318/v1/"),
        ("https://c/otlp", "https://c/otlp/v1/"),
        ("http://c:4318/v1/traces", "http://c:4318/v1/"),
        ("http://ann:word@c:4318/otlp", "http://ann:word@c:4318/otlp/v1/"),
        ("", "http://localhost:4318/v1/"),
    ],
)
def test_the_path_is_appended_to_the_base(signal: str, base: str, url: str) -> None:
    assert of(signal, ENDPOINT=base).url == url + signal
    if base:
        assert of(signal, Target(endpoint=base), ENDPOINT="http://elsewhere").url == url + signal


@pytest.mark.parametrize("protocol", ["http/protobuf", "grpc"])
def test_possible_secrets_in_the_address_are_hidden(protocol: str) -> None:
    """It would stand in the cursor, in the log and in the table of losses."""
    secret = "sesame-4711"
    settings = of("logs", ENDPOINT=f"http://ann:{secret}@c:4318/x?key={secret}#{secret}", PROTOCOL=protocol)
    assert settings.place == ("http://c:4318/x/v1/logs" if protocol != "grpc" else "http://c:4318/x")
    assert secret in settings.url
    for wrong in (f"ftp://ann:{secret}@c", f"http://ann:{secret}@:1", f"http://c:0?key={secret}"):
        with pytest.raises(ConfigError) as caught:
            of("traces", ENDPOINT=wrong)
        assert secret not in str(caught.value)


def test_the_path_is_inserted_before_the_query_string() -> None:
    assert of("traces", ENDPOINT="http://c:4318/?key=1").url == "http://c:4318/v1/traces?key=1"


@pytest.mark.parametrize("own", ["http://t:1", "http://t:1/", "http://t:1/mine"])
def test_a_signals_own_endpoint_is_used_unchanged(own: str) -> None:
    assert of("traces", ENDPOINT="http://c", TRACES_ENDPOINT=own).url == own
    assert of("logs", ENDPOINT="http://c", TRACES_ENDPOINT=own).url == "http://c/v1/logs"


def test_grpc_has_no_paths() -> None:
    assert of("traces", PROTOCOL="grpc").url == "http://localhost:4317"
    assert of("traces", PROTOCOL="grpc", ENDPOINT="https://c:443").url == "https://c:443"
    assert of("logs", LOGS_PROTOCOL="grpc", ENDPOINT="http://c").protocol == "grpc"
    assert of("traces", LOGS_PROTOCOL="grpc", ENDPOINT="http://c").protocol == "http/protobuf"


@pytest.mark.parametrize(
    ("endpoint", "insecure", "expected"),
    [
        ("http://c:1", "", True),
        ("http://c:1", "false", True),
        ("https://c:1", "true", False),
        ("c:1", "", False),
        ("c:1", "true", True),
    ],
)
def test_the_scheme_or_else_the_variable_selects_encryption_for_grpc(
    endpoint: str, insecure: str, expected: bool
) -> None:
    assert of("traces", PROTOCOL="grpc", ENDPOINT=endpoint, INSECURE=insecure).insecure is expected


def test_settings_of_a_signal_override_general_ones(tmp_path: Path) -> None:
    c, k, own_k, d = (str(tmp_path / name) for name in "cked")
    for name in (c, k, own_k, d):
        Path(name).touch()
    mixed = of(
        "logs", HEADERS="a=1", LOGS_HEADERS="b=2", TIMEOUT="3", LOGS_TIMEOUT="4", COMPRESSION="gzip",
        LOGS_COMPRESSION="none", CERTIFICATE=c, CLIENT_KEY=k, LOGS_CLIENT_KEY=own_k, CLIENT_CERTIFICATE=d,
    )  # fmt: skip
    assert dict(mixed.headers) == {"b": "2"}
    assert (mixed.seconds, mixed.compression, mixed.certificate) == (4.0, None, c)
    assert (mixed.client_key, mixed.client_certificate) == (own_k, d)
    assert of("traces", HEADERS="a=1, key=a%20b%2Cc", COMPRESSION="gzip").headers == {"a": "1", "key": "a b,c"}
    assert of("traces", COMPRESSION="gzip").compression == "gzip"


@pytest.mark.parametrize(
    ("value", "seconds"), [("", 10), ("2.5", 2.5), ("10000", 10), ("999", 999), ("x", 10), ("-1", 10), ("inf", 10)]
)
def test_a_timeout_is_in_seconds_and_a_large_one_in_milliseconds(value: str, seconds: float) -> None:
    assert of("traces", TIMEOUT=value).seconds == seconds


def test_headers_are_sent_only_to_their_endpoint() -> None:
    """They may be credentials."""
    assert of("traces", Target(endpoint="http://other"), ENDPOINT="http://c", HEADERS="key=secret").headers == {}
    assert of("traces", Target(endpoint="http://c"), ENDPOINT="http://c", HEADERS="key=1").headers == {"key": "1"}
    assert of("traces", Target(endpoint="http://o", headers={"K": "2"}), HEADERS="key=1").headers == {"k": "2"}


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, ()),
        ({f"{BASE}ENDPOINT": "http://c"}, SIGNALS),
        ({f"{BASE}TRACES_ENDPOINT": "http://c"}, ("traces",)),
        ({f"{BASE}LOGS_ENDPOINT": "http://c", f"{BASE}METRICS_ENDPOINT": "http://d"}, ("logs", "metrics")),
        ({f"{BASE}ENDPOINT": "  "}, ()),
        ({f"{BASE}ENDPOINT": "http://c", "OTEL_SDK_DISABLED": "TRUE"}, ()),
        ({f"{BASE}ENDPOINT": "http://c", "OTEL_TRACES_EXPORTER": "none"}, ("logs", "metrics")),
        ({f"{BASE}ENDPOINT": "http://c", "OTEL_TRACES_EXPORTER": "console, otlp"}, SIGNALS),
        ({f"{BASE}TRACES_ENDPOINT": "http://c", "OTEL_LOGS_EXPORTER": "otlp"}, ("traces",)),
        ({f"{BASE}TRACES_ENDPOINT": "http://c", "OTEL_TRACES_EXPORTER": "none"}, ()),
        ({f"{BASE}ENDPOINT": "http://c", "OTEL_LOGS_EXPORTER": "none"}, ("traces", "metrics")),
    ],
)
def test_the_variables_select_the_signals(variables: dict[str, str], expected: tuple[str, ...]) -> None:
    assert with_endpoint(variables) == expected


def test_a_commands_endpoint_and_signals_override_the_variables() -> None:
    alone = {f"{BASE}TRACES_ENDPOINT": "http://c"}
    assert chosen(Target(), {}) == SIGNALS
    assert chosen(Target(), alone) == ("traces",)
    assert chosen(Target(endpoint="http://d"), alone) == SIGNALS
    assert chosen(Target(parts=("metrics", "logs")), alone) == ("logs", "metrics")


def test_each_signal_can_be_disabled() -> None:
    assert signals({"OTEL_LOGS_EXPORTER": "none", "OTEL_METRICS_EXPORTER": "prometheus"}) == ("traces",)
    assert signals({}) == SIGNALS


@pytest.mark.parametrize("endpoint", ["localhost:4318", "ftp://c", "http://", "http://c:99999999", "nonsense"])
def test_an_invalid_url_is_an_error(endpoint: str) -> None:
    with pytest.raises(ConfigError, match="nothing is exported"):
        of("traces", ENDPOINT=endpoint)


def test_an_unknown_protocol_is_an_error() -> None:
    with pytest.raises(ConfigError, match="'http/protobuf' or 'http/json' or 'grpc', got 'http/xml'"):
        of("traces", PROTOCOL="http/xml")
    with pytest.raises(ConfigError, match="spans"):
        create(Target(parts=("spans",)))


@pytest.mark.parametrize("name", ["CERTIFICATE", "CLIENT_KEY", "CLIENT_CERTIFICATE"])
def test_a_missing_file_is_an_error(name: str) -> None:
    with pytest.raises(ConfigError, match="is not a file"):
        of("traces", **{name: "/nowhere/c.pem"})


def test_disabling_all_signals_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    with pytest.raises(ConfigError, match="every signal off"):
        create(Target())


@pytest.mark.parametrize(
    ("value", "protocol", "compression"),
    [
        ("gzip", "http/protobuf", "gzip"),
        ("zstd", "http/protobuf", "zstd"),
        ("zstd", "http/json", "zstd"),
        ("zstd", "grpc", "gzip"),
        ("none", "http/protobuf", None),
        ("lzma", "http/protobuf", None),
    ],
)
def test_compression(value: str, protocol: str, compression: str | None) -> None:
    assert of("traces", COMPRESSION=value, PROTOCOL=protocol).compression == compression
