"""One diagnosis: what is wrong with which tool, since when, what it costs and what to do; said alike wherever it is summed up.

:func:`tooltrace.diagnosis.diagnose.diagnose` reads the whole history by named queries. Each module decides on some kinds of
findings: :mod:`~tooltrace.diagnosis.failures`, :mod:`~tooltrace.diagnosis.waste` and :mod:`~tooltrace.diagnosis.trust`.
"""
