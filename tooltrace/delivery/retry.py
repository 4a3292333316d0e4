"""Retries of a batch: random exponential backoff, without limit by default, respecting Retry-After."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from threading import Event
from typing import Final

from tenacity import RetryCallState, Retrying, retry_if_exception_type, sleep_using_event
from tenacity.wait import wait_random_exponential

from tooltrace.delivery.batch import DeliveryBatch
from tooltrace.exporters.protocol import Unavailable

MAX_RETRY_AFTER_SECONDS: Final = 3600.0
"""Maximum wait in seconds, whatever Retry-After requests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """Waiting times of retries, in seconds."""

    first: float = 1.0
    """Maximum wait after the first failure; the maximum doubles after each further one.

    Each wait is a random part of it.
    """
    longest: float = 60.0
    gather: float = 300.0
    """Seconds after which an untouched batch is built anew, with the records that arrived since."""
    give_up: float | None = None
    """Seconds after which a batch is given up for now; None: never."""


class RetryLoop:
    """A loop that sends a batch until it succeeds. ``stop`` ends the loop after the running attempt.

    ``on_failure`` is called with the reason of each wait.
    """

    def __init__(self, stop: Event, policy: RetryPolicy, on_failure: Callable[[Unavailable], None]) -> None:
        self._stop = stop
        self._policy = policy
        self._on_failure = on_failure
        self.is_unavailable = False
        """Whether the last attempt to send failed."""

    def run(self, batch: DeliveryBatch) -> bool:
        """Send ``batch`` with retries; False if the records should go in a new, larger batch instead.

        Raises Unavailable if the destination did not accept it, and ``stop`` is set or the time limit is reached.
        """
        try:
            Retrying(
                retry=retry_if_exception_type(Unavailable),
                wait=self._wait,
                stop=lambda state: self._stop.is_set() or self._is_enough(batch, state),
                sleep=sleep_using_event(self._stop),
                reraise=True,
            )(self._try, batch)
        except Unavailable:
            if self._stop.is_set() or self._policy.give_up is not None:
                raise
            return False
        return True

    def _try(self, batch: DeliveryBatch) -> None:
        # woken up by ``stop``, not for another attempt
        if self.is_unavailable and self._stop.is_set():
            raise Unavailable("the delivery is ending")
        try:
            batch.send()
        except Unavailable as error:
            self.is_unavailable = True
            self._on_failure(error)
            raise
        self.is_unavailable = False

    def _wait(self, state: RetryCallState) -> float:
        wait = wait_random_exponential(multiplier=self._policy.first, max=self._policy.longest)(state)
        error = state.outcome and state.outcome.exception()
        requested = error.retry_after if isinstance(error, Unavailable) else None
        return wait if requested is None else max(wait, min(requested, MAX_RETRY_AFTER_SECONDS))

    def _is_enough(self, batch: DeliveryBatch, state: RetryCallState) -> bool:
        seconds = state.seconds_since_start or 0.0
        if self._policy.give_up is not None:
            return seconds > self._policy.give_up
        # a batch of which a part was accepted must be repeated as it is
        return batch.is_untouched and seconds > self._policy.gather
