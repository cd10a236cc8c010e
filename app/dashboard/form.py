"""What somebody filled into a form of a page."""

from collections.abc import Sequence

from fastapi import Request

_MOST_FIELDS = 1000


async def fields_of(request: Request) -> Sequence[tuple[str, str]]:
    """Return the fields of a form, in its order."""
    async with request.form(max_files=0, max_fields=_MOST_FIELDS) as form:
        return [(name, text) for name, text in form.multi_items() if isinstance(text, str)]
