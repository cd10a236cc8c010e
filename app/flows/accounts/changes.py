"""Adds and changes accounts. Keys, addresses and wallets are checked at the gateway before they are stored."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import timedelta
from typing import Any
from uuid import UUID

from app.core.alerts import AlertKind
from app.flows.accounts.check import CheckFailure, check_credentials
from app.flows.accounts.gateway_access import WALLETS, AreaFinding, check_wallet
from app.flows.accounts.gateway_endpoint import GatewayEndpoint, build_credentials
from app.rules.accounts.options import DEFAULT_CURRENCIES
from app.rules.decisions.look_up import ExpectationChanged
from app.rules.requests.payout import currency_of
from app.services import Services
from app.store.accounts import GRACE, AccountError, AccountKeys, NameTakenError, NewAccount
from app.store.aggregates import ById
from app.store.problems import payment_ids_with_problem
from app.store.tables import MerchantAccount
from app.store.vault import VaultError
from gateway_client.credentials import Credentials
from gateway_client.dialect import DIALECTS

LONGEST_GRACE = timedelta(days=30)
REQUIRED_KEYS = ("api_key", "api_secret", "endpoints_key")
"""The keys that every account has, by their names in ``AccountKeys``."""


class AccountCheckFailedError(AccountError):
    """The gateway rejects these keys, or cannot be reached: nothing was stored."""

    def __init__(self, failure: CheckFailure) -> None:
        super().__init__(str(failure))
        self.failure = failure


class WalletNotAllowedError(AccountError):
    """The gateway does not let this account use a wallet that was to be switched on: nothing was stored.

    ``option`` is the option that switches the wallet on.
    """

    def __init__(self, option: str, finding: AreaFinding) -> None:
        super().__init__(f"{finding.area}: {finding.why}")
        self.option = option
        self.finding = finding


class KeysRequiredError(AccountError):
    """An address of the account is to change, but not all of its keys were given again: nothing was sent or changed.

    A person who may change an account need not know its keys, and must not make the app send them to an address of
    their choice. ``missing`` are names in ``AccountKeys``.
    """

    def __init__(self, missing: tuple[str, ...]) -> None:
        super().__init__("if the address changes, all keys of the account must be given again")
        self.missing = missing


@dataclass(frozen=True, slots=True)
class AccountChange:
    """A change to an account. ``columns`` are those of its row; ``endpoint`` None: the gateway stays the same.

    ``keys`` are new secrets by their names in ``AccountKeys``. For ``grace`` a replaced API secret still verifies
    notifications. ``seen`` are the columns that nobody may have changed meanwhile, as ``change_keys`` takes them.
    """

    columns: Mapping[str, object] = field(default_factory=dict)
    endpoint: GatewayEndpoint | None = None
    keys: Mapping[str, str] = field(default_factory=dict)
    grace: timedelta = GRACE
    seen: Mapping[str, str] = field(default_factory=dict)


async def require_free_name(
    services: Services, installation_id: int, name: object, *, except_id: str | None = None
) -> None:
    """Raise NameTakenError when another account of that Saleor than ``except_id`` has the name already."""
    for other in await services.accounts.all(installation_id):
        if isinstance(name, str) and other.name.casefold() == name.casefold() and other.id != except_id:
            raise NameTakenError(other)


def build_account(
    installation_id: int, pos_id: str, gateway: GatewayEndpoint, keys: AccountKeys, columns: Mapping[str, object]
) -> NewAccount:
    """Return an account that can be stored; it is named after its gateway unless ``columns`` name it.

    Raises OptionsRefusedError for credentials that cannot work anywhere.
    """
    endpoint = gateway.with_urls_from(columns)
    checked = build_credentials(pos_id, endpoint, keys)
    preset = columns.get("dialect") or gateway.dialect.value
    defaults = {
        "name": gateway.name,
        "currencies": list(DEFAULT_CURRENCIES),
        "storefront_origins": [],
        "dialect": preset,
        "order_3ds_bypass": DIALECTS[str(preset)].order_3ds_bypass.value,
    }
    values: dict[str, Any] = defaults | dict(columns) | endpoint.columns | {"base_url": checked.base_url}
    own_fields = {member.name for member in fields(NewAccount)}
    return NewAccount(
        installation_id=installation_id,
        pos_id=str(UUID(checked.pos_id)),
        keys=keys,
        options={name: value for name, value in values.items() if name not in own_fields},
        **{name: value for name, value in values.items() if name in own_fields},
    )


async def add_account(services: Services, new: NewAccount, *, verify: bool = True) -> MerchantAccount:
    """Store an account that the gateway accepts; without ``verify``, as it is.

    Return the same account that is stored already, if there is one: whoever did not get the answer sends it once more.
    Raises NameTakenError and AccountCheckFailedError: then nothing is stored.
    """
    await _find_same(services, new)
    if verify:
        endpoint = GatewayEndpoint(new.name, new.base_url, new.scheme_word)
        await _require_working_credentials(services, build_credentials(new.pos_id, endpoint, new.keys))
    try:
        return await services.accounts.add(new)
    except NameTakenError:  # the first of two was stored while the gateway was asked for the second
        same = await _find_same(services, new)
        if same is None:
            raise
        return same


async def _find_same(services: Services, new: NewAccount) -> MerchantAccount | None:
    """Return the account that was added with these very values; None if none has the name. Raises NameTakenError."""
    try:
        await require_free_name(services, new.installation_id, new.name)
    except NameTakenError as taken:
        own = {member.name: getattr(new, member.name) for member in fields(NewAccount)}
        keys, columns = own.pop("keys"), own | own.pop("options")
        is_same = all(getattr(taken.other, name) == value for name, value in columns.items())
        if not is_same or not _has_keys(services, taken.other, keys):
            raise
        return taken.other
    return None


def _has_keys(services: Services, row: MerchantAccount, keys: AccountKeys) -> bool:
    try:
        return replace(services.accounts.keys(row), previous_api_secret=None) == keys
    except VaultError:
        return False  # nobody can tell


async def change_account(
    services: Services, row: MerchantAccount, change: AccountChange, *, verify: bool
) -> MerchantAccount:
    """Change an account in one step; to ``verify``, first check new keys, a new address and wallets switched on.

    Raises KeysRequiredError, NameTakenError, AccountCheckFailedError, WalletNotAllowedError, OptionsRefusedError and
    ChangedMeanwhileError: then nothing is changed.
    """
    columns = {**_limits_to_set_anew(row, change.columns), **change.columns}
    keys, fee_before = dict(change.keys), row.payer_fee_percent
    require_keys(row, change)
    await require_free_name(services, row.installation_id, columns.get("name"), except_id=row.id)
    if change.endpoint is not None or change.keys:
        endpoint = (change.endpoint or GatewayEndpoint.for_account(row)).with_urls_from(columns)
        present = services.accounts.keys(row)
        checked = build_credentials(row.pos_id, endpoint, replace(present, **change.keys))
        columns |= endpoint.columns | {"base_url": checked.base_url}
        if verify:
            await _require_working_credentials(services, checked)
        # A key that was given again unchanged is not replaced: the present secret stays valid without an end.
        keys = {name: key for name, key in change.keys.items() if key != getattr(present, name)}
    elif verify:
        await _check_wallets(services, row, columns)
    changed = await services.accounts.change_keys(row.id, **keys, grace=change.grace, columns=columns, seen=change.seen)
    if changed.payer_fee_percent != fee_before:
        await _look_up_reviewed(services, changed)
    return changed


def _limits_to_set_anew(row: MerchantAccount, columns: Mapping[str, object]) -> Mapping[str, None]:
    """Return the limits of payouts that are none any more: their number is of another currency than the first one."""
    currencies = columns.get("currencies")
    is_kept = not isinstance(currencies, list) or currencies[:1] == [currency_of(row)]
    return {} if is_kept else dict.fromkeys(("payout_most", "payout_most_a_day"))


async def _look_up_reviewed(services: Services, account: MerchantAccount) -> None:
    """Have the worker look up the payments with a mismatch again, which may be none by what the account says now."""
    async with services.database.transaction() as session:
        found = await payment_ids_with_problem(session, account.installation_id, account.id, {AlertKind.MISMATCH})
    for payment_id in found:
        await services.payments.record(ById(payment_id), ExpectationChanged(services.now()))


def changes_address(row: MerchantAccount, change: AccountChange) -> bool:
    """Return True when keys of the account would be sent to an address that has not received them before."""
    present = GatewayEndpoint.for_account(row)
    wanted = (change.endpoint or present).with_urls_from(change.columns)
    if wanted.base_url != present.base_url:
        return True
    # The address of payments knows all keys; any other is a new address.
    areas = ((wanted.balances_url, present.balances_url), (wanted.register_url, present.register_url))
    return any(to not in (None, before, present.base_url) for to, before in areas)


def require_keys(row: MerchantAccount, change: AccountChange) -> None:
    """Raise KeysRequiredError when an address is to change without all keys."""
    missing = tuple(name for name in REQUIRED_KEYS if not change.keys.get(name))
    if missing and changes_address(row, change):
        raise KeysRequiredError(missing)


async def _check_wallets(services: Services, row: MerchantAccount, columns: Mapping[str, object]) -> None:
    for option, area in WALLETS.items():
        if columns.get(option) and not getattr(row, option):
            finding = await check_wallet(services.gateways.client(row), area, row)
            if not finding.works:
                raise WalletNotAllowedError(option, finding)


async def _require_working_credentials(services: Services, credentials: Credentials) -> None:
    failure = await check_credentials(services.gateways.client_for_credentials(credentials), credentials.base_url)
    if failure is not None:
        raise AccountCheckFailedError(failure)
