"""Check a source distribution and a wheel, and use both in environments that have nothing else.

Run by `make test-dist`: python tests/system/check_dist.py uv dist build/tree

uv makes the environments. The first folder has the distributions, the second one a wheel that was built without the
source distribution. Installs dependencies from the package index. Uses the standard library only.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tarfile
import tempfile
import urllib.request
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
GENERATED = re.compile(r"PKG-INFO|setup\.cfg|tooltrace_recorder\.egg-info/.*")
SCRIPT = """
import tooltrace as tt

@tt.trace_tool
def double(number: int) -> int:
    return 2 * number

double(21)
(row,) = tt.query("failure_rate").rows
assert row[:2] == ("double", 1), row
print(tt.__file__)
"""


def main(uv: Path, dist: Path, tree: Path) -> None:
    (sdist,), (wheel,), (from_tree,) = dist.glob("*.tar.gz"), dist.glob("*.whl"), tree.glob("*.whl")
    check_contents(sdist)
    check_same(wheel, from_tree)
    with tempfile.TemporaryDirectory() as folder:
        use(uv, Path(folder) / "sdist", f"tooltrace-recorder @ {sdist.absolute().as_uri()}")
        use(uv, Path(folder) / "wheel", f"tooltrace-recorder[demo,serve] @ {wheel.absolute().as_uri()}", extras=True)
    print(f"{sdist.name} and {wheel.name}: complete, equal, and usable in bare environments")


def check_contents(sdist: Path) -> None:
    """The source distribution has every file of the repository and no other one, except for links."""
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    expected = {name for name in listed if not (ROOT / name).is_symlink()}
    with tarfile.open(sdist) as archive:
        found = {member.name.partition("/")[2] for member in archive.getmembers() if member.isfile()}
    found = {name for name in found if not GENERATED.fullmatch(name)}
    if found != expected:
        sys.exit(
            f"{sdist.name} lacks {sorted(expected - found)} and has {sorted(found - expected)}: correct MANIFEST.in"
        )


def check_same(one: Path, other: Path) -> None:
    """Two wheels have the same files with the same contents."""
    one_files, other_files = (
        {entry.filename: entry.CRC for entry in zipfile.ZipFile(path).infolist()} for path in (one, other)
    )
    if one_files != other_files:
        different = sorted(name for name, _ in one_files.items() ^ other_files.items())
        sys.exit(f"the wheel of the source distribution and that of the tree differ in {different}")


def use(uv: Path, folder: Path, requirement: str, *, extras: bool = False) -> None:
    """Install ``requirement`` in a new environment, and use it far from the repository."""
    subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, folder], check=True)
    for command in (["install", "--quiet", requirement], ["check"]):
        subprocess.run([uv, "pip", *command, "--python", folder / "bin" / "python"], check=True)
    environment = {
        key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "TOOLTRACE", "OTEL"))
    }
    environment["TOOLTRACE_STORE"] = str(folder / "calls.duckdb")

    def run(program: str, *arguments: str, code: int = 0) -> str:
        command = [str(folder / "bin" / program), *arguments]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=900)
        if done.returncode != code:
            sys.exit(f"{' '.join(command)} exited with {done.returncode}, not {code}:\n{done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    package = run("python", "-W", "error", "-c", SCRIPT).strip()
    if not Path(package).is_relative_to(folder):
        sys.exit(f"the environment imports tooltrace from {package}, not from {folder}")
    run("tooltrace", "--version")
    run("tooltrace", "query", "failure_rate")
    if not extras:
        hints = run("tooltrace", "demo", code=1) + run("tooltrace", "serve", code=1)
        if hints.count("pip install 'tooltrace-recorder[") != 2:
            sys.exit(f"a missing extra is not named:\n{hints}")
        return
    run("tooltrace", "demo", "--calls", "300")
    check_pages(folder, environment)


def check_pages(folder: Path, environment: dict[str, str]) -> None:
    """The server finds its pages and scripts."""
    command = [str(folder / "bin" / "tooltrace"), "serve", "--port", "0"]
    with subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as server:
        try:
            assert server.stdout is not None
            url = next(
                (found[0] for line in server.stdout if (found := re.search(r"http://127\.0\.0\.1:\d+", line))), None
            )
            if url is None:
                sys.exit("tooltrace serve ended without its address")
            page = urllib.request.urlopen(url, timeout=300).read().decode()
            assets = {link for link in re.findall(r'(?:src|href)="(/[^"]+\.(?:js|css|svg)[^"]*)"', page)}
            for link in assets:
                urllib.request.urlopen(url + link, timeout=300).read()
            if not assets or "<html" not in page:
                sys.exit(f"the page at {url} has no scripts and styles:\n{page[:1000]}")
        finally:
            server.send_signal(signal.SIGINT)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*(Path(argument) for argument in sys.argv[1:]))
