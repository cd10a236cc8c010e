"""Authenticates staff: every part of a page is for one member of one store's staff, identified by Saleor's token."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, HTTPException, Request

from app.i18n.messages import Joined, LazyMessage, gettext_noop
from app.i18n.translation import Translation, translation_for
from app.store.installations import OpenInstallation
from saleor_app_sdk.dashboard_token import DashboardTokens
from saleor_app_sdk.errors import RequestRefusedError

HANDLE_PAYMENTS = "HANDLE_PAYMENTS"
MANAGE_APPS = "MANAGE_APPS"
_BEARER = "Bearer "
_REASONS = {
    "EXPIRED_TOKEN": gettext_noop("This page has been open for too long: reload it in the Saleor Dashboard."),
    "BAD_TOKEN": gettext_noop(
        "The app does not recognize this Saleor. Reload the page; if that does not help, reinstall the app."
    ),
}
_NOT_PERMITTED = {
    (HANDLE_PAYMENTS,): gettext_noop("To view payments, you need the permission “Handle payments” in Saleor."),
    (HANDLE_PAYMENTS, MANAGE_APPS): gettext_noop(
        "To set up the app, you need the permissions “Handle payments” and “Manage apps” in Saleor."
    ),
}
_NOT_KNOWN = gettext_noop("The app cannot tell who you are. Reload the page in the Saleor Dashboard.")


@dataclass(frozen=True, slots=True)
class Staff:
    """A member of a store's staff, who sees only the data of their own installation.

    ``id`` is Saleor's id of the person, ``permissions`` are those in Saleor. ``email`` is never logged.
    """

    installation: OpenInstallation
    id: str
    email: str
    permissions: frozenset[str]
    translation: Translation

    @property
    def name(self) -> str:
        """The name of the person in a payment's history: the e-mail address, or the id if Saleor states no address."""
        return self.email or self.id


Guard = Callable[[Request], Awaitable[None]]


def guard(tokens: DashboardTokens, *permissions: str) -> Guard:
    """Return the dependency that admits only staff with all ``permissions``; others get 401 or 403 and a reason."""

    async def authenticate(request: Request) -> None:
        language = translation_for(request.headers.get("accept-language", ""))
        header = request.headers.get("authorization", "")
        token = header.removeprefix(_BEARER) if header.startswith(_BEARER) else ""
        saleor = request.headers.get("saleor-api-url", "")
        request.state.staff = await authenticate_staff(tokens, saleor, token, language, *permissions)

    return authenticate


async def authenticate_staff(
    tokens: DashboardTokens, saleor_api_url: str, token: str, language: Translation, *permissions: str
) -> Staff:
    """Return the owner of the token, if they have all ``permissions``.

    Raises HTTPException, with a message in their language.
    """
    try:
        user = await tokens.check(saleor_api_url, token, *permissions)
    except RequestRefusedError as refusal:
        reasons = _REASONS | {"NOT_PERMITTED": _NOT_PERMITTED[permissions]}
        raise http_error(refusal.status, refusal.code, language, reasons.get(refusal.code, _NOT_KNOWN)) from refusal
    if not isinstance(user.installation, OpenInstallation):
        raise TypeError("installations come from the database")
    return Staff(user.installation, user.id, user.email, user.permissions, language)


def _authenticated_staff(request: Request) -> Staff:
    staff = request.state.staff
    assert isinstance(staff, Staff)  # noqa: S101 - set by the guard; without it this fails
    return staff


AnyStaff = Annotated[Staff, Depends(_authenticated_staff)]
"""The member of staff whom the guard admitted."""


def http_error(
    status: int,
    code: str,
    language: Translation,
    message: str | Joined,
    *,
    fields: Mapping[str, str] | None = None,
) -> HTTPException:
    """Return the error to raise instead of a part: a code for machines, and a message for people, in their language.

    ``fields`` are the invalid fields of a form, each with the message to show beside it.
    """
    detail: dict[str, object] = {"code": code, "message": _translate(language, message)}
    if fields:
        detail["fields"] = {name: _translate(language, text) for name, text in fields.items()}
    return HTTPException(status, detail)


def _translate(language: Translation, message: str | Joined) -> str:
    return language.plain_text(message) if isinstance(message, LazyMessage | Joined) else language.gettext(message)
