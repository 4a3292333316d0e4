"""Configuration of each OTLP signal: the variables ``OTEL_EXPORTER_OTLP_*``, and the user's target."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal
from urllib.parse import urlsplit

from opentelemetry.sdk.trace.sampling import Decision, TraceIdRatioBased
from opentelemetry.util.re import parse_env_headers

from tooltrace.core import zstd
from tooltrace.errors import ConfigError
from tooltrace.exporters.protocol import Target

Signal = Literal["traces", "logs", "metrics"]
SIGNALS: Final[tuple[Signal, ...]] = ("traces", "logs", "metrics")
"""All signals, in the order in which they are sent."""

HTTP, JSON, GRPC = "http/protobuf", "http/json", "grpc"
Compression = Literal["gzip", "zstd"]
DEFAULT_SECONDS: Final = 10.0
ANSWER_BYTES: Final = 64 * 1024
"""Maximum bytes read from a response."""
_PORTS: Final = {HTTP: 4318, JSON: 4318, GRPC: 4317}
_PREFIX: Final = "OTEL_EXPORTER_OTLP_"
_log = logging.getLogger("tooltrace")


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalSettings:
    """Settings of one signal."""

    signal: Signal
    protocol: str
    url: str
    """URL of the request (http/protobuf, http/json), or of the server (grpc)."""
    headers: Mapping[str, str]
    seconds: float
    """Timeout of a request in seconds."""
    compression: Compression | None
    """Compression of requests; gRPC has gzip only."""
    insecure: bool
    """Whether grpc runs without TLS."""
    certificate: str | None
    """File of the trusted certificates, PEM; None: the system's."""
    client_key: str | None
    client_certificate: str | None

    @property
    def place(self) -> str:
        """``url`` without secrets, for messages and logs."""
        return shown(self.url)


def shown(url: str) -> str:
    """Return ``url`` without possible secrets: user, password, query."""
    scheme, sign, rest = url.partition("://")
    rest = (rest if sign else scheme).partition("?")[0].partition("#")[0]
    authority, slash, path = rest.partition("/")
    return f"{scheme if sign else ''}{sign}{authority.rpartition('@')[2]}{slash}{path}"


def signals(environ: Mapping[str, str] = os.environ) -> tuple[Signal, ...]:
    """Return the signals that OTEL_SDK_DISABLED and OTEL_TRACES_EXPORTER, …LOGS…, …METRICS… leave on."""
    if environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return ()
    return tuple(signal for signal in SIGNALS if _is_on(environ.get(f"OTEL_{signal.upper()}_EXPORTER", "")))


def with_endpoint(environ: Mapping[str, str] = os.environ) -> tuple[Signal, ...]:
    """Return the signals that are on and have an endpoint, from their own variable or the general one."""
    return tuple(signal for signal in signals(environ) if _variable(signal, "ENDPOINT", environ))


def chosen(target: Target, environ: Mapping[str, str] = os.environ) -> tuple[Signal, ...]:
    """Return the signals to send: those that ``target`` names, else those that are on.

    If the environment names any endpoint and ``target`` none, a signal without an endpoint is off. If neither names
    one, all signals go to the default endpoint. Raises ConfigError for a signal that does not exist.
    """
    if target.parts is not None:
        unknown = set(target.parts) - set(SIGNALS)
        if unknown:
            raise ConfigError(
                f"unknown OTLP signal: {', '.join(sorted(unknown))}; expected {', '.join(SIGNALS)}; nothing is exported"
            )
        return tuple(signal for signal in SIGNALS if signal in target.parts)
    has_endpoint = any(_variable(signal, "ENDPOINT", environ) for signal in SIGNALS)
    return with_endpoint(environ) if has_endpoint and target.endpoint is None else signals(environ)


def settings_of(signal: Signal, target: Target, environ: Mapping[str, str] = os.environ) -> SignalSettings:
    """Return the settings of ``signal``: from ``target`` first, then from the environment. Raises ConfigError.

    An endpoint in ``target`` that differs from the environment's gets none of the environment's headers: they may be
    credentials.
    """
    protocol = _protocol(target.protocol or _variable(signal, "PROTOCOL", environ) or HTTP)
    url = _url(signal, protocol, target, environ)
    own_endpoint = target.endpoint is not None and url != _url(signal, protocol, Target(), environ)
    text = "" if own_endpoint else _variable(signal, "HEADERS", environ) or ""
    insecure = (_variable(signal, "INSECURE", environ) or "").lower() == "true"
    return SignalSettings(
        signal=signal,
        protocol=protocol,
        url=url,
        headers={**parse_env_headers(text, liberal=True), **{k.lower(): v for k, v in target.headers.items()}},
        seconds=_seconds(_variable(signal, "TIMEOUT", environ)),
        compression=_compression(_variable(signal, "COMPRESSION", environ), protocol),
        insecure=url.startswith("http://") or ("://" not in url and insecure),
        certificate=_file(signal, "CERTIFICATE", environ),
        client_key=_file(signal, "CLIENT_KEY", environ),
        client_certificate=_file(signal, "CLIENT_CERTIFICATE", environ),
    )


def _variable(signal: Signal, name: str, environ: Mapping[str, str]) -> str | None:
    """Return the signal's own variable, else the general one; an empty variable counts as not set."""
    for variable in (f"{_PREFIX}{signal.upper()}_{name}", f"{_PREFIX}{name}"):
        if value := environ.get(variable, "").strip():
            return value
    return None


def _file(signal: Signal, name: str, environ: Mapping[str, str]) -> str | None:
    path = _variable(signal, name, environ)
    if path is not None and not Path(path).is_file():
        raise ConfigError(f"{_PREFIX}{name} must be the path of a file: {path} is not a file; nothing is exported")
    return path


def _is_on(value: str) -> bool:
    names = [name.strip().lower() for name in value.split(",") if name.strip()]
    return not names or "otlp" in names


def _protocol(value: str) -> str:
    if value not in _PORTS:
        raise ConfigError(
            f"unknown OTLP protocol: expected {' or '.join(map(repr, _PORTS))}, got {value!r}; nothing is exported"
        )
    return value


def _url(signal: Signal, protocol: str, target: Target, environ: Mapping[str, str]) -> str:
    """Return the URL. With http, the signal's path is appended to a base; a signal's own endpoint is used as it is."""
    endpoint = environ.get(f"{_PREFIX}{signal.upper()}_ENDPOINT", "").strip()
    if endpoint and target.endpoint is None:
        return _checked(endpoint, protocol)
    base = target.endpoint or environ.get(f"{_PREFIX}ENDPOINT", "").strip() or f"http://localhost:{_PORTS[protocol]}"
    base = _checked(base, protocol)
    if protocol == GRPC:
        return base
    parts = urlsplit(base)
    path = parts.path
    for other in SIGNALS:  # the user may have given the address of one signal as the base of all
        path = path.removesuffix(f"/v1/{other}")
    return parts._replace(path=f"{path.rstrip('/')}/v1/{signal}").geturl()


def _checked(url: str, protocol: str) -> str:
    try:
        parts = urlsplit(url)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        valid = False
    if not valid and not (protocol == GRPC and "://" not in url):
        raise ConfigError(
            f"an OTLP endpoint must be a URL such as http://localhost:4318, got {shown(url)!r}; nothing is exported"
        )
    return url


def _seconds(value: str | None) -> float:
    """Return seconds, as OpenTelemetry's Python SDK does; 1000 and more are milliseconds, as in its specification."""
    try:
        number = float(value) if value is not None else DEFAULT_SECONDS
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        _log.warning(
            "tooltrace: OTEL_EXPORTER_OTLP_TIMEOUT must be a number of seconds above 0, got %s; using %s s",
            value,
            DEFAULT_SECONDS,
        )
        return DEFAULT_SECONDS
    return number / 1e3 if number >= 1e3 else number


def _compression(value: str | None, protocol: str) -> Compression | None:
    """Return the compression; gzip, which every receiver accepts, where zstd is not possible."""
    if value == "zstd" and (protocol == GRPC or not zstd.is_available()):
        why = "gRPC has no zstd" if protocol == GRPC else "zstd needs pip install 'tooltrace-recorder[zstd]'"
        _log.warning("tooltrace: OTEL_EXPORTER_OTLP_COMPRESSION=zstd is not possible: %s; using gzip", why)
        return "gzip"
    if value not in (None, "none", "gzip", "zstd"):
        _log.warning(
            "tooltrace: OTEL_EXPORTER_OTLP_COMPRESSION must be gzip, zstd or none, got %s; requests are not compressed",
            value,
        )
    return {"gzip": "gzip", "zstd": "zstd"}.get(value or "")  # type: ignore[return-value]


def span_sampler(environ: Mapping[str, str] = os.environ) -> Callable[[str], bool]:
    """Return whether OTEL_TRACES_SAMPLER and OTEL_TRACES_SAMPLER_ARG sample a trace, by its id in hex.

    All spans of a trace have one decision, because the journal does not record the decision of a parent: the samplers
    ``parentbased_…`` decide as their root sampler does.
    """
    name = environ.get("OTEL_TRACES_SAMPLER", "").strip().lower().removeprefix("parentbased_") or "always_on"
    if name == "always_off":
        return lambda _trace_id: False
    if name == "traceidratio":
        sampler = TraceIdRatioBased(_ratio(environ.get("OTEL_TRACES_SAMPLER_ARG", "").strip()))
        return lambda trace_id: (
            sampler.should_sample(None, int(trace_id, 16), "").decision is Decision.RECORD_AND_SAMPLE
        )
    if name != "always_on":
        _log.warning("tooltrace: OTEL_TRACES_SAMPLER=%s is not supported here; all spans are exported", name)
    return lambda _trace_id: True


def _ratio(value: str) -> float:
    try:
        ratio = float(value or 1.0)
    except ValueError:
        ratio = -1.0
    if not 0.0 <= ratio <= 1.0:
        _log.warning("tooltrace: OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1, got %s; using 1.0", value)
        return 1.0
    return ratio
