"""Public names as Markdown: the signature as code, the docstring as text, and the fields and methods of a class.

The page of the API in the repository consists of these. The blocks of code have the language ``py``: they are not programs.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator
from itertools import zip_longest
from typing import Any, Final, NamedTuple, get_args, get_origin

from msgspec import Struct

from docs.docstrings import with_fields
from docs.markdown import safe, table

WIDTH: Final = 100
"""Maximum characters of a signature in one line."""
MOST_VALUES: Final = 12
"""Maximum number of values that a type is shown with."""
_ROLE: Final = re.compile(r":\w+:`~?\.?([^`]+)`")
_CODE: Final = re.compile(r"::\n\n((?:    [^\n]*\n?|\n)+)")


class Field(NamedTuple):
    """A field of a class, as its source declares it."""

    name: str
    type: str
    default: str
    meaning: str


def described(name: str, value: Any, *, is_returned: bool = False) -> Iterator[str]:
    """Yield the parts of the description of ``value``; none for a constant without a short list of values.

    ``is_returned``: only tooltrace makes the objects of this class.
    """
    if isinstance(value, type) and value.__name__ != name:
        yield f"Another name of `{value.__name__}`."
    elif isinstance(value, type):
        yield from _class(name, value, is_returned=is_returned)
    elif inspect.isroutine(value):
        yield _code(_signature(name, value))
        yield markdown(value)
    elif get_origin(value) and len(get_args(value)) <= MOST_VALUES:
        yield _code(f"{name} = Literal[{', '.join(map(repr, get_args(value)))}]")


def markdown(value: Any) -> str:
    """Return the docstring of ``value`` as Markdown."""
    text = "\n".join(with_fields((inspect.getdoc(value) or "").splitlines()))
    parts = _CODE.split(text + "\n")  # text and code in turn
    made = []
    for number, part in enumerate(parts):
        if number % 2:
            made.append(_code(textwrap.dedent(part).strip()))
        else:
            made += [_paragraph(each) for each in re.split(r"\n\s*\n", part) if each.strip()]
            if number < len(parts) - 1:
                made[-1] = made[-1].removesuffix(".") + ":"
    return "\n\n".join(made)


def _paragraph(text: str) -> str:
    """Return a paragraph, or a list with one line for each item."""
    text = _ROLE.sub(r"`\1`", text.replace("``", "`").strip())
    if not text.startswith("* "):
        return safe(text)
    items, _, raised = re.sub(r"^\* \*\*(.*?)\*\*: ", _marked, text, flags=re.MULTILINE).partition(" Raises ")
    # one docstring describes several parameters in one line
    lines = [f"- {safe(each)}" for each in re.split(r"(?:^|\n|(?<=\.) )(?:- )?(?=`\w+`(?:, `\w+`)*: )", items) if each]
    return "\n".join(lines) + (f"\n\nRaises {safe(raised)}" if raised else "")


def _marked(found: re.Match[str]) -> str:
    return f"- `{found[1].replace('**', '`')}`: "


def _class(name: str, value: type, *, is_returned: bool) -> Iterator[str]:
    found = [] if issubclass(value, Struct) else list(_fields(value))
    is_abstract = getattr(value, "_is_protocol", False)
    has_signature = not (is_returned or is_abstract or issubclass(value, Struct) or hasattr(value, "model_fields"))
    if has_signature and "__init__" in vars(value):
        yield _code(_signature(name, value))
    yield markdown(value)
    if found:
        rows = [(f"`{each.name}`", each.type, each.default, each.meaning) for each in found]
        yield table(("field", "type", "default", "meaning"), rows)
    for member, method in _methods(value):
        if isinstance(method, property):
            yield _code(f"{name}.{member}: {_returned(method)}")
        else:
            yield _code(_signature(f"{name}.{member}", method))
        yield markdown(method)


def _methods(value: type) -> Iterator[tuple[str, Any]]:
    """Yield the public methods and properties of a class and of its bases in tooltrace, in the order of the source."""
    seen: set[str] = set()
    for each in value.__mro__:
        if not each.__module__.startswith("tooltrace"):
            continue
        for name, member in vars(each).items():
            plain = member.__func__ if isinstance(member, classmethod | staticmethod) else member
            is_method = isinstance(member, property) or inspect.isfunction(plain)
            if name.startswith("_") or name in seen or not is_method or not inspect.getdoc(member):
                continue
            seen.add(name)
            yield name, member


def _fields(value: type) -> Iterator[Field]:
    """Yield the public fields of a class and of its bases in tooltrace, with the text below each in the source."""
    for each in reversed(value.__mro__):
        if not each.__module__.startswith("tooltrace"):
            continue
        body = ast.parse(textwrap.dedent(inspect.getsource(each))).body[0]
        assert isinstance(body, ast.ClassDef)
        for statement, below in zip_longest(body.body, body.body[1:]):
            if not isinstance(statement, ast.AnnAssign) or not isinstance(statement.target, ast.Name):
                continue
            name, kind = statement.target.id, ast.unparse(statement.annotation)
            if name.startswith("_") or kind.startswith("ClassVar"):
                continue
            is_text = isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
            meaning = " ".join(str(below.value.value).replace("``", "`").split()) if is_text else ""
            yield Field(
                name, f"`{kind}`".replace("|", "\\|"), _default(statement.value), safe(_ROLE.sub(r"`\1`", meaning))
            )


def _default(value: ast.expr | None) -> str:
    """Return a default as code; empty for a field that has none."""
    if value is None:
        return ""
    if isinstance(value, ast.Call):  # field(default_factory=list), Field(None, …)
        given = {each.arg: each.value for each in value.keywords}
        if "default_factory" in given:
            return f"`{ast.unparse(given['default_factory'])}()`"
        value = given.get("default", value.args[0] if value.args else None)
    return "" if value is None else f"`{ast.unparse(value)}`".replace("|", "\\|")


def _returned(method: property) -> str:
    return str(inspect.signature(method.fget).return_annotation) if method.fget else ""


def _signature(name: str, value: Any) -> str:
    """Return ``name`` with the parameters and the result of ``value``, on several lines where it is long."""
    word = "class " if isinstance(value, type) else "classmethod " if isinstance(value, classmethod) else ""
    plain = value.__func__ if isinstance(value, classmethod | staticmethod) else value
    signature = inspect.signature(plain)
    parameters = list(signature.parameters.values())
    is_bound = "." in name and not isinstance(value, staticmethod)
    texts = _parameters(parameters[1:] if is_bound and not isinstance(value, type) else parameters)
    result = signature.return_annotation
    if hasattr(plain, "__wrapped__") and str(result).startswith("Iterator["):  # contextlib.contextmanager
        result = f"AbstractContextManager{str(result).removeprefix('Iterator')}"
    arrow = "" if isinstance(value, type) or result is inspect.Signature.empty else f" -> {result}"
    asynchronous = "async " if inspect.iscoroutinefunction(plain) else ""
    line = f"{word}{asynchronous}{name}({', '.join(texts)}){arrow}"
    if len(line) <= WIDTH:
        return line
    return "\n".join((f"{word}{asynchronous}{name}(", *(f"    {each}," for each in texts), f"){arrow}"))


def _parameters(parameters: list[inspect.Parameter]) -> list[str]:
    texts: list[str] = []
    last: Any = None
    for each in parameters:
        if last is inspect.Parameter.POSITIONAL_ONLY and each.kind is not last:
            texts.append("/")
        if each.kind is inspect.Parameter.KEYWORD_ONLY and last not in (each.kind, inspect.Parameter.VAR_POSITIONAL):
            texts.append("*")
        texts.append(_parameter(each))
        last = each.kind
    return [*texts, "/"] if last is inspect.Parameter.POSITIONAL_ONLY else texts


def _parameter(each: inspect.Parameter) -> str:
    stars = "*" if each.kind is each.VAR_POSITIONAL else "**" if each.kind is each.VAR_KEYWORD else ""
    kind = "" if each.annotation is inspect.Parameter.empty else f": {each.annotation}"
    if each.default is inspect.Parameter.empty:
        return f"{stars}{each.name}{kind}"
    default = "…" if type(each.default) is object or repr(each.default) == "<factory>" else repr(each.default)
    return f"{each.name}{kind} = {default}" if kind else f"{each.name}={default}"


def _code(text: str) -> str:
    return f"```py\n{text}\n```"
