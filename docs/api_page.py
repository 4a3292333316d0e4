"""The reference of the Python API, made of ``tooltrace.__all__``, ``tooltrace.errors`` and the docstrings.

The page in the repository has a table for each group of names, and below it the signature and the whole docstring of each
(``docs/signatures.py``). In the site Sphinx reads these from the code.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections import Counter
from importlib.metadata import entry_points
from itertools import zip_longest
from typing import Any, Final

from msgspec import Struct

import tooltrace
import tooltrace.errors
import tooltrace.exporters.protocol
import tooltrace.store.base
from docs.markdown import NOTICE, safe, table
from docs.signatures import described
from tooltrace.recording.integration_registry import GROUP

INTRO: Final = (
    "`import tooltrace as tt` has the names of this page; `help(tt.NAME)` prints what stands here. "
    "Times are UTC. None is an unknown value. A traced tool never raises an exception of tooltrace."
)
GROUPS: Final = {
    "recording": "Record calls",
    "redact": "Record calls",
    "analysis": "Query the history",
    "store": "Query the history",
    "labels": "Label and correct",
    "core": "Responses and records",
    "normalize": "Read results",
    "tools": "Offer functions to a model",
    "ingest": "Receive spans",
    "maintenance": "Delete what was recorded",
    "version": "Version",
}
"""Heading of the names of each package, in the order of the page."""
OTHER: Final = "Other names"
FIRST: Final = (
    "trace_tool",
    "configure",
    "context",
    "copy_context",
    "TraceLogger",
    "query",
    "label",
    "ToolResponse",
    "normalize",
    "ToolRegistry",
)
"""Names that begin their part of the page; the others follow by kind: functions, classes, constants."""
RETURNED: Final = ("Health", "QueryResult")
"""Classes whose objects only tooltrace makes: the site has no constructor of them."""
EXCEPTIONS: Final = (tooltrace.errors, tooltrace.exporters.protocol)
INTERFACES: Final = {
    "Destinations of records": (
        (
            "A destination receives the records of `configure(export=…)` and of `tooltrace export`. A package adds one with an "
            "entry point in the group `tooltrace.exporters`: a callable that accepts a `Target` and returns a `Destination`."
        ),
        tooltrace.exporters.protocol,
        ("Destination", "MultiPartDestination", "AtomicDestination", "Target"),
    ),
    "Stores": (
        (
            "A kind of store is a class with this interface, registered by `register_store` or by an entry point in the group "
            "`tooltrace.stores`."
        ),
        tooltrace.store.base,
        ("StoreBackend", "register_store", "open_store"),
    ),
}
"""Interfaces that other packages implement: an explanation, the module and its names."""


def api_page(*, signatures: bool = False) -> str:
    """Return the page: the public names, the exceptions, the interfaces and the integrations.

    ``signatures``: with the directives by which Sphinx describes each name.
    """
    parts = [NOTICE, "# Python API", INTRO]
    taken: Counter[str] = Counter()
    for heading, names in groups().items():
        parts += [
            f"## {heading}",
            _names("tooltrace", {name: getattr(tooltrace, name) for name in names}, signatures, taken),
        ]
    parts += [
        "## Exceptions",
        (
            "`from tooltrace.errors import …`; those of destinations are in `tooltrace.exporters.protocol`. Every exception that "
            "tooltrace raises on purpose is a `TooltraceError`. Warnings are `UserWarning`s."
        ),
        table(("exception", "also a", "meaning", "raised by"), map(_exception_row, exceptions())),
    ]
    if signatures:
        parts += [_directive(each.__module__, each.__name__, each) for each in exceptions()]
    for heading, (about, module, names) in INTERFACES.items():
        parts += [f"## {heading}", about, f"Module: `{module.__name__}`."]
        parts.append(_names(module.__name__, {name: getattr(module, name) for name in names}, signatures, taken))
    parts += [
        "## Integrations",
        (
            "`tt.install(NAME)` installs an integration by its name. Each is also a module with `install()` and `remove()`; "
            "[Integrations](../integrations.md) lists what each records."
        ),
        table(
            ("name", "module", "install()"),
            [(f"`{each.name}`", f"`{each.module}`", _plain(each.load().install)) for each in integrations()],
        ),
    ]
    return "\n\n".join(parts) + "\n"


def _names(module: str, values: dict[str, Any], signatures: bool, taken: Counter[str]) -> str:
    """Return the description of ``values``. ``taken``: how many headings have an anchor, which decides on the next."""
    if signatures:
        return "\n\n".join(_directive(module, name, value) for name, value in values.items() if name != "__version__")
    rows: list[tuple[str, ...]] = []
    parts: list[str] = []
    for name, value in values.items():
        about = list(described(name, value, is_returned=name in RETURNED))
        place = f"{name.lower()}-{taken[name.lower()]}".removesuffix("-0")
        taken[name.lower()] += bool(about)
        rows.append(
            (f"[`{name}`](#{place})" if about else f"`{name}`", _kind(value), safe(_first_sentence(name, value)))
        )
        parts += [f"### {name}", *about] if about else []
    return "\n\n".join((table(("name", "kind", "meaning"), rows), *parts))


def _plain(function: Any) -> str:
    """Return the whole docstring of ``function`` as one line of Markdown."""
    return safe((inspect.getdoc(function) or "").replace("``", "`"))


def groups() -> dict[str, list[str]]:
    """Return the names of ``tooltrace.__all__`` by the heading under which they stand."""
    found: dict[str, list[str]] = {heading: [] for heading in (*GROUPS.values(), OTHER)}
    for name in tooltrace.__all__:
        value = getattr(tooltrace, name)
        if not (isinstance(value, type) and issubclass(value, Exception)):
            found[GROUPS.get(_package(name, value), OTHER)].append(name)
    return {heading: sorted(names, key=_rank) for heading, names in found.items() if names}


def _rank(name: str) -> tuple[int, int]:
    kinds = ("function", "class", "constant")
    first = FIRST.index(name) if name in FIRST else len(FIRST)
    return first, kinds.index(_kind(getattr(tooltrace, name)))


def exceptions() -> list[type[Exception]]:
    """Return every public exception and warning, each after its bases."""
    return [
        value
        for module in EXCEPTIONS
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, Exception) and value.__module__ == module.__name__
    ]


def integrations() -> list[Any]:
    """Return the entry points of the integrations that this project has, by name."""
    return sorted(
        (each for each in entry_points(group=GROUP) if each.module.startswith("tooltrace.")), key=lambda each: each.name
    )


def _package(name: str, value: Any) -> str:
    """Return the package of tooltrace that defines ``value``."""
    module = _assignment(name, value)[0] if _kind(value) == "constant" else value.__module__
    return module.removeprefix("tooltrace.").partition(".")[0]


def _kind(value: Any) -> str:
    if isinstance(value, type):
        return "class"
    return "function" if inspect.isroutine(value) else "constant"


def _first_sentence(name: str, value: Any) -> str:
    return _assignment(name, value)[1] if _kind(value) == "constant" else _summary(value)


def _summary(value: Any) -> str:
    """Return the first sentence of a docstring, with code in single backticks."""
    text = " ".join((inspect.getdoc(value) or "").split("\n\n")[0].split())
    sentence = re.split(r"(?<=[.]) (?=[A-Z`])|; ``", text)[0].removesuffix(".") + "."
    return re.sub(r":\w+:`~?\.?([^`]+)`", r"`\1`", sentence.replace("``", "`"))


def _assignment(name: str, value: Any) -> tuple[str, str]:
    """Return the module that assigns the constant ``name``, and the docstring below the assignment."""
    for key, module in sorted(sys.modules.items()):
        if not key.startswith("tooltrace.") or vars(module).get(name) is not value:
            continue
        body = ast.parse(inspect.getsource(module)).body
        for statement, below in zip_longest(body, body[1:]):
            targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
            if not any(isinstance(target, ast.Name) and target.id == name for target in targets):
                continue
            text = below.value.value if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant) else ""
            return key, " ".join(str(text).replace("``", "`").split("\n\n")[0].split())
    raise LookupError(f"no module of tooltrace assigns {name}")


def _exception_row(error: type[Exception]) -> tuple[str, str, str, str]:
    bases = [base.__name__ for base in error.__mro__[1:] if base not in (object, BaseException, Exception)]
    return f"`{error.__name__}`", ", ".join(f"`{base}`" for base in bases), safe(_summary(error)), _raised_by(error)


def _raised_by(error: type[Exception]) -> str:
    """Return the public functions and methods whose docstring names ``error``."""
    names = []
    for name in tooltrace.__all__:
        value = getattr(tooltrace, name)
        methods = vars(value).items() if isinstance(value, type) else ()
        members = [(name, value), *((f"{name}.{key}", each) for key, each in methods if not key.startswith("_"))]
        names += [
            key
            for key, each in members
            if callable(each) and re.search(rf"\b(Raises|Warns)\b[^.]*\b{error.__name__}\b", inspect.getdoc(each) or "")
        ]
    return ", ".join(f"`{name}`" for name in names)


def _directive(module: str, name: str, value: Any) -> str:
    kind = {"class": "class", "function": "function", "constant": "data"}[_kind(value)]
    if isinstance(value, type) and issubclass(value, BaseException):
        kind = "exception"
    options = ["   :no-value:"] if kind == "data" else []
    if isinstance(value, type) and issubclass(value, Struct):
        options = ["   :no-members:"]  # the fields of a record are the columns of its table, which have a page
    arguments = "()" if name in RETURNED else ""
    return "\n".join(("```{eval-rst}", f".. auto{kind}:: {module}.{name}{arguments}", *options, "```"))
