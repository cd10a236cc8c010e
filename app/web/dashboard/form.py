"""Reads the submitted forms of the pages."""

from collections.abc import Sequence

from fastapi import Request
from starlette.types import Message, Receive

from app.i18n.messages import gettext_noop
from app.i18n.translation import translation_for
from app.web.dashboard.staff import http_error

MAX_BYTES = 1024 * 1024
"""The limit of a whole form. The largest forms are split rules, which name each sub-merchant."""

_MOST_FIELDS = 1000
_TOO_LARGE = gettext_noop("The submitted form is too large. Nothing was changed.")


async def read_form_fields(request: Request) -> Sequence[tuple[str, str]]:
    """Return the fields of a form, in its order. Raises HTTPException 413 when the form is too large."""
    bounded = Request(request.scope, _limit_body(MAX_BYTES, request))
    async with bounded.form(max_files=0, max_fields=_MOST_FIELDS) as form:
        return [(name, text) for name, text in form.multi_items() if isinstance(text, str)]


def _limit_body(limit: int, request: Request) -> Receive:
    """Return a receiver of the request's body that accepts at most ``limit`` bytes; by default only fields are limited.

    It raises HTTPException 413 beyond that.
    """
    received = 0

    async def receive() -> Message:
        nonlocal received
        message = await request.receive()
        received += len(message.get("body", b""))
        if received > limit:
            language = translation_for(request.headers.get("accept-language", ""))
            raise http_error(413, "TOO_LARGE", language, _TOO_LARGE)
        return message

    return receive
