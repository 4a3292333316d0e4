"""Integrations by name: those of this package, and those that another package adds."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

import tooltrace as tt
from tooltrace.faults import faults
from tooltrace.recording import integration_registry
from tooltrace.recording.integration_registry import GROUP

OWN = sorted(point for point in entry_points(group=GROUP) if point.value.startswith("tooltrace."))

THEIRS = """
FRAMEWORK = {framework!r}
def install():
    {action}
def remove():
    print("removed", __name__)
"""


def run(folder: Path, code: str) -> list[str]:
    """Run ``code`` where another package adds integrations, and return the lines that it printed."""
    package = folder / "theirs-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
    names = ("loaded", "absent", "broken")
    (package / "entry_points.txt").write_text(f"[{GROUP}]\n" + "".join(f"{name} = ours_{name}\n" for name in names))
    (folder / "ours_loaded.py").write_text(THEIRS.format(framework="json", action="print('installed')"))
    (folder / "ours_absent.py").write_text(
        THEIRS.format(framework="no_such_framework", action="import no_such_framework")
    )
    (folder / "ours_broken.py").write_text(THEIRS.format(framework="json", action="raise RuntimeError('new version')"))
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    return [*done.stdout.splitlines(), *(line for line in done.stderr.splitlines() if "integration" in line)]


@pytest.mark.processes
def test_install_covers_imported_frameworks_and_skips_failing_ones(tmp_path: Path) -> None:
    code = "import json, tooltrace as tt; print('loaded' in tt.install(), 'absent' in tt.install()); tt.uninstall()"
    printed = run(tmp_path, code)
    assert printed[:3] == ["installed", "installed", "True False"]
    assert {"removed ours_loaded", "removed ours_absent", "removed ours_broken"} <= set(printed)
    assert "the integration 'broken' cannot be installed; it records nothing" in printed


@pytest.mark.processes
def test_install_by_name_raises_the_error(tmp_path: Path) -> None:
    code = """
import tooltrace as tt
for name in ("loaded", "absent", "broken", "loade"):
    try: print(tt.install(name))
    except Exception as error: print(type(error).__name__, error)
"""
    printed = run(tmp_path, code)
    assert printed[:4] == ["installed", "['loaded']", "ModuleNotFoundError No module named 'no_such_framework'",
                           "RuntimeError new version"]  # fmt: skip
    assert printed[4].startswith("ConfigError no integration is called 'loade'; known are ")
    assert printed[4].endswith("; did you mean 'loaded'?")


LATER = """
import importlib.resources, logging, sys
logging.basicConfig(level=logging.INFO, format="%(message)s, an integration", stream=sys.stdout)
import tooltrace as tt
found = tt.install()
print("framework" in found, "part" in found, "broken" in found)
import framework.part  # an integration whose part is imported while the package is not complete waits for the package
print(type(framework.__loader__).__name__, framework.__spec__.loader is framework.__loader__)
print(importlib.resources.files("framework").joinpath("part.py").is_file())
tt.uninstall()
import other_framework
print([type(finder).__module__ for finder in sys.meta_path if "tooltrace" in type(finder).__module__])
"""


@pytest.mark.processes
def test_a_framework_that_is_imported_later_is_recorded_from_then_on(tmp_path: Path) -> None:
    """The import is what it would be: the module has its own loader; an integration that fails does not break it."""
    package = tmp_path / "theirs-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
    points = ("framework", "part", "broken", "other")
    (package / "entry_points.txt").write_text(f"[{GROUP}]\n" + "".join(f"{name} = ours_{name}\n" for name in points))
    (tmp_path / "framework").mkdir()
    (tmp_path / "framework" / "__init__.py").write_text("import framework.part\ncomplete = True\n")
    (tmp_path / "framework" / "part.py").write_text("")
    (tmp_path / "other_framework.py").write_text("")
    use = "import framework; print('installed', __name__, framework.complete)"
    for name, framework, action in (
        ("framework", "framework", use),
        ("part", "framework.part", use),
        ("broken", "framework", "raise RuntimeError('new version')"),
        ("other", "other_framework", "print('never')"),
    ):
        (tmp_path / f"ours_{name}.py").write_text(THEIRS.format(framework=framework, action=action))
    done = subprocess.run(
        [sys.executable, "-c", LATER], env={**os.environ, "PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, check=True
    )  # fmt: skip
    printed = done.stdout.splitlines()
    assert "as soon as it is imported, an integration" in printed[0]
    assert printed[1] == "True True True"
    assert {"installed ours_framework True", "installed ours_part True"} <= set(printed)
    assert "the integration 'broken' cannot be installed; it records nothing, an integration" in printed
    assert "tooltrace records part, which was imported now, an integration" in printed
    assert "SourceFileLoader True" in printed
    assert "never" not in printed
    assert printed[-1] == "[]"


def test_nothing_to_install_is_said_once(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(integration_registry, "_points", dict)
    monkeypatch.setattr(faults, "_warned", {})
    assert tt.install() == tt.install() == []
    assert len([each for each in caplog.messages if "found no agent framework" in each]) == 1


LOADS = """
import os, sys
from importlib import import_module
import tooltrace
for name in sys.argv[1:]:
    if os.fork():  # each integration in a process of its own, which has imported nothing but tooltrace
        _, status = os.wait()
        print(name, os.waitstatus_to_exitcode(status), flush=True)
        continue
    integration = import_module(name)
    assert integration.FRAMEWORK not in sys.modules
    integration.remove()
    assert integration.FRAMEWORK not in sys.modules
    os._exit(0 if integration.install.__doc__ else 2)
"""


@pytest.mark.processes
def test_each_integration_loads_without_its_framework() -> None:
    names = [point.value for point in OWN]
    done = subprocess.run([sys.executable, "-c", LOADS, *names], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [f"{name} 0" for name in names], done.stderr


def test_every_integration_is_registered() -> None:
    folder = Path(tt.__file__).parent / "integrations"
    modules = {path.stem for path in folder.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    helpers = {"__init__", "framework_call", "monkeypatch", "reviews", "side_table"}
    assert {point.value for point in OWN} == {f"tooltrace.integrations.{name}" for name in modules - helpers}


def test_uninstall_refuses_an_unknown_name() -> None:
    with pytest.raises(tt.TooltraceError, match="no integration is called 'agnoo'.*did you mean 'agno'"):
        tt.uninstall("agnoo")
