"""The search for secrets in a text, in time linear in its length.

One pass finds the literals of all forms and names. At each, the pattern of its form, or of a value after a name, decides.
docs/explanation/redaction.md gives the reasons.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from tooltrace.redact.literal_positions import Search, literal_positions
from tooltrace.redact.secret_forms import FORMS, Form
from tooltrace.redact.secret_names import NAME_OF, strength_of
from tooltrace.redact.secret_values import Span, compared_before, is_secret_value, may_have_value, value_after
from tooltrace.redact.texts import MASK, fold

__all__ = ["is_secret_value", "masked", "may_have_secret", "secrets_in", "strength_of"]

_HIDDEN = re.compile(r"\\u(?:00[2-7]|01(?:7f|3[01])|212a)", re.IGNORECASE)
"""An escape of JSON that may represent a character of a literal."""


class _Literal(NamedTuple):
    """What a literal may be the beginning of."""

    is_name: bool
    forms: tuple[Form, ...]


@cache
def _tables() -> tuple[Search, tuple[_Literal, ...]]:
    """Return the search for all literals, and what each of them may begin."""
    forms: dict[str, list[Form]] = defaultdict(list)
    for form in FORMS:
        for literal in form.literals:
            forms[literal].append(form)
    literals = sorted({*forms, *NAME_OF})
    return literal_positions(literals), tuple(
        [_Literal(text in NAME_OF, tuple(forms.get(text, ()))) for text in literals]
    )


def secrets_in(text: str) -> Iterator[Span]:
    """Yield the positions of the secrets in ``text``; they may overlap.

    What a form or a name has matched is not searched again for the same form, or for a name: that would be quadratic.
    """
    search, literals = _tables()
    low = fold(text)
    named = 0
    matched: dict[Form, int] = {}
    for number, start, end in search(low):
        is_name, forms = literals[number]
        for form in forms:
            if start >= matched.get(form, 0) and (span := form.find(text, start)) is not None:
                matched[form] = span[1]
                yield span
        if is_name and end + 1 >= named:
            for span in (value_after(text, low, start, end), compared_before(text, low, start, end)):
                if span is not None:
                    named = max(named, span[1])
                    yield span


def may_have_secret(text: str) -> bool:
    """Whether ``text`` may contain a secret, also one that is seen only when ``text`` is parsed as JSON."""
    if "\\u" in text and _HIDDEN.search(text):  # ``pass\u0077ord`` is "password" once the JSON is parsed
        return True
    search, literals = _tables()
    low = fold(text)
    for number, start, end in search(low):
        is_name, forms = literals[number]
        if is_name and may_have_value(text, low, start, end):
            return True
        if any(form.find(text, start) is not None for form in forms):
            return True
    return False


def masked(text: str) -> str:
    """Return ``text`` with each secret replaced by the mask."""
    spans = sorted(secrets_in(text))
    if not spans:
        return text
    pieces: list[str] = []
    done = 0
    for start, end in spans:
        if start >= done:
            pieces += (text[done:start], MASK)
        done = max(done, end)
    return "".join(pieces) + text[done:]
