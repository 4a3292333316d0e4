"""Records that come from elsewhere: spans of other libraries, trace files, OTLP requests."""
