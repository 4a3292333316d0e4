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

from ahocorasick import Automaton

from tooltrace.redact.secret_forms import FORMS, Form
from tooltrace.redact.secret_names import NAME_OF, strength_of
from tooltrace.redact.secret_values import Span, compared_before, is_secret_value, may_have_value, value_after
from tooltrace.redact.texts import MASK, fold

__all__ = ["is_secret_value", "masked", "may_have_secret", "secrets_in", "strength_of"]

_HIDDEN = re.compile(r"\\u(?:00[2-7]|01(?:7f|3[01])|212a)", re.IGNORECASE)
"""An escape of JSON that may represent a character of a literal."""


class _Literal(NamedTuple):
    """What a literal may be the beginning of."""

    length: int
    is_name: bool
    forms: tuple[Form, ...]


@cache
def _literals() -> Automaton:
    """Return the automaton that finds the literals in a text, overlapping ones too, with the position of the last character.

    It reads a text once for all literals. It keeps Python's lock: a thread that waits for the lock in a library of Rust or
    C++ while the interpreter ends would abort the process.
    """
    forms: dict[str, list[Form]] = defaultdict(list)
    for form in FORMS:
        for literal in form.literals:
            forms[literal].append(form)
    automaton = Automaton()
    for text in {*forms, *NAME_OF}:
        automaton.add_word(text, _Literal(len(text), text in NAME_OF, tuple(forms.get(text, ()))))
    automaton.make_automaton()
    return automaton


def secrets_in(text: str) -> Iterator[Span]:
    """Yield the positions of the secrets in ``text``; they may overlap.

    What a form or a name has matched is not searched again for the same form, or for a name: that would be quadratic.
    """
    low = fold(text)
    named = 0
    matched: dict[Form, int] = {}
    for last, (length, is_name, forms) in _literals().iter(low):
        start, end = last + 1 - length, last + 1
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
    low = fold(text)
    for last, (length, is_name, forms) in _literals().iter(low):
        start, end = last + 1 - length, last + 1
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
