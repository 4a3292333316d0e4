"""Which language a reader wants."""

from __future__ import annotations

from starlette.requests import Request

from tooltrace.report.i18n import DEFAULT, LANGUAGES

COOKIE = "tooltrace_lang"


def language_of(request: Request) -> str:
    """What the address says, else what it said before, else what the browser prefers."""
    for asked in (request.query_params.get("lang"), request.cookies.get(COOKIE)):
        if asked in LANGUAGES:
            return str(asked)
    return preferred(request.headers.get("accept-language", ""))


def preferred(header: str) -> str:
    """The first known language of an ``Accept-Language`` header, the one with the highest weight first."""
    wanted: list[tuple[float, str]] = []
    for part in header.split(","):
        tag, _, weight = part.partition(";q=")
        try:
            wanted.append((float(weight or 1), tag.strip().lower().split("-")[0]))
        except ValueError:
            continue
    known = [tag for weight, tag in sorted(wanted, key=lambda pair: -pair[0]) if tag in LANGUAGES and weight > 0]
    return known[0] if known else DEFAULT
