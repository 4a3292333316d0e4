"""Execution of untrusted SQL: one query, read-only, in a separate process with limits."""

from tooltrace.store.sandbox.client import FileForm, Sandbox, SandboxFile
from tooltrace.store.sandbox.limits import SandboxLimits

__all__ = ["FileForm", "Sandbox", "SandboxFile", "SandboxLimits"]
