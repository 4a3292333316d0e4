"""Tuples of two: values with errors, and others."""

from __future__ import annotations

import collections

from .entries import given, thrown

Measured = collections.namedtuple("Measured", "value error")
Answer = collections.namedtuple("Answer", "result error")

for _name, _make in {
    "pair_value": lambda: ({"id": 17}, None),
    "pair_word_none": lambda: ("a", None),
    "pair_both_none": lambda: (None, None),
    "pair_exception": lambda: (None, thrown(FileNotFoundError(2, "No such file or directory", "a.txt"))),
    "pair_exception_timeout": lambda: (None, thrown(TimeoutError("timed out"))),
    "pair_text_error": lambda: (None, "connection refused"),
    "pair_text_error_find": lambda: (None, "order 17 not found"),
    "pair_empty_error": lambda: ({"id": 17}, ""),
    "pair_dict_error": lambda: (None, {"code": "RATE_LIMIT", "message": "slow down"}),
    "pair_false_text": lambda: (False, "permission denied for table orders"),
    "pair_true_text": lambda: (True, "saved"),
    "pair_true_error_word": lambda: (True, "error log rotated"),
    "pair_false_none": lambda: (False, None),
    "pair_both": lambda: ({"id": 17}, thrown(TimeoutError("timed out"))),
    "pair_status_ok": lambda: (0, "3 files"),
    "pair_status_failed": lambda: (2, "ls: cannot access 'x': No such file or directory"),
    "pair_http_ok": lambda: (200, "OK"),
    "pair_http_missing": lambda: (404, "Not Found"),
    "pair_place": lambda: (48.137, 11.575),
    "pair_words": lambda: ("error", 3),
    "pair_setting": lambda: ("timeout", 30),
    "pair_translation": lambda: ("未找到", "not found"),
    "pair_title": lambda: ("Error handling", None),
    "pair_streams": lambda: ("built\n", "warning: deprecated flag\n"),
    "pair_measured": lambda: (3.21, 0.02),
    "pair_measured_named": lambda: Measured(3.21, 0.02),
    "pair_named_failed": lambda: Answer(None, "timeout"),
    "pair_named_fine": lambda: Answer({"rows": 2}, None),
    "pair_content_artifact": lambda: ("2 rows", [{"id": 1}, {"id": 2}]),
    "pair_go_style_zero": lambda: (0, None),
    "pair_range": lambda: (1, 100),
    "pair_none_number": lambda: (None, 12),
    "pair_empty_list_exception": lambda: ([], thrown(PermissionError(13, "Permission denied", "/root"))),
}.items():
    given(_name, _make)
