"""The store: journals that processes append to, and the DuckDB database that journals are folded into.

A recording process needs only ``files`` and ``journal``, which do not load DuckDB. The packages from the lowest up:
``files``, ``journal``, ``database``, ``erase``, ``fold``, ``read``, ``upkeep``; ``sandbox`` runs the SQL that a person typed.

What holds at every moment, the file that holds it, and the test that fails otherwise:

- A line of a journal is one whole record, written by one ``write``: ``journal/writer.py``,
  ``tests/store/test_journal.py::test_threads_write_complete_lines``. A full disk leaves no torn line:
  ``tests/store/test_journal.py::test_a_full_disk_leaves_no_torn_line``.
- A journal with a living writer is locked, and never removed: ``fold/folded_journals.py``,
  ``tests/store/test_fold.py::test_a_live_journal_is_folded_and_not_removed``.
- Rows and the offset of their journal are one transaction, so that a kill loses and doubles nothing: ``fold/insertion.py``,
  ``tests/store/test_fold.py::test_a_fold_killed_at_any_moment_loses_and_doubles_nothing``.
- A record that comes again is one row: ``fold/insertion.py``,
  ``tests/store/test_fold.py::test_the_same_lines_twice_are_one_row_each``.
- A call is one row, whether it runs, has ended or is lost: ``fold/begun_calls.py``,
  ``tests/store/test_begun.py::test_begun_and_end_are_one_row_in_any_order_over_any_journals``.
- A damaged line costs itself alone, and is counted: ``journal/line_scan.py``,
  ``tests/store/test_damage.py::test_any_flipped_byte_costs_one_line_at_most_and_is_counted``.
- A reader sees every record that was written before it began, folded or not: ``read/reader.py``,
  ``tests/store/test_reader.py::test_unfolded_records_are_visible_together_with_folded_ones``.
- A lease sees one state of the store: ``read/reader.py``,
  ``tests/store/test_reader.py::test_a_lease_does_not_change_while_it_lasts``.
- No wait for the lock is without a limit, and its error names the holder: ``files/file_lock.py``,
  ``tests/store/test_waits.py::test_a_reader_names_the_holder_of_the_store_after_a_second_and_fails_at_its_limit``.
- A fold makes room for a reader that waits: ``fold/fold.py``,
  ``tests/store/test_waits.py::test_a_step_ends_soon_where_a_reader_waits``. Readers that overlap do not keep a fold out:
  ``files/file_lock.py``, ``tests/store/test_reader.py::test_a_fold_is_not_starved_by_readers_that_overlap``.
- Rows leave the database, and cells of it change, only in a new file that replaces the old one whole; but a correction
  changes a reading, and the end of a call takes the place of its row in ``begun``, or of the lost attempt:
  ``database/rewrite.py``, ``tests/store/test_rewrite.py::test_a_kill_leaves_the_old_or_the_new_database``.
- What was forgotten is in no file, and no fold, recovery, merge or restoration brings it back: ``erase/erasure.py``,
  ``tests/store/test_forget.py::test_every_record_of_the_selection_leaves_every_file``,
  ``tests/store/test_forget.py::test_a_kill_at_any_step_leaves_a_store_that_the_next_fold_or_command_completes``.
- A damaged database is put aside, never deleted, and its readable rows are kept: ``database/recovery.py``,
  ``tests/store/test_damage.py::test_readable_rows_of_a_damaged_database_are_recovered``.
- No file is readable for others, from its first byte on: ``files/scratch.py``,
  ``tests/store/test_temporary_files.py::test_no_file_is_ever_readable_for_others``.
- Typed SQL is one statement that reads: ``sandbox/worker.py``,
  ``tests/store/test_sandbox.py::test_other_statements_are_refused_by_kind``.
- Nothing that a fork inherited is used: ``files/file_lock.py``,
  ``tests/store/test_journal.py::test_a_forked_child_does_not_lock_its_parents_journal``,
  ``tests/store/test_reader.py::test_a_child_forked_during_a_read_does_not_affect_it``.
"""
