"""Outputs of a record besides its row in the store: log line, metric and OpenTelemetry events."""
