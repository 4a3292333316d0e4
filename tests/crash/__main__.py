"""Cut the power of a simulated disk at random system calls for a chosen time: ``python -m tests.crash --minutes 5``.

Needs strace. Prints how many states were opened. Exits with 1 where a promise was broken: the seed repeats the choices.
"""

from __future__ import annotations

import argparse
import logging
import random
import sys
import time

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.errors import FlakyStrategyDefinition
from hypothesis.stateful import run_state_machine_as_test

from tests.crash.history import total
from tests.crash.machine import Deliveries, PowerCuts

STEPS = 15
"""Maximum steps of one history."""
HISTORIES = 3
"""Histories of one seed and machine. The first is the simplest one."""


def main() -> int:
    parser = argparse.ArgumentParser(description="Cut the power of a simulated disk at random system calls.")
    parser.add_argument("--minutes", type=float, default=5, help="time to run (default: 5)")
    parser.add_argument(
        "--seed", type=int, default=None, help="seed of the first histories; without it, a new one each time"
    )
    options = parser.parse_args()
    logging.getLogger("tooltrace").setLevel(logging.ERROR)  # warnings about damage are expected here
    number = random.SystemRandom().randrange(10**6) if options.seed is None else options.seed
    ends = time.monotonic() + 60 * options.minutes
    while True:
        run(number)
        number += 1
        if time.monotonic() > ends:
            break
    print(
        f"{total.histories} histories of {total.steps} steps, {total.states} states after a loss of power were opened and checked"
    )
    return 0


def run(number: int) -> None:
    """Run the histories of one seed: of a store, and of a store with a destination. Raises AssertionError."""
    history = settings(
        max_examples=HISTORIES, stateful_step_count=STEPS, deadline=None, database=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    try:
        for machine in (PowerCuts, Deliveries):
            run_state_machine_as_test(seed(number)(machine), settings=history)
    except FlakyStrategyDefinition:
        # the system calls of a real program differ from run to run, and with them what a history allows next
        print(f"seed {number}: ended early, because a history could not be repeated")
    except BaseException:
        print(f"seed {number}", file=sys.stderr)
        raise


if __name__ == "__main__":
    sys.exit(main())
