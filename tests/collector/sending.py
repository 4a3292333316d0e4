"""``sending.py STORE CALLS``: calls in an application with the SDK's OTLP exporter, which answers for none that it loses."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

if os.environ["OTEL_EXPORTER_OTLP_PROTOCOL"] == "grpc":
    from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
else:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter


def main(store: Path, calls: int) -> None:
    import tooltrace as tt

    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(), max_queue_size=calls, schedule_delay_millis=100))
    tt.configure(store=store, tracer_provider=provider)

    @tt.trace_tool
    def double(number: int, text: str) -> tt.ToolResponse:
        if number % 10 == 9:
            return tt.ToolResponse.error(tt.ToolErrorCode.TIMEOUT, f"{number} took too long", retryable=True)
        return tt.ToolResponse.success(text * 2, {"doubled": number * 2, "text": text}, confidence=number % 7 / 7)

    for number in range(calls):
        with tt.context(call_id=f"call_{number}"):
            double(number, 'ünï\n\t"quoted" 文')
    provider.shutdown()
    tt.shutdown()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
