"""The wire forms of OTLP: from and to spans and log events as plain data."""
