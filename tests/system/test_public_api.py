"""The Python API as a user sees it: signatures, help texts, misspelled names, and the exceptions."""

from __future__ import annotations

import importlib
import inspect
import itertools
import pkgutil
import pydoc
import rlcompleter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal, Unpack, get_origin

import pytest

import tooltrace as tt
from tooltrace import errors, exporters, integrations, toolutil
from tooltrace.exporters import protocol
from tooltrace.store import base, url
from tooltrace.store.duckdb_store import DuckDBStore
from tooltrace.store.result import QueryResult

MAX_SIGNATURE = 1000
"""Maximum length of a signature in characters; that of ``configure`` has 18 options with their types."""
MAX_HELP = 5000
"""Maximum length of the help of one function."""
RECORDS = {"ToolCall"}
"""Classes with one argument for each column of a table."""


def members(owner: Any, title: str) -> Iterator[tuple[str, Any]]:
    for name, value in vars(owner).items():
        if isinstance(value, classmethod | staticmethod):
            value = value.__func__
        own = getattr(value, "__module__", "").startswith("tooltrace")  # not what typing.Protocol adds
        if inspect.isfunction(value) and own and (not name.startswith("_") or name == "__init__"):
            yield f"{title}.{name}", value


def public_callables() -> dict[str, Callable[..., Any]]:
    found: dict[str, Callable[..., Any]] = {}
    classes: list[Any] = [
        base.StoreBackend,
        base.SqlSandbox,
        base.StoreConnection,
        DuckDBStore,
        QueryResult,
        url.Address,
    ]
    for name in tt.__all__:
        value = getattr(tt, name)
        if inspect.isclass(value):
            classes.append(value)
        elif inspect.isroutine(value):
            found[name] = value
    for name in ("AtomicDestination", "Destination", "MultiPartDestination", "Target"):
        classes.append(getattr(protocol, name))
    classes += [getattr(errors, name) for name in errors.__all__]
    for kind in classes:
        found.update(members(kind, kind.__name__))
    found["ToolResponse.error"] = tt.ToolResponse.error
    for name in ("register_store", "open_store"):
        found[name] = getattr(base, name)
    found.update({f"toolutil.{name}": getattr(toolutil, name) for name in toolutil.__all__})
    for module in pkgutil.iter_modules(exporters.__path__):
        loaded = importlib.import_module(f"tooltrace.exporters.{module.name}")
        found.update({f"{module.name}.{name}": value for name, value in own_functions(loaded)})
    for module in pkgutil.iter_modules(integrations.__path__):
        loaded = importlib.import_module(f"tooltrace.integrations.{module.name}")
        if hasattr(loaded, "install"):
            found.update({f"{module.name}.{name}": getattr(loaded, name) for name in ("install", "remove")})
    return found


def own_functions(module: Any) -> Iterator[tuple[str, Any]]:
    for name, value in vars(module).items():
        if inspect.isfunction(value) and value.__module__ == module.__name__ and not name.startswith("_"):
            yield name, value


CALLABLES = public_callables()


def test_every_public_option_has_a_name_and_a_type() -> None:
    """No ``**options``: ``help`` and type checkers see each option. Queries declare theirs by ``Unpack``."""
    assert {"configure", "trace_tool", "context", "TraceLogger.call", "ToolRegistry.resume", "StoreBackend.prune"} <= {
        *CALLABLES
    }
    for title, function in CALLABLES.items():
        signature = inspect.signature(function)
        for parameter in signature.parameters.values():
            where = f"{title}({parameter.name})"
            if parameter.kind is parameter.VAR_KEYWORD:
                hint = str(parameter.annotation)
                assert hint.startswith("Unpack[") or get_origin(parameter.annotation) is Unpack, where
            if parameter.name not in ("self", "cls"):
                assert parameter.annotation is not parameter.empty, where
    assert "**" not in str(inspect.signature(tt.configure)) + str(inspect.signature(tt.TraceLogger))


def test_a_shell_completes_the_public_names_only() -> None:
    assert dir(tt) == sorted(tt.__all__)
    completer = rlcompleter.Completer({"tt": tt})
    found = iter(completer.complete("tt.", at) for at in itertools.count())
    assert {each.split("(")[0] for each in itertools.takewhile(bool, found)} == {
        f"tt.{name}" for name in tt.__all__ if name[0] != "_"
    }


def test_a_help_text_is_short_and_shows_no_objects() -> None:
    for name in sorted({*tt.__all__} - {"__version__"}):
        value = getattr(tt, name)
        text = pydoc.plaintext.document(value)
        signature = next((line for line in text.splitlines() if f"{name}(" in line), "")
        assert " at 0x" not in signature, name
        assert "<object object at 0x" not in text, name
        if name not in RECORDS:
            assert len(signature) < MAX_SIGNATURE, signature
        if not inspect.isclass(value) and callable(value):
            assert len(text) < MAX_HELP, name
        assert len(repr(value)) < 200 or get_origin(value) is Literal, name
        assert get_origin(value) is Literal or inspect.getdoc(value), f"{name} has no docstring"  # a Literal has none


def test_rules_print_as_their_names() -> None:
    assert repr(tt.RULES) == "tooltrace.RULES"
    assert repr(tt.CERTAIN_RULES) == "tooltrace.CERTAIN_RULES"
    assert "rules: 'Iterable[Rule]' = tooltrace.RULES" in str(inspect.signature(tt.configure))
    assert repr(tt.RULES[0]) == "Rule('exception', 'certain')"
    assert (*tt.RULES,) == tt.RULES


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: tt.context(converstion_id="c"), TypeError, "context.* 'converstion_id'"),  # type: ignore[call-arg]
        (lambda: tt.configure(durabilty="call"), TypeError, "configure.* 'durabilty'"),  # type: ignore[call-arg]
        (lambda: tt.trace_tool(nme="x"), TypeError, "trace_tool.* 'nme'"),  # type: ignore[call-overload]
        (lambda: tt.TraceLogger(versoin="1"), errors.UnknownOption, "a tool has no option 'versoin'; did you mean 'version'?"),  # type: ignore[call-arg]
        (lambda: tt.tool(discription="x"), errors.UnknownOption, "no option 'discription'; did you mean 'description'?"),  # type: ignore[call-overload]
        (lambda: tt.ToolRegistry().register(len, vrsion="1"), errors.UnknownOption, "did you mean 'version'?"),  # type: ignore[call-overload]
    ],
)  # fmt: skip
def test_a_misspelled_option_is_a_type_error(call: Callable[[], object], kind: type[TypeError], message: str) -> None:
    with pytest.raises(kind, match=message):
        call()


def test_a_misspelled_parameter_of_a_query_has_a_suggestion(store: Path) -> None:
    tt.configure(store=store)
    with pytest.raises(errors.BadParameter, match="did you mean 'since'"):
        tt.query("failure_rate", sinc="7d")  # type: ignore[call-overload]


def test_tooltrace_errors_has_every_exception_that_a_user_may_catch() -> None:
    for found in subclasses(errors.TooltraceError):
        private = found.__name__.startswith("_")
        if found.__module__.startswith("tooltrace") and not private:
            assert found.__module__ == "tooltrace.errors", f"{found.__name__} belongs in tooltrace.errors"
            assert found.__name__ in errors.__all__
    for name in errors.__all__:
        found = getattr(errors, name)
        assert issubclass(found, errors.TooltraceError | UserWarning)
        origin = "Issued by: " if issubclass(found, Warning) else "Raised by: "
        assert origin in (inspect.getdoc(found) or ""), f"{name} does not state when it is raised"
    assert protocol.Unavailable is errors.Unavailable


def subclasses(kind: type) -> Iterator[type]:
    for each in kind.__subclasses__():
        yield each
        yield from subclasses(each)


def test_the_query_options_are_the_parameters_of_all_queries() -> None:
    from tooltrace.analysis import catalogue
    from tooltrace.analysis.parameters import QueryOptions

    found = catalogue()
    queries = found.values() if isinstance(found, dict) else found
    assert set(QueryOptions.__annotations__) == {each.name for query in queries for each in query.header.parameters}
