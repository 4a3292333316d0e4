"""A history of one store on a simulated disk: steps of a real program, and losses of power at any system call of them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from tests.crash.disk import POLICIES, Disk
from tests.crash.model import BACKUP_NAME, STORE_NAME, Model, check, check_delivery, settle
from tests.crash.trace import Call, Log, command

ROOT = Path(__file__).parents[2]


class Session:
    """The program over the store in ``folder``, and the simulated disk of that folder."""

    def __init__(self, folder: Path, log: Path, *options: str) -> None:
        self.disk = Disk(folder)
        self._log_path = log
        self._process = subprocess.Popen(
            [*command(log), sys.executable, "-m", "tests.crash.program", str(folder / STORE_NAME), *options],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT, env={**os.environ, "TOOLTRACE_STRICT": ""},
        )  # fmt: skip
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == b"ready\n"
        self._log = Log(log)
        for event in self._until("ready"):  # the cursor of a destination
            if isinstance(event, Call):
                self.disk.apply(event)

    def step(self, name: str, arguments: dict[str, Any]) -> list[Call | str]:
        """Do a step; return its system calls and the lines of output between them, in their order."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([name, arguments]).encode() + b"\n")
        self._process.stdin.flush()
        while (line := self._process.stdout.readline().decode().strip()) != "done":
            assert line.startswith(("call ", "sent ")), f"the program ended or said: {line}"
        return self._until("done")

    def close(self) -> None:
        """End the program."""
        if self._process.poll() is None:
            self._process.communicate()  # the program ends at the end of its input, and strace with it
        self._log.close()
        self._log_path.unlink(missing_ok=True)

    def _until(self, last: str) -> list[Call | str]:
        found: list[Call | str] = []
        while not found or found[-1] != last:
            for call in self._log.calls():
                is_output = call.name == "write" and call.arguments[0] == "1"
                found.append(call.data(1).decode().strip() if is_output else call)
        return found


@dataclass
class Total:
    """The histories of this process."""

    histories: int = 0
    steps: int = 0
    states: int = 0
    """States after a loss of power that were opened."""


total = Total()


class History:
    """A store in a new folder. After each step, states that a loss of power may leave are opened and checked.

    ``cuts``: losses of power during a step, at random system calls, each by a random policy. ``at_end``: policies of
    further losses after each step. ``delivers``: whether a destination gets the calls, in steps ``deliver``.
    """

    def __init__(self, choose: Random, *, cuts: int, at_end: tuple[str, ...], delivers: bool = False) -> None:
        total.histories += 1
        self._choose, self._cuts, self._at_end = choose, cuts, at_end
        self._work = Path(tempfile.mkdtemp(prefix="crash-"))
        self._number = self._calls = 0
        self.model = Model(delivers=delivers)
        self.broken = False
        """Whether the last state broke a promise."""
        self._begin(self._new_folder())

    def record(self, conversation: str, count: int = 2) -> None:
        ids = [f"call-{self._calls + number}" for number in range(count)]
        self._calls += count
        self.do("record", conversation=conversation, ids=ids)

    def do(self, name: str, **arguments: Any) -> None:
        """Do a step of the program."""
        total.steps += 1
        if name in ("backup", "restore"):
            arguments["file"] = str(self._folder / BACKUP_NAME)
        during = self.model.begin(name, arguments)
        events = self._session.step(name, arguments)
        last = len(events) - 1
        cuts = self._choose.sample(range(last), min(self._cuts, last))
        for index, event in enumerate(events):
            if isinstance(event, Call):
                self._session.disk.apply(event)
            elif event.startswith("call "):
                during.acknowledge(event.removeprefix("call "))
            elif event.startswith("sent "):
                during.sent.add(event.removeprefix("sent "))
            else:
                during.end(name, arguments)
            if index in cuts:
                where = f"in {name}, after {index + 1} of {last} system calls, {event!r:.200}"
                shutil.rmtree(self._after_power_cut(during, where, self._any_policy()))
        for policy in self._at_end:
            shutil.rmtree(self._after_power_cut(during, f"after {name}", policy))
        self.model = during

    def cut_power(self) -> None:
        """Go on with what a loss of power between two steps left."""
        self._session.close()
        folder = self._after_power_cut(self.model, "between two steps", self._any_policy())
        settle(self.model, folder)
        self._begin(folder)

    def close(self) -> None:
        """End the program, and remove the folder unless a promise was broken."""
        self._session.close()
        if not self.broken:
            shutil.rmtree(self._work)

    def _any_policy(self) -> str:
        return self._choose.choice(list(POLICIES))

    def _after_power_cut(self, model: Model, where: str, policy: str) -> Path:
        """Return a folder with what a loss of power may leave now, after its store was opened and checked."""
        folder = self._new_folder()
        self._session.disk.after_power_cut(self._choose, folder, policy)
        copied = folder.with_name(f"{folder.name}-as-left")
        shutil.copytree(folder, copied)
        wrong = check_delivery(model, copied, folder.with_name(f"{folder.name}-delivered")) if model.delivers else []
        wrong += check(model, folder)
        total.states += 1
        self.broken = bool(wrong)
        assert not wrong, f"a loss of power {where} ({policy}) left {copied}: {'; '.join(wrong)}"
        shutil.rmtree(copied)
        return folder

    def _begin(self, folder: Path) -> None:
        self._folder = folder
        options = ["--deliver"] if self.model.delivers else []
        self._session = Session(folder, self._work / f"{folder.name}.strace", *options)

    def _new_folder(self) -> Path:
        self._number += 1
        folder = self._work / str(self._number)
        folder.mkdir()
        return folder
