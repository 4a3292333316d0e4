"""The OTLP receiver: writes spans and evaluations of any program, over HTTP and gRPC, to the journal of a store.

Traces become calls and spans. Log events that are evaluations or events of tooltrace become their records. Metrics are
counted and not stored, because the calls themselves are stored; the response says so. An acknowledged request is in the
journal.
"""
