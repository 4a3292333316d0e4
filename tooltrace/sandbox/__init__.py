"""SQL from somebody else: one question, read-only, in a process of its own with limits."""

from tooltrace.sandbox.limits import Limits
from tooltrace.sandbox.process import FileForm, Sandbox, Written

__all__ = ["FileForm", "Limits", "Sandbox", "Written"]
