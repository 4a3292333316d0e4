"""The scripts of the pages in one, for a file that asks nobody for anything."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tooltrace import assets

_IMPORT = re.compile(r'^import \{ ([\w, ]+) \} from "\./(\w+)\.js";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:(?:async )?function|const) (\w+))", re.MULTILINE)
_LEFT = re.compile(r"^\s*(?:import|export)\b", re.MULTILINE)

_FETCH = """const fetch = async (address) => ({
  json: async () => JSON.parse(document.getElementById(address)?.textContent ?? "{}"),
});"""
"""In a report, answers stand in the document: under the address that a page would fetch them from."""


def bundle(modules: Sequence[str], last: str) -> str:
    """The scripts ``modules`` of the dashboards, each after those it imports, and then the text ``last``, as one script."""
    parts = [_FETCH, *(f"const of_{name} = (() => {{\n{_body(_script(name), name)}\n}})();" for name in modules)]
    return "{\n" + "\n".join([*parts, "{", _imported(last, "the report"), "}"]) + "\n}"


def assert_inline_safe(script: str) -> str:
    """``script`` where it can stand between script tags. Raises ValueError where it would end there."""
    if re.search(r"</script|<!--", script, re.IGNORECASE):
        raise ValueError("a script holds '</script' or '<!--' and would end early in a document")
    return script


def asset(name: str) -> str:
    """The text of a file of the dashboards."""
    return (assets.path("dashboards") / name).read_text(encoding="utf-8")


def _script(name: str) -> str:
    return asset(f"scripts/{name}.js")


def _body(script: str, name: str) -> str:
    exported = [found[1] for found in _EXPORT.finditer(script)]
    return f"{_imported(_EXPORT.sub('', script), name)}\nreturn {{ {', '.join(exported)} }};"


def _imported(script: str, name: str) -> str:
    script = _IMPORT.sub(r"const { \1 } = of_\2;", script)
    if found := _LEFT.search(script):
        raise ValueError(f"{name}: {found[0].strip()!r} of a form that is not taken into one script")
    return script
