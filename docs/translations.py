"""List the texts that a translation lacks: ``python -m docs.translations``, part of ``make docs``.

Pages and reports show the English text in their place.
"""

from __future__ import annotations

import click

from tooltrace.analysis import catalogue
from tooltrace.wording.i18n import DEFAULT, LANGUAGES, table


def missing(language: str) -> list[str]:
    """Return the keys of all English texts, questions and verdicts of queries that ``language`` lacks."""
    if language == DEFAULT:
        return []
    translated = {**table(language), **table(f"{language}.queries")}
    wanted = [*table(DEFAULT)]
    for name, query in catalogue().items():
        wanted.append(f"question.{name}")
        wanted += [f"about.{name}"] * bool(query.header.about) + [f"verdict.{name}"] * bool(query.header.verdict)
        wanted += [f"also.{name}"] * bool(query.header.also)
    return [key for key in wanted if key not in translated]


if __name__ == "__main__":
    for language in LANGUAGES:
        for key in missing(language):
            click.echo(f"{language}: no text for {key}")
