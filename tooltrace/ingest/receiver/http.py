"""The OTLP receiver over HTTP: one POST route for each signal."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tooltrace.ingest.receiver import responses
from tooltrace.ingest.receiver.body import KNOWN_CODINGS, read_body
from tooltrace.ingest.receiver.ingester import Receiver
from tooltrace.ingest.receiver.responses import JSON, PROTOBUF, Encoding, OtlpError
from tooltrace.ingest.receiver.signals import SIGNALS, Signal

_OTHER_METHODS: Final = ["GET", "PUT", "PATCH", "DELETE", "OPTIONS"]
_ENCODINGS: Final[dict[str, Encoding]] = {PROTOBUF: PROTOBUF, JSON: JSON}


def routes(receiver: Receiver) -> list[Route]:
    """Return the routes ``/v1/traces``, ``/v1/logs`` and ``/v1/metrics``, and error routes for the rest of ``/v1/``."""
    found = [Route(signal.path, _endpoint(receiver, signal), methods=["POST"]) for signal in SIGNALS]
    others = [Route(signal.path, _method_not_allowed, methods=_OTHER_METHODS) for signal in SIGNALS]
    return [*found, *others, Route("/v1/{rest:path}", _not_found, methods=["POST", *_OTHER_METHODS])]


def _endpoint(receiver: Receiver, signal: Signal) -> Callable[[Request], Awaitable[Response]]:
    async def export(request: Request) -> Response:
        try:
            encoding = _encoding(request)
            with receiver.admission.slot() as place:
                body = await read_body(request, receiver.limits, place)
                receipt = await receiver.ingester.ingest(signal, encoding, body)
        except OtlpError as error:
            return _refused(request, error)
        return Response(responses.accepted_response(signal, receipt, encoding), media_type=encoding)

    return export


def _encoding(request: Request) -> Encoding:
    media_type = _media_type(request)
    if media_type not in _ENCODINGS:
        raise OtlpError(415, f"unsupported Content-Type {media_type[:100]!r}: use {PROTOBUF} or {JSON}")
    return _ENCODINGS[media_type]


def _media_type(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def _refused(request: Request, error: OtlpError) -> Response:
    """Return the error response in the encoding of the request; JSON if that encoding is not supported."""
    encoding = _ENCODINGS.get(_media_type(request), JSON)
    headers = {}
    if error.retry_after is not None:
        headers["Retry-After"] = str(error.retry_after)
    if error.status == 415:
        headers |= {"Accept": f"{PROTOBUF}, {JSON}", "Accept-Encoding": KNOWN_CODINGS}
    return Response(responses.error_response(error, encoding), error.status, headers, media_type=encoding)


async def _method_not_allowed(request: Request) -> Response:
    answer = _refused(request, OtlpError(405, f"method {request.method} is not allowed: use POST"))
    answer.headers["Allow"] = "POST"
    return answer


async def _not_found(request: Request) -> Response:
    places = ", ".join(signal.path for signal in SIGNALS)
    return _refused(request, OtlpError(404, f"unknown path: OTLP is received at {places}"))
