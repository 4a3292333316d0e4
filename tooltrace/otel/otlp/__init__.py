"""OTLP wire formats: encode and decode spans and log events as plain data."""
