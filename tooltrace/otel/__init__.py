"""The OpenTelemetry form of what is recorded: spans, log events, metrics, and OTLP."""
