"""What HTTP and gRPC share: who may come in, and what becomes of it."""

from __future__ import annotations

from tooltrace.server.receiver.admission import Admission
from tooltrace.server.receiver.intake import Intake
from tooltrace.server.receiver.limits import Limits
from tooltrace.settings import Settings


class Receiver:
    """Receives into the store of ``settings``, within ``limits``; for one event loop."""

    def __init__(self, settings: Settings, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self.admission = Admission(self.limits)
        self.intake = Intake(settings, self.limits)

    def end(self) -> None:
        """Take nothing more; what is not yet acknowledged will not be, but for what is just being written."""
        self.admission.end()
        self.intake.end()

    def close(self) -> None:
        """Give the journal up, after what is just being written."""
        self.intake.close()
