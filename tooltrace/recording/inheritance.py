"""The settings that a spawned child takes over from the process that started it.

A forked child has the settings of its parent in memory. A child that multiprocessing or concurrent.futures spawns, or
starts by a fork server, imports the main module anew and skips the block under ``if __name__ == "__main__":``, and so a
``configure`` in that block. A worker of Ray imports no main module at all. ``configure`` therefore leaves the path of the
store, the durability, the capture, the service with its release, environment and attributes, the seconds of ``begun_after``, and the redacted keys in an environment variable, which only children of that
very process read, and the workers of the Ray that it starts later.

No credential is in it: neither the URL of a remote store, nor patterns of a redaction. A redaction that cannot be passed
on, because it has a function or patterns, makes the child record neither arguments nor results.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypedDict

import msgspec

from tooltrace.faults import faults, suppress_faults
from tooltrace.redact.redaction import Redaction

if TYPE_CHECKING:
    from tooltrace.recording.settings import Durability, Settings
    from tooltrace.recording.tool_spec import Capture

VARIABLE: Final = "TOOLTRACE_PARENT_SETTINGS"
"""Name of the environment variable."""


class Inherited(msgspec.Struct, frozen=True):
    """The settings of a parent process."""

    pid: int
    """The process that set them; only its children, and the workers of its Ray, use them."""
    store: str | None
    durability: str | None
    capture: str
    service: str | None
    release: str | None = None
    environment: str | None = None
    attributes: dict[str, Any] = {}
    keys: tuple[str, ...] = ()
    """Further keys whose values are redacted."""
    emails: bool = False
    begun_after: float | None = 5.0
    redaction_complete: bool = True
    """False where the redaction has a function or patterns, which cannot be passed on."""


class InheritedOptions(TypedDict, total=False):
    """The arguments of ``Settings`` that a child takes over."""

    store: Path | None
    durability: Durability | None
    capture: Capture
    service_name: str | None
    release: str | None
    environment: str | None
    attributes: Mapping[str, Any]
    redaction: Redaction
    begun_after: float | None


def pass_on(settings: Settings) -> None:
    """Put ``settings`` into the environment, for children that this process spawns from now on."""
    redaction = settings.redaction
    inherited = Inherited(
        pid=os.getpid(),
        store=None if settings.store is None else str(settings.store),
        durability=settings.durability,
        capture=settings.capture,
        service=settings.service_name,
        release=settings.release,
        environment=settings.environment,
        attributes=dict(settings.attributes),
        keys=tuple(sorted(redaction.normal_keys)),
        emails=redaction.emails,
        begun_after=settings.begun_after,
        redaction_complete=redaction.hook is None and not tuple(redaction.patterns),
    )
    with suppress_faults("configure", lost=0):
        os.environ[VARIABLE] = msgspec.json.encode(inherited).decode()


def parent_pid() -> int | None:
    """Return the process id of the parent in a child of a pool, and of the driver in a worker of Ray.

    A pool is one of multiprocessing or concurrent.futures. Imports none of these modules.
    """
    process = sys.modules.get("multiprocessing.process")
    parent = None if process is None else process.parent_process()
    return _RAY_DRIVER if parent is None else parent.pid


def _ray_driver() -> int | None:
    """Return the process id of the program that started this Ray, in a worker of Ray; None in other processes.

    Ray names the process that starts workers, the raylet, in their environment. The parent of the raylet is the program
    that called ``ray.init``, or the command ``ray start``. Without ``/proc``, returns the raylet, which passes on nothing.
    """
    raylet = os.getppid()
    if os.environ.get("RAY_RAYLET_PID") != str(raylet):  # a child of a worker has the variable too
        return None
    try:
        status = Path(f"/proc/{raylet}/stat").read_text()
    except OSError:
        return raylet
    return int(status.rpartition(")")[2].split()[1])  # after the name, which may contain spaces


_RAY_DRIVER: Final = _ray_driver()
"""Found once, at import: the driver may end before its workers, and each record asks for it."""


def inherited() -> Inherited | None:
    """Return the settings of the process that spawned this one; None without such a process or settings."""
    text = os.environ.get(VARIABLE)
    if text is None or (parent := parent_pid()) is None:
        return None
    try:
        found = msgspec.json.decode(text, type=Inherited)
    except msgspec.DecodeError:  # of another version of tooltrace
        return None
    # a grandchild inherits the variable too, but not the settings: its own parent may have configured others
    return found if found.pid == parent else None


def inherited_options() -> InheritedOptions:
    """Return the settings of the parent process as arguments of ``Settings``; empty where there is no such parent.

    Warns once where the parent's redaction could not be passed on.
    """
    found = inherited()
    if found is None:
        return {}
    if not found.redaction_complete:
        faults.warn_once(
            "inherited redaction",
            "this process records neither arguments nor results: the redact= of its parent has a function or patterns, "
            "which a spawned process does not get; call tooltrace.configure(redact=…) at the top level of the main module",
            counted=False,
        )
    return {
        "store": None if found.store is None else Path(found.store),
        "durability": found.durability,  # type: ignore[typeddict-item]  # checked by Settings
        "capture": found.capture if found.redaction_complete else "metadata",  # type: ignore[typeddict-item]
        "service_name": found.service,
        "release": found.release,
        "environment": found.environment,
        "attributes": found.attributes,
        "begun_after": found.begun_after,
        "redaction": Redaction(keys=found.keys, emails=found.emails),
    }
