"""The API secrets of an account that were replaced: each verifies notifications until its own grace ends.

The newest is in columns of its own, as before there could be several: the version before verifies with it. The others
are one sealed list.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime

from app.store.tables import MerchantAccount
from app.store.vault import Vault, VaultError

NONE_REPLACED: Mapping[str, None] = {
    "previous_api_secret_sealed": None,
    "previous_api_secret_until": None,
    "older_api_secrets_sealed": None,
    "older_api_secrets_until": None,
}
"""The columns of an account none of whose replaced secrets verifies anything."""

OLDER = "older_api_secrets"


def place_of(name: str, account_id: str) -> str:
    """Return the place that a sealed value of an account is bound to."""
    return f"account/{account_id}/{name}"


def previous_secret(vault: Vault, account: MerchantAccount, now: datetime) -> str | None:
    """Return the secret that was replaced last; None once its grace has ended. Raises VaultError."""
    sealed, until = account.previous_api_secret_sealed, account.previous_api_secret_until
    is_valid = sealed is not None and until is not None and now < until
    return vault.open(sealed, place_of("api_secret", account.id)) if is_valid and sealed is not None else None


def older_secrets(vault: Vault, account: MerchantAccount, now: datetime) -> list[tuple[str, datetime]]:
    """Return those replaced before that one, during their grace, with its end; newest first. Raises VaultError."""
    sealed, until = account.older_api_secrets_sealed, account.older_api_secrets_until
    if sealed is None or until is None or now >= until:
        return []
    stored = json.loads(vault.open(sealed, place_of(OLDER, account.id)))
    older = [(secret, datetime.fromisoformat(end)) for secret, end in stored]
    return [(secret, end) for secret, end in older if now < end]


def keep_previous_secret(vault: Vault, account: MerchantAccount, now: datetime) -> None:
    """Move the secret that was replaced last to the older ones: another is about to take its place.

    What no key opens verifies nothing, and is not kept.
    """
    older: list[tuple[str, datetime]] = []
    with suppress(VaultError):
        older = older_secrets(vault, account, now)
    with suppress(VaultError):
        previous, until = previous_secret(vault, account, now), account.previous_api_secret_until
        if previous is not None and until is not None:
            older.insert(0, (previous, until))
    text = json.dumps([(secret, end.isoformat()) for secret, end in older])
    account.older_api_secrets_sealed = vault.seal(text, place_of(OLDER, account.id)) if older else None
    account.older_api_secrets_until = max((end for _, end in older), default=None)
