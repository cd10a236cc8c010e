"""Reads the submitted forms of the pages, and says what is wrong with them: with all of their fields at once."""

from collections.abc import Callable, Mapping, Sequence

from fastapi import HTTPException, Request
from starlette.types import Message, Receive

from app.i18n.messages import Joined, gettext_noop
from app.i18n.translation import translation_for
from app.rules.refusal import RefusalError
from app.web.dashboard.staff import Staff, http_error

MAX_BYTES = 1024 * 1024
"""The limit of a whole form. The largest forms are split rules, which name each sub-merchant."""

_MOST_FIELDS = 1000
_TOO_LARGE = gettext_noop("The submitted form is too large. Nothing was changed.")


class InvalidFieldsError(Exception):
    """A form is invalid; ``fields`` are its invalid fields, each with the message to show beside it."""

    def __init__(self, fields: Mapping[str, str]) -> None:
        super().__init__(", ".join(fields))
        self.fields = dict(fields)


def refused_form_error(
    staff: Staff, refusal: RefusalError, field_of: Callable[[RefusalError], str | None]
) -> HTTPException:
    """Return the error for a form whose request was refused, with each reason beside its field.

    ``field_of`` returns the name of the field that a reason concerns, None if there is none.
    """
    fields: dict[str, str] = {}
    messages: dict[str, None] = {}
    for reason in refusal.reasons or (refusal,):
        message = reason.shopper_message or reason.message
        name = field_of(reason)
        if name is None or name not in fields:  # one reason for each field is enough
            messages[message] = None
        if name is not None:
            fields.setdefault(name, message)
    return http_error(422, refusal.code, staff.translation, Joined(tuple(messages), by=" "), fields=fields)


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
