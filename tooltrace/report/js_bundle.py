"""The scripts of the pages bundled into one, for a self-contained document."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tooltrace import assets

_IMPORT = re.compile(r'^import \{ ([\w, ]+) \} from "\./(\w+)\.js";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:(?:async )?function|const) (\w+))", re.MULTILINE)
_OTHER_FORM = re.compile(r"^\s*(?:import|export)\b", re.MULTILINE)

_FETCH = """const fetch = async (address) => ({
  json: async () => JSON.parse(document.getElementById(address)?.textContent ?? "{}"),
});"""
"""Replacement of ``fetch`` in reports.

Results are embedded in the document, under the address that a page would fetch.
"""


def bundle(modules: Sequence[str], main: str) -> str:
    """Return the dashboard scripts ``modules`` and then the text ``main`` as one script.

    ``modules`` lists each script after those that it imports. Modules become functions because the document has no
    module loader.
    """
    parts = [_FETCH, *(f"const of_{name} = (() => {{\n{_body(name)}\n}})();" for name in modules)]
    # In a block: the names of the report must not become global, where the chart library has its own.
    return "{\n" + "\n".join([*parts, "{", _without_imports(main, "the report"), "}"]) + "\n}"


def assert_inline_safe(script: str) -> str:
    """Return ``script`` if it can stand inside a script element. Raises ValueError otherwise."""
    if re.search(r"</script|<!--", script, re.IGNORECASE):
        raise ValueError("the script contains '</script' or '<!--': a document would end early")
    return script


def asset(name: str) -> str:
    """Return the text of a file of the dashboards."""
    return (assets.path("dashboards") / name).read_text(encoding="utf-8")


def _body(name: str) -> str:
    script = asset(f"scripts/{name}.js")
    exported = [found[1] for found in _EXPORT.finditer(script)]
    return f"{_without_imports(_EXPORT.sub('', script), name)}\nreturn {{ {', '.join(exported)} }};"


def _without_imports(script: str, name: str) -> str:
    """Return ``script`` with its imports as variables. Raises ValueError for imports and exports of other forms."""
    script = _IMPORT.sub(r"const { \1 } = of_\2;", script)
    if found := _OTHER_FORM.search(script):
        raise ValueError(
            f"{name}: {found[0].strip()!r} in a form that cannot be bundled; expected {{ a, b }} from './x.js'"
        )
    return script
