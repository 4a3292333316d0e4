"""Parser for the fields of an HTML form."""

from __future__ import annotations

from urllib.parse import parse_qsl

from starlette.exceptions import HTTPException
from starlette.requests import Request


async def read_form(request: Request, most_bytes: int) -> dict[str, str]:
    """Return the fields by name. Raises HTTPException for an invalid form or one above ``most_bytes``."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > most_bytes:
            raise HTTPException(413, "the form is too long; nothing was recorded or asked")
    try:
        return dict(parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=20))
    except ValueError:
        raise HTTPException(400, "this is no form; nothing was recorded or asked") from None
