"""Choice of a reader's language."""

from __future__ import annotations

from starlette.requests import Request

from tooltrace.report.i18n import DEFAULT, LANGUAGES

COOKIE = "tooltrace_lang"


def language_of(request: Request) -> str:
    """Return the language of the address, else of the cookie, else of the browser."""
    for asked in (request.query_params.get("lang"), request.cookies.get(COOKIE)):
        if asked in LANGUAGES:
            return str(asked)
    return preferred(request.headers.get("accept-language", ""))


def preferred(header: str) -> str:
    """Return the known language with the highest weight in an ``Accept-Language`` header."""
    wanted: list[tuple[float, str]] = []
    for part in header.split(","):
        tag, _, weight = part.partition(";q=")
        try:
            wanted.append((float(weight or 1), tag.strip().lower().split("-")[0]))
        except ValueError:
            continue
    known = [tag for weight, tag in sorted(wanted, key=lambda pair: -pair[0]) if tag in LANGUAGES and weight > 0]
    return known[0] if known else DEFAULT
