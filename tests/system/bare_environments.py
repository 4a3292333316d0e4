"""Run every command line and every program of the documentation in environments that lack most packages.

Run by `make test-dist`: python tests/system/bare_environments.py uv dist/*.whl [PAGE …]

Each works, or says in one sentence which extra to install: never a traceback, never a file that is left half-written. A
program may lack a package that it imports beside ours, where its page says `pip install` and the name. A line of the
reference of commands that another page runs is not run again. Installs dependencies from the package index. Uses the
standard library only.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
ENVIRONMENTS = {"base": "", "serve": "[serve]", "demo": "[demo]"}
PAGES = [
    "README.md",
    # a page in Chinese has the code of the English one
    *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md") if ".zh." not in path.name),
]
FROM_NOTHING = {"README.md", "docs/reference/journal.md", "docs/tutorial.md"}
"""Pages whose reader begins in an empty folder; that of others has stores."""
COMMANDS = "docs/reference/cli.md"
STORES = ("tooltrace", "agent", "one", "two", "other", "evaluation")

BLOCK = re.compile(r"^```(sh|python)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
COMMAND = re.compile(r"(?:\w+=\S+ )*(?:tooltrace|python -m tooltrace|python agent\.py)\b(?!.*~/)")
ENDLESS = re.compile(r"\b(?:serve|tail(?!.*--no-follow)|watch(?!.*--once)|mcp .*--http|export .*--follow)\b")
MISSING = re.compile(r"ModuleNotFoundError: No module named '(\w+)")
TRACEBACK = "Traceback (most recent call last)"
EXTRA = re.compile(r"pip install '?tooltrace-recorder\[")
SECONDS = 600
QUIET_SECONDS = 20
SETTLE_SECONDS = 2
"""Seconds after its first output for which a command without an end is left alone."""
WORKERS = 2 * (os.cpu_count() or 1) + 2
"""Parts of pages at once: more than processors, because a command that never ends and has nothing to print only waits."""


@dataclass(frozen=True)
class Environment:
    """An environment, and a folder with what the pages speak of."""

    name: str
    folder: Path
    files: Path

    def run(self, command: list[str], folder: Path, *, is_endless: bool = False) -> tuple[int, str]:
        """Return the exit code and the output of ``command``; one without an end is interrupted once it has printed."""
        kept = {
            key: text for key, text in os.environ.items() if not key.startswith(("PYTHON", "TOOLTRACE", "OTEL", "LC_"))
        }
        kept |= {"PATH": f"{self.folder / 'bin'}:/usr/bin:/bin", "HOME": str(folder), "COLUMNS": "80"}
        with (
            tempfile.TemporaryFile() as output,
            subprocess.Popen(
                command, cwd=folder, env=kept, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                start_new_session=True,
            ) as process,
        ):  # fmt: skip
            started = printed = time.monotonic()
            while process.poll() is None and time.monotonic() - started < SECONDS:
                if not output.seek(0, os.SEEK_END):
                    printed = time.monotonic()
                # not at once: a command that printed an error ends by itself; one that has nothing to print is interrupted too
                settled = time.monotonic() - printed > SETTLE_SECONDS
                if is_endless and (settled or time.monotonic() - started > QUIET_SECONDS):
                    is_endless = False
                    os.killpg(process.pid, signal.SIGINT)
                time.sleep(0.02)
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            code = process.wait()
            output.seek(0)
            return code, output.read().decode(errors="replace")


def main(uv: str, wheel: Path, pages: list[str]) -> None:
    with tempfile.TemporaryDirectory() as parent, ThreadPoolExecutor(WORKERS) as pool:
        made = list(pool.map(lambda name: make(uv, wheel, Path(parent), name), ENVIRONMENTS))
        todo = [(each, *part) for each in made for part in parts(pages)]
        faults = [fault for found in pool.map(lambda one: list(check(*one)), todo) for fault in found]
    if faults:
        sys.exit("\n\n".join(faults))
    print(f"{len(todo)} parts of pages work, or name what they need, in: {', '.join(ENVIRONMENTS)}")


def make(uv: str, wheel: Path, parent: Path, name: str) -> Environment:
    """Return a new environment with the wheel and one extra, and nothing else."""
    folder, files = parent / name, parent / f"{name}-files"
    subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, folder], check=True)
    requirement = f"tooltrace-recorder{ENVIRONMENTS[name]} @ {wheel.absolute().as_uri()}"
    subprocess.run([uv, "pip", "install", "--quiet", "--python", folder / "bin" / "python", requirement], check=True)
    files.mkdir()
    environment = Environment(name, folder, files)
    (files / "agent.py").write_text(blocks("README.md")[0])
    for command in (["python", "agent.py"], ["tooltrace", "agent.duckdb"]):
        code, output = environment.run(command, files)
        if code:
            sys.exit(f"{name}: {' '.join(command)} failed:\n{output}")
    for store in STORES:
        if store != "agent":
            shutil.copy(files / "agent.duckdb", files / f"{store}.duckdb")
    return environment


def blocks(page: str, kind: str = "python") -> list[str]:
    """Return the blocks of code of one kind."""
    return [code for found, code in BLOCK.findall((ROOT / page).read_text("utf-8")) if found == kind]


def parts(pages: list[str]) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield the blocks that belong together: those of a page, or each of the reference of commands with lines of its own."""
    elsewhere = {line for page in pages if page != COMMANDS for code in blocks(page, "sh") for line in lines_of(code)}
    for page in pages:
        found = BLOCK.findall((ROOT / page).read_text("utf-8"))
        if page != COMMANDS:
            yield page, found
            continue
        for kind, code in found:
            if own := [line for line in lines_of(code) if line not in elsewhere]:
                yield page, [(kind, "\n".join(own))]


def lines_of(code: str) -> list[str]:
    """Return the lines of shell code, continued ones as one, without comments."""
    return [re.sub(r"\s+#\s.*", "", line).strip() for line in code.replace("\\\n", "").splitlines()]


def check(environment: Environment, page: str, found: list[tuple[str, str]]) -> Iterator[str]:
    """Run the blocks in one folder, in their order, and yield what is wrong."""
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent) / "reader"
        if page in FROM_NOTHING:
            folder.mkdir()
            shutil.copy(environment.files / "agent.py", folder)
        else:
            shutil.copytree(environment.files, folder)
        for kind, code in found:
            exports = ""
            for line in [code] if kind == "python" else lines_of(code):
                if line.startswith("export "):
                    exports += f"{line}\n"
                    continue
                if kind == "sh" and not COMMAND.match(line):
                    continue
                before = leftovers(folder)
                if kind == "python":
                    status, output = run_program(environment, folder, line)
                else:
                    command = ["bash", "-c", f"{exports}{line}"]
                    status, output = environment.run(command, folder, is_endless=bool(ENDLESS.search(line)))
                fault = fault_of(kind, page, status, output)
                if status in (1, 2) and not fault and kind == "sh" and (new := leftovers(folder) - before):
                    fault = f"failed and left {sorted(new)}"
                if fault:
                    yield f"{environment.name}, {page}: {fault}\n{line.strip()}\n---\n{output.strip()[-1500:]}"


def run_program(environment: Environment, folder: Path, code: str) -> tuple[int, str]:
    named = re.match(r"# (\w+\.py)\n", code)
    file = folder / (named[1] if named else "program.py")
    file.write_text(code)
    return environment.run(["python", file.name], folder)


def leftovers(folder: Path) -> set[str]:
    """Return the names of what is in the folder, but for the stores."""
    return {path.name for path in folder.iterdir() if ".duckdb" not in path.name}


def fault_of(kind: str, page: str, status: int, output: str) -> str | None:
    """Return what is wrong with how a command or a program ended; None if nothing is."""
    if kind == "python":
        if not status or EXTRA.search(output.splitlines()[-1]):
            return None
        text, missing = (ROOT / page).read_text("utf-8"), MISSING.search(output)
        if missing is None:
            return "a program fails"
        name = missing[1].replace("_", "-")
        named = re.search(rf"pip install[^\n`]*{name}", text)
        return None if named else f"a program imports {name}, and the page does not say `pip install {name}`"
    if TRACEBACK in output:
        return "a command ends in a traceback"
    if "No module named" in output or "not installed" in output:
        return None if EXTRA.search(output) else "a command does not name the extra that it needs"
    return None


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3:] or PAGES)
