"""Accounts are added and changed. What the gateway must agree to is tried out before it is kept."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import timedelta
from typing import Any
from uuid import UUID

from app.db.accounts import GRACE, AccountError, AccountKeys, NewAccount
from app.db.tables import MerchantAccount
from app.gateway.credentials import Credentials
from app.payments.accounts.areas import WALLETS, AreaFinding, try_wallet
from app.payments.accounts.check import Wrong, try_out
from app.payments.accounts.options import DEFAULT_CURRENCIES
from app.payments.accounts.places import Place, credentials
from app.payments.services import Services

LONGEST_GRACE = timedelta(days=30)
NEEDED = ("api_key", "api_secret", "endpoints_key")
"""The keys that every account has, by their names in ``AccountKeys``."""


class NameTakenError(AccountError):
    """Another account of the same Saleor has that name."""

    def __init__(self, other: MerchantAccount) -> None:
        super().__init__(f"this Saleor has a merchant account {other.name!r} already ({other.id})")
        self.other = other


class NotTakenError(AccountError):
    """The gateway does not take these keys, or is not there: nothing was kept."""

    def __init__(self, wrong: Wrong) -> None:
        super().__init__(str(wrong))
        self.wrong = wrong


class WalletNotTakenError(AccountError):
    """The gateway does not let this account use a wallet that was to be switched on: nothing was kept.

    ``option`` is the one that switches it on.
    """

    def __init__(self, option: str, finding: AreaFinding) -> None:
        super().__init__(f"{finding.area}: {finding.why}")
        self.option = option
        self.finding = finding


class KeysNeededError(AccountError):
    """An address of the account is to change, and not all of its keys were given anew: nothing was sent or changed.

    Whoever may change an account need not know its keys, and must not make the app send them where they like.
    ``missing`` are names in ``AccountKeys``.
    """

    def __init__(self, missing: tuple[str, ...]) -> None:
        super().__init__("with another address, all keys of the account must be given again")
        self.missing = missing


@dataclass(frozen=True, slots=True)
class Change:
    """What is to become of an account. ``columns`` are of its row; ``place`` None: the gateway stays where it is.

    ``keys`` are new secrets by their names in ``AccountKeys``. For ``grace`` a replaced API secret still verifies
    notifications.
    """

    columns: Mapping[str, object] = field(default_factory=dict)
    place: Place | None = None
    keys: Mapping[str, str] = field(default_factory=dict)
    grace: timedelta = GRACE


async def require_free_name(services: Services, installation_id: int, name: object, *, but: str | None = None) -> None:
    """Raise NameTakenError when an account of that Saleor, ``but`` the one with that id, has the name already."""
    for other in await services.accounts.all(installation_id):
        if isinstance(name, str) and other.name.casefold() == name.casefold() and other.id != but:
            raise NameTakenError(other)


def new_account(
    installation_id: int, pos_id: str, place: Place, keys: AccountKeys, columns: Mapping[str, object]
) -> NewAccount:
    """Return an account that can be kept; it is called as its gateway unless ``columns`` name it.

    Raises OptionsRefusedError for credentials that cannot work anywhere.
    """
    there = place.with_areas(columns)
    checked = credentials(pos_id, there, keys)
    usual = {"name": place.name, "currencies": list(DEFAULT_CURRENCIES), "storefront_origins": []}
    kept: dict[str, Any] = usual | dict(columns) | there.columns | {"base_url": checked.base_url}
    own = {each.name for each in fields(NewAccount)}
    return NewAccount(
        installation_id=installation_id,
        pos_id=str(UUID(checked.pos_id)),
        keys=keys,
        options={name: value for name, value in kept.items() if name not in own},
        **{name: value for name, value in kept.items() if name in own},
    )


async def add_account(services: Services, new: NewAccount) -> MerchantAccount:
    """Keep an account that the gateway takes. Raises NameTakenError and NotTakenError: then nothing is kept."""
    await require_free_name(services, new.installation_id, new.name)
    await _try_out(services, credentials(new.pos_id, Place(new.name, new.base_url, new.scheme_word), new.keys))
    return await services.accounts.add(new)


async def change_account(services: Services, row: MerchantAccount, change: Change, *, tried: bool) -> MerchantAccount:
    """Change an account in one step; new keys, a new address and wallets that are switched on are ``tried`` out before.

    Raises KeysNeededError, NameTakenError, NotTakenError, WalletNotTakenError and OptionsRefusedError: then nothing is
    changed.
    """
    columns, keys = dict(change.columns), dict(change.keys)
    require_keys(row, change)
    await require_free_name(services, row.installation_id, columns.get("name"), but=row.id)
    if change.place is not None or change.keys:
        place = (change.place or Place.of(row)).with_areas(columns)
        present = services.accounts.keys(row)
        checked = credentials(row.pos_id, place, replace(present, **change.keys))
        columns |= place.columns | {"base_url": checked.base_url}
        if tried:
            await _try_out(services, checked)
        # One that was given again, and is the same, is not replaced: the present secret goes on without an end.
        keys = {name: key for name, key in change.keys.items() if key != getattr(present, name)}
    elif tried:
        await _try_wallets(services, row, columns)
    return await services.accounts.change_keys(row.id, **keys, grace=change.grace, columns=columns)


def changes_address(row: MerchantAccount, change: Change) -> bool:
    """Return True when keys of the account would be sent where they have not been sent before."""
    present = Place.of(row)
    wanted = (change.place or present).with_areas(change.columns)
    if wanted.base_url != present.base_url:
        return True
    # Where payments are made all keys are known; anywhere else is another address.
    areas = ((wanted.balances_url, present.balances_url), (wanted.register_url, present.register_url))
    return any(to not in (None, before, present.base_url) for to, before in areas)


def require_keys(row: MerchantAccount, change: Change) -> None:
    """Raise KeysNeededError when an address is to change without all keys."""
    missing = tuple(name for name in NEEDED if not change.keys.get(name))
    if missing and changes_address(row, change):
        raise KeysNeededError(missing)


async def _try_wallets(services: Services, row: MerchantAccount, columns: Mapping[str, object]) -> None:
    for option, area in WALLETS.items():
        if columns.get(option) and not getattr(row, option):
            finding = await try_wallet(services.gateways.client(row), area, row)
            if not finding.works:
                raise WalletNotTakenError(option, finding)


async def _try_out(services: Services, untried: Credentials) -> None:
    wrong = await try_out(services.gateways.trial(untried), untried.base_url)
    if wrong is not None:
        raise NotTakenError(wrong)
