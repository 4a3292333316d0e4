"""Recording of calls: the decorator, the logger, the recorder, its background thread and its sinks.

What holds at every moment, the file that holds it, and the test that fails otherwise:

- A traced tool returns the very object that it returned before: ``decorator.py``,
  ``tests/recording/test_forwarding.py::test_the_very_object_comes_back``. It raises the same exception:
  ``tests/recording/test_forwarding.py::test_exceptions_are_the_same_with_cause_context_and_traceback``.
- A fault of the recorder is counted and logged once, and never reaches the tool: ``recorder.py``,
  ``tests/recording/test_processes.py::test_an_internal_fault_is_counted_logged_once_and_hidden_from_the_tool``.
- Whatever an object's own code raises, the tool's caller gets what it would have got: ``result_copy.py``,
  ``tests/recording/test_foreign_code.py::test_arguments_and_results_pass_through_unchanged``.
- No value costs the caller more than the budget: ``result_copy.py``, by ``tooltrace.redact.snapshot``,
  ``tests/redact/test_budget.py::test_any_value_costs_at_most_the_budget``.
- The recorder keeps no object of the tool alive: ``result_copy.py``,
  ``tests/recording/test_forwarding.py::test_no_object_is_kept_alive``.
- The queue is bounded in calls and in bytes: ``recorder.py``,
  ``tests/recording/test_queue_bytes.py::test_calls_beyond_the_bytes_are_dropped_and_counted``.
- Recorded is stored plus lost, and each loss is counted with its reason: ``worker_state.py``,
  ``tests/recording/test_processes.py::test_a_full_queue_loses_the_newest_and_counts_them``,
  ``tests/recording/test_losses.py::test_unwritten_records_are_counted_at_exit``.
- A call that was counted as lost is not written later: ``worker.py``,
  ``tests/recording/test_losses.py::test_a_call_that_was_counted_as_lost_is_not_written_later``.
- A call that runs for long is in the journal before its end: ``running_calls.py``,
  ``tests/recording/test_running_calls.py::test_the_call_that_kills_its_process_is_lost_and_has_its_arguments``.
- An attempt is one record, however it ends: ``attempt.py``,
  ``tests/recording/test_endings.py::test_an_attempt_is_one_record_however_it_ends``,
  ``tests/recording/test_endings.py::test_endings_of_streams``.
- Nothing is written before it is redacted, and a redaction that fails loses its field: ``record_builder.py``,
  ``tests/redact/test_every_field.py::test_a_record_of_this_process_has_no_secret_in_any_field``,
  ``tests/recording/test_losses.py::test_a_redaction_that_raises_anything_loses_its_field_alone``.
- A tool that is called in a signal handler or a finalizer does not deadlock: ``worker.py``,
  ``tests/recording/test_interruptions.py::test_a_signal_handler_that_calls_a_tool_does_not_deadlock``,
  ``tests/recording/test_interruptions.py::test_a_finalizer_that_calls_a_tool_at_each_line``.
- A forked child records its own calls, and none of its parent's: ``recorder.py``,
  ``tests/recording/test_processes.py::test_a_forked_child_records_its_own_calls_alone``.
"""
