"""The OTLP receiver: spans and evaluations of any program, over HTTP and gRPC, into the journal of a store.

Traces become calls and spans; log events that are evaluations or our own become their records. Metrics are counted and
not kept, for the calls themselves are, and the answer says so. What is acknowledged is in the journal.
"""
