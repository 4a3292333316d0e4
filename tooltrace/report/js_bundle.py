"""The scripts of the pages bundled into one, for a self-contained document."""

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
"""Replacement of ``fetch`` in reports.

Results are embedded in the document, under the address that a page would fetch.
"""


def bundle(modules: Sequence[str], last: str) -> str:
    """Return the dashboard scripts ``modules`` and then the text ``last`` as one script.

    ``modules`` lists each script after those that it imports. Modules become functions because the document has no
    module loader.
    """
    parts = [_FETCH, *(f"const of_{name} = (() => {{\n{_body(_script(name), name)}\n}})();" for name in modules)]
    return "{\n" + "\n".join([*parts, "{", _imported(last, "the report"), "}"]) + "\n}"


def assert_inline_safe(script: str) -> str:
    """Return ``script`` if it can stand inside a script element. Raises ValueError otherwise."""
    if re.search(r"</script|<!--", script, re.IGNORECASE):
        raise ValueError("a script holds '</script' or '<!--' and would end early in a document")
    return script


def asset(name: str) -> str:
    """Return the text of a file of the dashboards."""
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
