"""The files of the dashboards, at addresses that change with their content, so that a browser keeps them.

Pages name exact addresses (``?v=…``). A script that imports another one by its plain name would make the browser ask for
that one again on each page: scripts are served with exact addresses in their imports.
"""

from __future__ import annotations

import posixpath
import re
import zlib
from functools import cache
from os import PathLike, stat_result

from starlette.responses import Response
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from tooltrace import assets

_IMPORT = re.compile(r'((?:\bfrom |\bimport\()")(\.{1,2}/[\w./]+\.js)"')


@cache
def asset_url(name: str) -> str:
    """Return the address of a dashboard file; the address changes with the content of the file and of its imports."""
    return f"/static/{name}?v={_version(name)}"


def _version(name: str) -> str:
    return f"{zlib.crc32(_content(name)):x}"


@cache
def _content(name: str) -> bytes:
    """Return what is served of a dashboard file."""
    file = assets.path("dashboards") / name
    if not name.startswith("scripts/"):
        return file.read_bytes()

    def exact(found: re.Match[str]) -> str:
        imported = posixpath.normpath(posixpath.join(posixpath.dirname(name), found[2]))
        return f'{found[1]}{found[2]}?v={_version(imported)}"'

    return _IMPORT.sub(exact, file.read_text("utf-8")).encode()


class _Files(StaticFiles):
    """One folder of files."""

    def __init__(self, folder: str) -> None:
        super().__init__(directory=assets.path("dashboards") / folder)
        self._folder = folder

    def file_response(
        self, full_path: str | PathLike[str], stat_result: stat_result, scope: Scope, status_code: int = 200
    ) -> Response:
        """Return the file with a cache header.

        The browser keeps an exact address, and revalidates any other.
        """
        response = super().file_response(full_path, stat_result, scope, status_code)
        if self._folder == "scripts" and status_code == 200 and response.status_code == 200:
            name = posixpath.basename(str(full_path))
            response = Response(_content(f"scripts/{name}"), media_type="text/javascript")
        exact = scope["query_string"].startswith(b"v=")
        response.headers["Cache-Control"] = "public, max-age=31536000, immutable" if exact else "no-cache"
        return response


def mounts() -> list[Mount]:
    """Return the routes of all files."""
    return [Mount(f"/static/{folder}", _Files(folder)) for folder in ("styles", "scripts", "vendor")]
