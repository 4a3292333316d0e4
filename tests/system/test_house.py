"""The rules of the house: arrows point down, ``import tooltrace`` is light, and a wheel holds one package."""

from __future__ import annotations

import ast
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import tooltrace as tt

ROOT = Path(__file__).parents[2]

FLOORS: tuple[tuple[str, ...], ...] = (
    (
        "errors",
        "address",
        "version",
        "codes",
        "classes",
        "interrupts",
        "guard",
        "exits",
        "capture",
        "injected",
        "secret_hints",
        "secret_patterns",
    ),
    ("fields", "record", "statistics", "confidence", "message", "paused", "response", "redaction", "surroundings"),
    ("store", "sandbox", "next_step"),
    ("queries", "dashboards"),
    ("normalize", "otel", "sieve"),
    ("exporters", "report"),
    ("spec", "sinks"),
    ("settings", "clickhouse"),
    ("attempt", "told"),
    ("assemble", "writer"),
    ("worker",),
    ("recorder",),
    ("runtime", "tape", "streams"),
    ("decorator", "logger", "outcomes", "asking"),
    ("foreign",),
    ("registry", "importing"),
    ("__init__",),
    ("integrations", "server", "demo"),
    ("cli",),
)
"""The ground first. A room may import its own floor and those below."""


def modules() -> list[tuple[str, Path]]:
    """Every module by the room it belongs to: a file at the top, or a folder."""
    found = []
    for path in sorted((ROOT / "tooltrace").rglob("*.py")):
        parts = path.relative_to(ROOT / "tooltrace").parts
        found.append((parts[0].removesuffix(".py"), path))
    for room in ("queries", "exporters", "dashboards"):
        found += [(room, path) for path in sorted((ROOT / room).rglob("*.py"))]
    return found


def is_module(text: str) -> bool:
    """Whether ``text`` names a module of a package of ours: it may be imported by that name later."""
    parts = text.split(".")
    if len(parts) < 3 or parts[0] != "tooltrace" or not all(part.isidentifier() for part in parts):
        return False
    return ROOT.joinpath(*parts).with_suffix(".py").exists()


def imported_rooms(path: Path) -> set[str]:
    rooms = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            names = [node.value] if is_module(node.value.partition(":")[0]) else []
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            names = [f"{module}.{alias.name}" for alias in node.names] if module == "tooltrace" else [module]
        else:
            continue
        for name in names:
            if name == "tooltrace":
                rooms.add("__init__")
            elif name.startswith("tooltrace."):
                rooms.add(name.split(".")[1])
    return rooms


def test_arrows_point_down() -> None:
    floor = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}
    rooms = set(floor)
    wrong = []
    for room, path in modules():
        assert room in floor, f"{room} has no floor"
        for other in imported_rooms(path):
            other = other if other in rooms else "__init__"
            if floor[other] > floor[room]:
                wrong.append(f"{path.relative_to(ROOT)} imports {other}, which stands above {room}")
    assert not wrong, "\n".join(wrong)


def test_import_loads_neither_duckdb_nor_a_face() -> None:
    code = "import sys, tooltrace; print([m for m in sys.modules if m.split('.')[0] in %r])"
    heavy = ("duckdb", "click", "numpy", "starlette", "uvicorn", "httpx", "pandas", "pyarrow")
    done = subprocess.run([sys.executable, "-c", code % (heavy,)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_exports_are_there_once() -> None:
    assert len(set(tt.__all__)) == len(tt.__all__)
    assert all(hasattr(tt, name) for name in tt.__all__)
    promised = {"configure", "trace_tool", "TraceLogger", "ToolResponse", "ToolErrorCode", "normalize", "label"}
    promised |= {"query", "connect", "flush", "shutdown", "context"}
    assert promised <= set(tt.__all__)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(source)], check=True)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(source)]
    subprocess.run(command, check=True)
    return next(folder.glob("*.whl"))


def test_a_wheel_holds_one_package_with_its_queries(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names} == {"tooltrace", f"tooltrace-{tt.__version__}.dist-info"}
    assert "tooltrace/queries/failure_rate.sql" in names
    assert "tooltrace/py.typed" in names
    folders = {str(Path(name).parent) for name in names if name.endswith(".py")}
    assert {"tooltrace/store", "tooltrace/cli", "tooltrace/exporters", "tooltrace/dashboards"} <= folders


def test_every_package_of_the_tree_is_in_the_wheel(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    for room, path in modules():
        base = ROOT if room in ("queries", "exporters", "dashboards") else ROOT / "tooltrace"
        assert f"tooltrace/{path.relative_to(base)}" in names
