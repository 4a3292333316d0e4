"""Measurements of what tracing costs. ``make bench`` prints the tables; ``python -m benchmarks --quick`` prints rough ones.

Speed is shown as ratios within one run, against the bare span of the OpenTelemetry SDK, see :mod:`benchmarks.bare_span`.
"""
