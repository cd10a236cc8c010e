"""What somebody filled into a form of a page."""

from collections.abc import Sequence

from fastapi import Request
from starlette.types import Message, Receive

from app.dashboard.staff import refused
from app.i18n.messages import gettext_noop
from app.i18n.translation import translation_for

MOST_BYTES = 1024 * 1024
"""Of a whole form. The largest are rules of a split, which name each sub-merchant."""

_MOST_FIELDS = 1000
_TOO_LARGE = gettext_noop("This is more than the form takes. Nothing was changed.")


async def fields_of(request: Request) -> Sequence[tuple[str, str]]:
    """Return the fields of a form, in its order. Raises HTTPException 413 for what is too large."""
    bounded = Request(request.scope, _at_most(MOST_BYTES, request))
    async with bounded.form(max_files=0, max_fields=_MOST_FIELDS) as form:
        return [(name, text) for name, text in form.multi_items() if isinstance(text, str)]


def _at_most(limit: int, request: Request) -> Receive:
    """Return what receives the body of a request, up to so many bytes: only each field has a limit otherwise."""
    received = 0

    async def receive() -> Message:
        nonlocal received
        message = await request.receive()
        received += len(message.get("body", b""))
        if received > limit:
            language = translation_for(request.headers.get("accept-language", ""))
            raise refused(413, "TOO_LARGE", language, _TOO_LARGE)
        return message

    return receive
