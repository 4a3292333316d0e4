"""Measurements of what tracing costs. ``make bench`` prints the table; ``python -m benchmarks --quick`` prints a rough one.

Speed is shown as ratios within one run, against the bare span of the OpenTelemetry SDK: ten attributes
given at creation, a batch processor, an exporter that does nothing.
"""
