"""SQL from somebody else: one question, read-only, in a process of its own with limits."""

from tooltrace.store.sandbox.client import FileForm, Sandbox, SandboxFile
from tooltrace.store.sandbox.limits import SandboxLimits

__all__ = ["FileForm", "Sandbox", "SandboxFile", "SandboxLimits"]
