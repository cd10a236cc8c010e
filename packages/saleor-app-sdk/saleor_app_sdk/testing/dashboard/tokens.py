"""The tokens that the Dashboard sends to an app's page (Saleor contract, B.2.7)."""

import secrets
from typing import Any

from saleor_app_sdk.testing.records import App, Member
from saleor_app_sdk.testing.saleor_state import SaleorState


def access_token(state: SaleorState, app: App, member: Member, extension: str | None = None) -> str:
    """Return a new ``app.accessToken`` for a member of staff: their identity and permissions.

    ``extension`` is the id of one of the app's extensions; the token then names it.
    """
    issued = int(state.event_clock.now().timestamp())
    claims: dict[str, Any] = {
        "iat": issued,
        "exp": issued + state.settings.token_lifetime,
        "owner": "saleor",
        "iss": state.settings.api_url,
        "type": "thirdparty",
        "token": secrets.token_urlsafe(9),
        "email": member.email,
        "user_id": member.id,
        "is_staff": True,
        "app": app.id,
        "permissions": sorted({*app.permissions} & {*member.permissions}),
        "user_permissions": sorted(member.permissions),
    }
    return state.key.token(claims if extension is None else claims | {"app_extension": extension})
