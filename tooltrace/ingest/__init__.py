"""Records from other sources: spans of other libraries, trace files, OTLP requests."""
