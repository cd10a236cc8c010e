"""A store's balances at the gateway (gateway interface, 11), and whether they cover a refund.

The gateway is queried at most once a minute for each account, and no page waits for it for long: when it does not
respond in time, its previous response is returned, with its age.
"""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from app.flows.accounts.gateway_access import Area, AreaFinding, finding_of
from app.i18n.messages import LazyMessage, Money
from app.rules.call_errors import KeysNotOpenedError
from app.services import Services
from app.store.latest_cache import Latest
from app.store.tables import MerchantAccount
from app.store.vault import VaultError
from gateway_client.client import GatewayClient
from gateway_client.errors import GatewayError, sanitize
from gateway_client.models.accounts import BalanceAccount
from integration_base.amounts import has_whole_cents, quantize_to_cents

PAGE_TIMEOUT = 3.0
"""Seconds for which a page waits for balances."""

_GATEWAY_TIMEOUT = 10.0  # seconds for which the request continues after the page
_LONGEST_NAME = 100


@dataclass(frozen=True, slots=True)
class AccountBalances:
    """A merchant account's balances at the gateway, ``as_of`` a moment. None: the gateway has never reported them.

    ``trouble``: why it does not report them now. ``late``: it has not responded yet, and the request is still running.
    """

    account: MerchantAccount
    balances: tuple[BalanceAccount, ...] | None
    as_of: datetime | None
    trouble: AreaFinding | None
    late: bool

    def available(self, currency: str) -> Decimal | None:
        """Return what can be refunded in a currency; None when that is not known, or the account has no such balance.

        The interface does not say from which of several balances in one currency the gateway takes a refund (gateway
        facts, 6: the merchant's balance must cover it in full). So this is their sum: where even the sum is too small,
        no single balance is enough. Money held in reserve cannot be refunded.
        """
        available = [
            balance.balances.available
            for balance in self.balances or ()
            if balance.currency.upper() == currency.upper()
        ]
        return sum(available, Decimal()) if available else None


async def read_balances(
    services: Services,
    account: MerchantAccount,
    *,
    only: str | None = None,
    refresh: bool = False,
    timeout: float = PAGE_TIMEOUT,
) -> AccountBalances:
    """Return an account's balances; query the gateway unless it was queried in the last minute, or to ``refresh``.

    ``only``: the gateway's id of the one balance that is wanted. Never raises: errors are in the result. Takes
    ``timeout`` seconds at most.
    """

    async def fetch() -> tuple[BalanceAccount, ...]:
        try:
            client = services.gateways.client(account)
        except VaultError:
            client = None
        if client is None:  # outside of the handler: the frames of the vault's error hold the sealed value
            raise KeysNotOpenedError("the account's keys cannot be decrypted with the secret keys of this machine")
        busy = services.gateways.current_pause(account.id, services.now())
        if busy is not None:
            raise busy
        try:
            return await ask(client)
        except GatewayError as error:
            services.gateways.remember_pause(account.id, error, services.now())
            raise

    async def ask(client: GatewayClient) -> tuple[BalanceAccount, ...]:
        if only is not None:
            return (_sanitize(await client.balances.account(only, timeout=_GATEWAY_TIMEOUT)),)
        return tuple(map(_sanitize, await client.balances.accounts(timeout=_GATEWAY_TIMEOUT)))

    latest = await services.balances.get(
        _cache_key(account, only), fetch, now=services.now, timeout=timeout, expected_error=GatewayError, force=refresh
    )
    return _account_balances(account, latest)


def refund_warning(amount: Decimal, currency: str, balances: AccountBalances) -> LazyMessage | None:
    """Return a warning before a refund that the balance does not cover; None when it does, or is not known. Pure.

    It is a warning, not a refusal: the gateway decides, and the balance may have grown since.
    """
    available = balances.available(currency)
    if available is None or amount <= available:
        return None
    return LazyMessage(
        "The balance at the gateway is %(available)s; this refund of %(sum)s may be refused.",
        available=Money(_with_cents(available), currency),
        sum=Money(_with_cents(amount), currency),
    )


def payout_warning(amount: Decimal, currency: str, balances: AccountBalances) -> LazyMessage | None:
    """Return a warning before a payout that the balance does not cover; None when it does, or is not known. Pure."""
    available = balances.available(currency)
    if available is None or amount <= available:
        return None
    return LazyMessage(
        "The balance at the gateway is %(available)s; this payout of %(sum)s may be refused.",
        available=Money(_with_cents(available), currency),
        sum=Money(_with_cents(amount), currency),
    )


def _sanitize(balance: BalanceAccount) -> BalanceAccount:
    """Return a balance whose names are safe to show on a page, whatever the gateway has put into them."""
    names = {"name": sanitize(balance.name)[:_LONGEST_NAME], "currency": sanitize(balance.currency)[:_LONGEST_NAME]}
    return balance.model_copy(update=names)


def _cache_key(account: MerchantAccount, only: str | None) -> tuple[str, str | None, datetime]:
    """Return the cache key of an account's balances: a changed account may have another address and other keys."""
    return account.id, only, account.updated_at


def _account_balances(
    account: MerchantAccount, latest: Latest[tuple[BalanceAccount, ...], GatewayError]
) -> AccountBalances:
    trouble = None
    if latest.error is not None:
        trouble = finding_of(Area.BALANCES, latest.error, account.balances_url or account.base_url)
    return AccountBalances(account, latest.value, latest.received_at, trouble, latest.late)


def _with_cents(amount: Decimal) -> Decimal:
    return quantize_to_cents(amount) if has_whole_cents(amount) else amount
