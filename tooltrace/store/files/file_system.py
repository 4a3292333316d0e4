"""The kind of file system under a store: the locks of a network file system may have no effect between machines."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import Final

from tooltrace.store.files.paths import StorePaths

MOUNTS: Final = Path("/proc/self/mountinfo")
"""Linux's table of mounted file systems. On other systems, no file system is recognised."""
NETWORK: Final = frozenset([
    "nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "ceph", "lustre", "gpfs", "beegfs", "glusterfs",
    "fuse.glusterfs", "fuse.ceph", "fuse.sshfs", "fuse.s3fs", "fuse.gcsfuse", "fuse.rclone", "fuse.mount-s3",
    "fuse.blobfuse2",
])  # fmt: skip


def network_file_system(folder: Path) -> str | None:
    """Return the type of the network file system that ``folder`` is on, such as nfs4; None for a local one."""
    try:
        device = folder.stat().st_dev
    except OSError:
        return None
    kind = _types(MOUNTS).get(f"{os.major(device)}:{os.minor(device)}")
    return kind if kind in NETWORK else None


def network_problem(paths: StorePaths) -> str | None:
    """Return a sentence for a store on a network file system; None for other stores."""
    kind = network_file_system(paths.database.parent)
    if kind is None:
        return None
    return (
        f"the store {paths.database} is on a network file system ({kind}), where two machines may damage it: keep a store on a "
        "local disk of each machine, and join them with tooltrace merge"
    )


@lru_cache(maxsize=4)
def _types(mounts: Path) -> dict[str, str]:
    """Return the type of each mounted file system by its device, as the kernel writes it (proc_pid_mountinfo(5))."""
    try:
        lines = mounts.read_text(errors="replace").splitlines()
    except OSError:
        return {}
    types = {}
    for line in lines:
        before, separator, after = line.partition(" - ")
        if separator:
            types[before.split()[2]] = after.split()[0]
    return types
