"""Rules for the layout: imports between packages point down, and ``import tooltrace`` is light."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

import tooltrace as tt

ROOT = Path(__file__).parents[2]

LAYERS: tuple[tuple[str, ...], ...] = (
    ("errors", "version", "assets", "faults"),
    ("redact", "statistics"),
    ("core",),
    ("normalize", "otel", "store", "toolutil"),
    ("exporters",),
    ("delivery",),
    ("recording",),
    ("analysis", "ingest", "labels", "tools"),
    ("wording",),
    ("diagnosis",),
    ("clickhouse", "maintenance", "report"),
    ("mcp_server",),
    ("server", "__init__"),
    ("integrations", "demo"),
    ("cli",),
    ("__main__", "pytest_plugin"),
)
"""Packages and root modules, the lowest layer first. Each may import from the layers below its own, and from itself."""

STORE_LAYERS = ("files", "journal", "database", "erase", "fold", "read", "upkeep")
"""Packages inside ``tooltrace.store``, the lowest first."""

MAX_ROOT_MODULES = 7
"""Maximum number of modules outside the packages."""

NEW_STANDARD_MODULES = {"annotationlib", "compression"}
"""Modules of the standard library that not every supported Python has."""


@cache
def modules() -> dict[str, Path]:
    """Every module of the package by its dotted name, including the folder that is mapped into it."""
    found = {}
    for folder, package in (("tooltrace", "tooltrace"), ("exporters", "tooltrace.exporters")):
        for path in sorted((ROOT / folder).rglob("*.py")):
            if any(parent.is_symlink() for parent in path.parents):
                continue
            parts = path.relative_to(ROOT / folder).with_suffix("").parts
            found[".".join([package, *(part for part in parts if part != "__init__")])] = path
    return found


@cache
def syntax_tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def package_of(module: str) -> str:
    """The package or root module that ``module`` belongs to."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def is_import_string(node: ast.Constant, parent: ast.AST | None) -> bool:
    """Whether a text names a module that is imported later: an entry point, a dotted path, or ``import_module``."""
    if not isinstance(node.value, str) or not node.value.startswith("tooltrace."):
        return False
    name, colon, _ = node.value.partition(":")
    if name not in modules():
        return False
    called = parent.func if isinstance(parent, ast.Call) else None
    return bool(colon) or name.count(".") > 1 or "import_module" in ast.unparse(called or node)


@cache
def imports(path: Path, *, at_import: bool = False) -> frozenset[str]:
    """Modules that the file imports, also in functions and as strings; ``at_import``: only those that loading it loads."""
    return frozenset(_imports(syntax_tree(path), at_import=at_import))


def _imports(tree: ast.AST, *, at_import: bool) -> Iterator[str]:
    todo: list[tuple[ast.AST, ast.AST | None]] = [(tree, None)]
    while todo:
        node, parent = todo.pop()
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            full = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [name if name in modules() else node.module for name in full]
        elif isinstance(node, ast.Constant) and not at_import and is_import_string(node, parent):
            names = [node.value.partition(":")[0]]
        yield from (name for name in names if name in modules())
        if at_import and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if at_import and isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        todo += [(child, node) for child in ast.iter_child_nodes(node)]


def test_imports_between_packages_point_down() -> None:
    layer = {package: number for number, packages in enumerate(LAYERS) for package in packages}
    assert layer.keys() == {package_of(module) for module in modules()}, "a package has no layer, or a layer no package"
    wrong = []
    for module, path in modules().items():
        package = package_of(module)
        for imported in imports(path):
            other = package_of(imported)
            if other != package and layer[other] >= layer[package]:
                wrong.append(f"{module} imports {imported}: {other} is not below {package}")
    assert not wrong, "\n".join(sorted(wrong))


def test_imports_between_packages_of_the_store_point_down() -> None:
    def level(module: str) -> int:
        return STORE_LAYERS.index(name) if (name := module.split(".")[2]) in STORE_LAYERS else -1

    wrong = {
        f"{module} imports {imported}"
        for module, path in modules().items()
        if module.startswith("tooltrace.store.") and level(module) >= 0
        for imported in imports(path, at_import=True)
        if imported.startswith("tooltrace.store.") and level(imported) > level(module)
    }
    wrong -= {"tooltrace.store.fold.fold imports tooltrace.store.upkeep.retention"}  # the first fold of a day prunes
    assert not wrong, "\n".join(sorted(wrong))


def test_only_the_packages_of_the_stores_read_a_store_by_its_engine() -> None:
    """All others use ``open_store``: a further kind of store needs no change in them."""
    engines = ("tooltrace.store.read.reader", "tooltrace.store.read.label_select")
    found = {
        module
        for module, path in modules().items()
        if package_of(module) not in ("store", "clickhouse", "maintenance")
        for imported in imports(path)
        if imported.startswith(engines)
    }
    assert found == set()


def test_imports_have_no_cycles() -> None:
    graph = {}
    for module, path in modules().items():
        found = imports(path, at_import=True)
        graph[module] = found - {module}
    while leaves := {module for module, found in graph.items() if not found & graph.keys()}:
        graph = {module: found for module, found in graph.items() if module not in leaves}
    assert not graph, f"cycles among {sorted(graph)}"


def loaded_with(module: str, graph: Mapping[str, set[str]]) -> set[str]:
    """Modules of the package that an import of ``module`` loads, the parents of each included."""
    found: set[str] = set()
    todo = [module]
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            todo += graph.get(name, ())
            todo += [parent] if (parent := name.rpartition(".")[0]) else []
    return found


def function_imports(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and module of each import inside a function."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            for node in ast.walk(function):
                if isinstance(node, ast.Import):
                    yield from ((node.lineno, alias.name) for alias in node.names)
                elif isinstance(node, ast.ImportFrom) and node.module:
                    full = [f"{node.module}.{alias.name}" for alias in node.names]
                    yield from ((node.lineno, name if name in modules() else str(node.module)) for name in full)


def test_imports_inside_functions_delay_the_load_of_something() -> None:
    """Refuse the standard library, and modules that are loaded anyway, by an import of the same or the root module."""
    graph = {module: imports(path, at_import=True) - {module} for module, path in modules().items()}
    standard = sys.stdlib_module_names - NEW_STANDARD_MODULES
    wrong = set()
    for module, path in modules().items():
        loaded = loaded_with(module, graph) | loaded_with("tooltrace", graph)
        for line, imported in function_imports(syntax_tree(path)):
            if imported.partition(".")[0] in standard or (imported in loaded and imported != module):
                wrong.add(f"{path.relative_to(ROOT)}:{line}: move the import of {imported} to the top")
    assert not wrong, "\n".join(sorted(wrong))


def test_few_modules_are_outside_the_packages() -> None:
    found = sorted(path.name for path in (ROOT / "tooltrace").glob("*.py") if path.name != "__init__.py")
    assert len(found) <= MAX_ROOT_MODULES, found


def test_the_data_folders_have_no_python() -> None:
    assert not [*(ROOT / "queries").rglob("*.py"), *(ROOT / "dashboards").rglob("*.py")]


@pytest.mark.processes
def test_import_loads_no_heavy_dependency() -> None:
    code = "import sys, tooltrace; print([m for m in sys.modules if m.split('.')[0] in %r])"
    heavy = (
        "duckdb",
        "click",
        "numpy",
        "starlette",
        "uvicorn",
        "httpx",
        "pandas",
        "pyarrow",
        "asyncio",
        "rich",
        "structlog",
    )
    done = subprocess.run([sys.executable, "-c", code % (heavy,)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_public_names_exist_and_are_unique() -> None:
    assert len(set(tt.__all__)) == len(tt.__all__)
    assert all(hasattr(tt, name) for name in tt.__all__)
    required = {"configure", "trace_tool", "TraceLogger", "ToolResponse", "ToolErrorCode", "normalize", "label"}
    required |= {"query", "connect", "flush", "shutdown", "context"}
    assert required <= set(tt.__all__)


def test_every_package_is_in_the_distribution() -> None:
    """setuptools packs what pyproject.toml names, and nothing else."""
    import tomllib

    named = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    packages = {name for name, path in modules().items() if path.name == "__init__.py"}
    assert packages - set(named) == set()
