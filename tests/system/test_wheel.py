"""The wheel: its contents, its metadata, and installations next to the index's project ``tooltrace``."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import venv
import zipfile
from configparser import ConfigParser
from email import message_from_bytes
from email.message import Message
from importlib import import_module
from pathlib import Path

import pytest

import tooltrace as tt
from tests.system.test_import_structure import ROOT, modules

PLUGIN = "pytest_tooltrace.py"

pytestmark = pytest.mark.processes

OVERLAP = "is another project with the same import name"
REPAIR = "pip uninstall tooltrace && pip install --force-reinstall --no-deps tooltrace-recorder"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of the last commit."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(source)], check=True)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(source)]
    subprocess.run(command, check=True)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def names(wheel: Path) -> set[str]:
    return set(zipfile.ZipFile(wheel).namelist())


@pytest.fixture(scope="module")
def metadata(wheel: Path) -> Message:
    name = f"tooltrace_recorder-{tt.__version__}.dist-info/METADATA"
    return message_from_bytes(zipfile.ZipFile(wheel).read(name))


def tracked(*folders: str) -> set[str]:
    """The files of ``folders`` that belong to the repository, by their paths from its top."""
    done = subprocess.run(["git", "ls-files", *folders], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines())


def test_a_wheel_contains_one_package_and_the_plugin_of_pytest(names: set[str]) -> None:
    """The plugin is a module of its own: pytest loads it in every run, also where nobody uses tooltrace."""
    expected = {"tooltrace", PLUGIN, f"tooltrace_recorder-{tt.__version__}.dist-info"}
    assert {name.split("/")[0] for name in names} == expected


def test_every_module_is_in_the_wheel(names: set[str]) -> None:
    expected = {
        module.replace(".", "/") + ("/__init__.py" if path.name == "__init__.py" else ".py")
        for module, path in modules().items()
    }
    assert {name for name in names if name.endswith(".py")} == {PLUGIN, *expected}


def test_every_data_file_is_in_the_wheel(names: set[str]) -> None:
    sources = tracked("dashboards/codemirror")  # of dashboards/vendor/codemirror.min.js
    data = {name for name in tracked("queries", "dashboards") if not name.endswith(".py")} - set(sources)
    data |= {name.removeprefix("tooltrace/") for name in tracked("tooltrace") if not name.endswith(".py")} - {
        "exporters"
    }
    assert {name for name in names if name.startswith("tooltrace/") and not name.endswith(".py")} == {
        f"tooltrace/{name}" for name in data
    }


def test_the_licences_of_the_vendored_scripts_are_in_the_metadata(names: set[str]) -> None:
    folder = f"tooltrace_recorder-{tt.__version__}.dist-info/licenses/"
    licences = {name for name in tracked("dashboards/vendor") if name.endswith(".txt")} | {"LICENSE"}
    assert {name.removeprefix(folder) for name in names if name.startswith(folder)} == licences


def test_the_metadata_tells_what_a_reader_of_the_index_needs(metadata: Message) -> None:
    assert metadata["Name"] == "tooltrace-recorder"
    assert metadata["Version"] == tt.__version__
    assert metadata["Description-Content-Type"] == "text/markdown"
    links = dict(link.split(", ") for link in metadata.get_all("Project-URL", []))
    assert {"Source", "Issues", "Changelog", "Documentation"} <= links.keys()
    assert all(link.startswith("https://") for link in links.values())


def test_the_description_has_no_link_into_the_repository(metadata: Message) -> None:
    description = str(metadata.get_payload())
    assert f"/blob/v{tt.__version__}/docs/tutorial.md)" in description
    assert f"/raw/v{tt.__version__}/docs/images/" in description
    assert not re.findall(r"\]\((?!https?:|#)[^)]*\)", description)


def test_every_entry_point_can_be_loaded_by_name(wheel: Path) -> None:
    parser = ConfigParser(delimiters=("=",))
    parser.read_string(
        zipfile.ZipFile(wheel).read(f"tooltrace_recorder-{tt.__version__}.dist-info/entry_points.txt").decode()
    )
    assert parser["console_scripts"]["tooltrace"] == "tooltrace.cli:main"
    for group in parser.sections():
        for target in parser[group].values():
            module, _, member = target.partition(":")
            assert module in modules() or f"{module}.py" == PLUGIN, f"{group}: {target}"
            assert not member or hasattr(import_module(module), member), f"{group}: {target}"


def test_a_wheel_finds_its_data(wheel: Path, tmp_path: Path) -> None:
    zipfile.ZipFile(wheel).extractall(tmp_path)
    code = "from tooltrace import analysis, assets; print(assets.path('dashboards')); print(len(analysis.catalogue()))"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    folder, count = done.stdout.split()
    assert Path(folder) == tmp_path / "tooltrace" / "dashboards"
    assert int(count) == len(list((ROOT / "queries").glob("*.sql")))


class Environment:
    """A virtual environment with the dependencies of this one, in which pip installs and removes wheels offline."""

    def __init__(self, folder: Path) -> None:
        venv.create(folder)
        self.bin = folder / "bin"
        self.site = next((folder / "lib").glob("python*/site-packages"))
        paths = [path for path in sys.path if path.endswith("site-packages")]
        (self.site / "dependencies.pth").write_text("\n".join(paths))  # no .pth file there is read again

    def pip(self, *arguments: str) -> None:
        command = [sys.executable, "-m", "pip", "--python", str(self.bin / "python"), "--quiet", *arguments]
        subprocess.run(command, check=True, env={**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"})

    def install(self, *wheels: Path) -> None:
        for wheel in wheels:
            self.pip("install", "--no-index", "--no-deps", "--no-compile", "--force-reinstall", str(wheel))

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(self.bin / command[0]), *command[1:]],
            capture_output=True,
            text=True,
            cwd=self.site.parent,
            env={**os.environ, "TOOLTRACE_STORE": str(self.site.parent / "calls.duckdb")},
        )


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    return Environment(tmp_path / "environment")


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """A wheel of another project with the name and the import name ``tooltrace``."""
    path = tmp_path / "tooltrace-1.4.0-py3-none-any.whl"
    folder = "tooltrace-1.4.0.dist-info"
    files = {
        "tooltrace/__init__.py": "ORIGIN = 'another project'\n",
        "tooltrace/client.py": "",
        f"{folder}/METADATA": "Metadata-Version: 2.1\nName: tooltrace\nVersion: 1.4.0\n",
        f"{folder}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{folder}/RECORD"] = "".join(f"{name},,\n" for name in [*files, f"{folder}/RECORD"])
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return path


def assert_repaired(environment: Environment, wheel: Path) -> None:
    """The commands of REPAIR, of which the first one has run, leave an installation that imports without a warning."""
    environment.install(wheel)
    done = environment.run("python", "-W", "error", "-c", "import tooltrace as tt; print(tt.__version__)")
    assert (done.stdout.strip(), done.stderr) == (tt.__version__, "")


@pytest.mark.simulations
def test_installed_after_the_other_project_it_works_and_warns(
    environment: Environment, wheel: Path, other: Path
) -> None:
    environment.install(other, wheel)
    done = environment.run("python", "-c", "import tooltrace as tt; print(tt.trace_tool(abs)(-1))")
    assert done.stdout == "1\n", done.stderr
    assert f"tooltrace 1.4.0 {OVERLAP}" in done.stderr
    assert REPAIR in done.stderr
    assert done.stderr.count(OVERLAP) == 1
    assert environment.run("tooltrace", "--version").returncode == 0

    environment.pip("uninstall", "--yes", "tooltrace")  # which deletes files of both
    done = environment.run("tooltrace", "doctor")
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert "the project tooltrace" in done.stderr
    assert REPAIR in done.stderr
    assert_repaired(environment, wheel)


@pytest.mark.simulations
def test_overwritten_by_the_other_project_the_command_says_so(
    environment: Environment, wheel: Path, other: Path
) -> None:
    environment.install(wheel, other)
    assert "another project" in environment.run("python", "-c", "import tooltrace; print(tooltrace.ORIGIN)").stdout
    for arguments in (["doctor"], ["query"], ["--version"]):
        done = environment.run("tooltrace", *arguments)
        assert done.returncode == 1
        assert len(done.stderr.splitlines()) == 1, done.stderr
        assert "tooltrace 1.4.0" in done.stderr
        assert REPAIR in done.stderr
    environment.pip("uninstall", "--yes", "tooltrace")
    assert_repaired(environment, wheel)
