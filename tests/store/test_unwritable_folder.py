"""A store in a folder that cannot be written is read; what would change it says so in one sentence."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tooltrace.store.files.paths import StorePaths
from tooltrace.store.fold.fold import fold
from tooltrace.store.journal.line_format import encode
from tooltrace.store.journal.writer import Journal

pytestmark = pytest.mark.processes

OTHER_USER = 61234


@pytest.fixture
def unwritable(call: Any, tmp_path_factory: pytest.TempPathFactory) -> StorePaths:
    """A store with one call in a folder that OTHER_USER may read, not write."""
    folder = tmp_path_factory.mktemp("unwritable")
    for parent in (folder, *folder.parents):
        if parent.stat().st_uid == os.geteuid() and str(parent) not in ("/", "/tmp"):
            parent.chmod(parent.stat().st_mode | 0o755)
    paths = StorePaths.of(folder / "t.duckdb")
    journal = Journal(paths.journal)
    journal.write(encode(call(1)))
    journal.close()
    fold(paths)
    paths.lock.unlink()
    paths.database.chmod(0o444)
    paths.journal.chmod(0o555)
    folder.chmod(0o555)
    return paths


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can run a process as another user")
def test_commands_that_change_the_store_name_its_folder(run: Any, unwritable: StorePaths) -> None:
    output = run(
        f"""
        import duckdb
        import tooltrace as tt
        import tooltrace.analysis.api  # the other user may not read the modules
        from tooltrace.errors import StoreError
        from tooltrace.store.upkeep.forget import Selection, forget
        from tooltrace.store.upkeep.prune import prune
        from tooltrace.store.upkeep.retention import PrunePolicy
        os.setgid({OTHER_USER}); os.setuid({OTHER_USER})
        store = {str(unwritable.database)!r}
        print(tt.query("recent", store=store).select("call_id").rows)
        for change in (
            lambda: fold(store),
            lambda: forget(store, Selection(call_id="c1")),
            lambda: prune(store, PrunePolicy(before=datetime(2100, 1, 1, tzinfo=UTC))),
        ):
            try:
                change()
            except StoreError as error:
                print(error)
        """
    ).splitlines()
    assert output[0] == "[('c1',)]"
    assert len(output) == 4
    assert all(f"the folder {unwritable.database.parent} cannot be written" in line for line in output[1:]), output


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can run a process as another user")
def test_a_tool_that_records_there_runs_and_its_loss_is_counted(run: Any, unwritable: StorePaths) -> None:
    output = run(
        f"""
        import logging, sys
        import tooltrace as tt
        logging.basicConfig(level=logging.WARNING, stream=sys.stdout, format="%(message)s")
        os.setgid({OTHER_USER}); os.setuid({OTHER_USER})
        tt.configure(store={str(unwritable.database)!r})

        @tt.trace_tool
        def add(a, b):
            return a + b

        print(add(1, 2), tt.flush())
        """
    )
    assert "3 False" in output
    assert output.count("cannot write its journal") == 1
    assert "write_failed 1" in output
    assert list(Path(unwritable.journal).glob("*.jsonl")) == []
