"""Who asks? Every part of a page is for one member of one store's staff, as Saleor's token says."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated

from fastapi import Depends, HTTPException, Request

from app.db.installations import OpenInstallation
from app.i18n.messages import Joined, LazyMessage, gettext_noop
from app.i18n.translation import Translation, translation_for
from app.saleor.dashboard_token import DashboardTokens
from app.saleor.errors import RequestRefusedError

HANDLE_PAYMENTS = "HANDLE_PAYMENTS"
MANAGE_APPS = "MANAGE_APPS"
_BEARER = "Bearer "
_REASONS = {
    "EXPIRED_TOKEN": gettext_noop("This page has been open for too long: reload it in the Saleor Dashboard."),
    "BAD_TOKEN": gettext_noop(
        "The app does not know this Saleor. Reload the page; if that does not help, install the app again."
    ),
}
_NOT_PERMITTED = {
    (HANDLE_PAYMENTS,): gettext_noop("To see payments you need the permission “Handle payments” in Saleor."),
    (HANDLE_PAYMENTS, MANAGE_APPS): gettext_noop(
        "To set the app up you need the permissions “Handle payments” and “Manage apps” in Saleor."
    ),
}
_NOT_KNOWN = gettext_noop("The app cannot tell who you are. Reload the page in the Saleor Dashboard.")


@dataclass(frozen=True, slots=True)
class Staff:
    """Somebody of a store's staff. What they are shown is their installation's, and nothing else's.

    ``id`` is Saleor's name of the person, ``permissions`` are those in Saleor. ``email`` is in no log; ``open_tasks``
    is how many things need somebody of that store.
    """

    installation: OpenInstallation
    id: str
    email: str
    permissions: frozenset[str]
    translation: Translation
    open_tasks: int = 0

    @property
    def name(self) -> str:
        """What others know the person by in the history of a payment: the e-mail address, if Saleor says it."""
        return self.email or self.id


Guard = Callable[[Request], Awaitable[None]]


def guard(
    tokens: DashboardTokens, *permissions: str, counting: Callable[[OpenInstallation], Awaitable[int]] | None = None
) -> Guard:
    """Return the dependency that lets only staff with all ``permissions`` in; others get 401 or 403 and a reason.

    ``counting`` tells how many things need somebody of a store.
    """

    async def let_in(request: Request) -> None:
        language = translation_for(request.headers.get("accept-language", ""))
        said = request.headers.get("authorization", "")
        token = said.removeprefix(_BEARER) if said.startswith(_BEARER) else ""
        saleor = request.headers.get("saleor-api-url", "")
        staff = await who_asks(tokens, saleor, token, language, *permissions)
        if counting is not None:
            staff = replace(staff, open_tasks=await counting(staff.installation))
        request.state.staff = staff

    return let_in


async def who_asks(
    tokens: DashboardTokens, saleor_api_url: str, token: str, language: Translation, *permissions: str
) -> Staff:
    """Return whose token it is, if they have all ``permissions``. Raises HTTPException, in words in their language."""
    try:
        user = await tokens.check(saleor_api_url, token, *permissions)
    except RequestRefusedError as refusal:
        reasons = _REASONS | {"NOT_PERMITTED": _NOT_PERMITTED[permissions]}
        raise refused(refusal.status, refusal.code, language, reasons.get(refusal.code, _NOT_KNOWN)) from refusal
    if not isinstance(user.installation, OpenInstallation):
        raise TypeError("installations come from the database")
    return Staff(user.installation, user.id, user.email, user.permissions, language)


def _let_in(request: Request) -> Staff:
    staff = request.state.staff
    assert isinstance(staff, Staff)  # noqa: S101 - without the guard there is nobody, and an error
    return staff


AnyStaff = Annotated[Staff, Depends(_let_in)]
"""The member of staff whom the guard let in."""


def refused(
    status: int,
    code: str,
    language: Translation,
    message: str | Joined,
    *,
    fields: Mapping[str, str] | None = None,
) -> HTTPException:
    """Return what is raised instead of a part: one word for machines, and words for people, in their language.

    ``fields`` are the fields of a form that are not right, each with what is said beside it.
    """
    detail: dict[str, object] = {"code": code, "message": _said(language, message)}
    if fields:
        detail["fields"] = {name: _said(language, words) for name, words in fields.items()}
    return HTTPException(status, detail)


def _said(language: Translation, message: str | Joined) -> str:
    return language.say(message) if isinstance(message, LazyMessage | Joined) else language.gettext(message)
