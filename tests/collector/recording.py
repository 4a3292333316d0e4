"""``recording.py STORE``: an application that has set up nothing but tooltrace.

Each line on its input is a number of calls to make, and how many characters each gives; it answers with a line when
they are made. It ends with its input.
"""

from __future__ import annotations

import sys
from itertools import count

import tooltrace as tt

numbers = count()


@tt.trace_tool
def double(number: int, text: str, more: str) -> tt.ToolResponse:
    if number % 10 == 9:
        return tt.ToolResponse.error(tt.ToolErrorCode.TIMEOUT, f"{number} took too long", retryable=True)
    if number % 10 == 8:
        raise LookupError(f"no {number}")
    return tt.ToolResponse.success(
        text * 2, {"doubled": number * 2, "text": text, "more": more}, confidence=number % 7 / 7
    )


def main(store: str) -> None:
    tt.configure(store=store)
    for line in sys.stdin:
        calls, characters = map(int, line.split())
        for _ in range(calls):
            number = next(numbers)
            with tt.context(call_id=f"call_{number}"):
                try:
                    double(number, 'ünï\n\t"quoted" 文', "m" * characters)
                except LookupError:
                    tt.label(call_id=f"call_{number}", correct=False, reason="it is there")
        tt.flush()
        print("made", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
