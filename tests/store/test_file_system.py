"""A store on a network file system: queries warn, and doctor names it. The table of mounts is a file of the test."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

import tooltrace as tt
from tooltrace.errors import NetworkStore
from tooltrace.store.files import file_system
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.upkeep.doctor import examine


@pytest.fixture
def mounted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Return a store whose folder the table of mounts lists with the given type of file system."""

    def mounted(kind: str) -> Path:
        device = tmp_path.stat().st_dev
        table = tmp_path / f"mountinfo-{kind}"
        number = f"{os.major(device)}:{os.minor(device)}"
        table.write_text(
            "22 1 0:21 / /proc rw,nosuid shared:12 - proc proc rw\n"
            f"36 22 {number} / /mnt/a\\040folder rw,noatime master:1 - {kind} server:/export rw,vers=4.2\n"
        )
        monkeypatch.setattr(file_system, "MOUNTS", table)
        store = tmp_path / f"{kind}.duckdb"
        tt.configure(store=store)
        tt.trace_tool(len)("four")
        tt.flush()
        return store

    return mounted


@pytest.mark.parametrize("kind", ["nfs4", "cifs", "fuse.sshfs"])
def test_a_query_of_a_store_on_a_network_file_system_warns(mounted: Callable[[str], Path], kind: str) -> None:
    store = mounted(kind)
    with pytest.warns(NetworkStore, match=rf"on a network file system \({kind}\).*tooltrace merge"):
        assert tt.query("failure_rate", store=store).select("attempts").rows == [(1,)]
    assert any(f"({kind})" in problem for problem in examine(StorePaths.of(store)).problems)


@pytest.mark.parametrize("kind", ["ext4", "overlay", "tmpfs", "9p"])
def test_a_local_store_does_not_warn(mounted: Callable[[str], Path], kind: str) -> None:
    store = mounted(kind)
    with warnings.catch_warnings():
        warnings.simplefilter("error", NetworkStore)
        assert tt.query("failure_rate", store=store).select("attempts").rows == [(1,)]
    assert not examine(StorePaths.of(store)).problems


def test_a_system_without_the_table_does_not_warn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_system, "MOUNTS", tmp_path / "missing")
    assert file_system.network_file_system(tmp_path) is None


def test_this_machine_is_read() -> None:
    if not file_system.MOUNTS.exists():
        pytest.skip("Linux alone has the table of mounts")
    assert file_system._types(file_system.MOUNTS)
