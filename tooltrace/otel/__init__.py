"""OpenTelemetry encodings of the records: spans, log events, metrics and OTLP."""
