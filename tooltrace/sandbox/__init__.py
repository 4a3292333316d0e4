"""SQL from somebody else: one question, read-only, in a process of its own with limits."""

from tooltrace.sandbox.limits import Limits
from tooltrace.sandbox.process import Asked, FileForm, Sandbox, Written

__all__ = ["Asked", "FileForm", "Limits", "Sandbox", "Written"]
