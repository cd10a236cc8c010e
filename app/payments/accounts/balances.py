"""What a store has at the gateway (gateway interface, 11), and whether that covers a refund.

The gateway is asked once a minute for each account at most, and nobody waits for it for long: when it does not answer
in time, what it said before is told, with its age.
"""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from app.amounts import in_cents, is_in_cents
from app.db.latest_cache import Latest
from app.db.tables import MerchantAccount
from app.db.vault import VaultError
from app.gateway.errors import GatewayError, KeysNotOpenedError, quoted
from app.gateway.models.accounts import BalanceAccount
from app.i18n.messages import LazyMessage, Money
from app.payments.accounts.areas import Area, AreaFinding, finding_of
from app.payments.services import Services

WITHIN = 3.0
"""Seconds for which somebody waits for a page."""

_SECONDS = 10.0  # for which the gateway is waited for behind it
_LONGEST_NAME = 100


@dataclass(frozen=True, slots=True)
class AccountBalances:
    """What a merchant account has at the gateway, ``as_of`` a moment. None: the gateway has never said it.

    ``trouble``: why it does not say it now. ``late``: it has not answered yet, and is still being asked.
    """

    account: MerchantAccount
    balances: tuple[BalanceAccount, ...] | None
    as_of: datetime | None
    trouble: AreaFinding | None
    late: bool

    def available(self, currency: str) -> Decimal | None:
        """Return what can be refunded in a currency; None when that is not known, or the account has none of it.

        Which of several balances of one currency the gateway takes a refund from, the interface does not say (gateway
        facts, 6: the merchant's balance must cover it in full). So it is all of them together: where even that is too
        little, none of them is enough. What is held in reserve is not there to be refunded.
        """
        mine = [each.balances.available for each in self.balances or () if each.currency.upper() == currency.upper()]
        return sum(mine, Decimal()) if mine else None


async def read_balances(
    services: Services, account: MerchantAccount, *, anew: bool = False, within: float = WITHIN
) -> AccountBalances:
    """Return what an account has; the gateway is asked unless it was within the last minute, or ``anew``.

    Never raises: what is wrong is told. It takes ``within`` seconds at most.
    """

    async def ask() -> tuple[BalanceAccount, ...]:
        try:
            client = services.gateways.client(account)
        except VaultError:
            client = None
        if client is None:  # outside of the handler: what was sealed is in the frames of the vault's error
            raise KeysNotOpenedError("the account's keys cannot be opened with the secret keys of this machine")
        return tuple(map(_readable, await client.balances.accounts(timeout=_SECONDS)))

    latest = await services.balances.get(
        _name(account), ask, now=services.now, within=within, failing_with=GatewayError, anew=anew
    )
    return _of(account, latest)


def refund_warning(amount: Decimal, currency: str, balances: AccountBalances) -> LazyMessage | None:
    """Return what to say before a refund that the balance does not cover; None when it does, or nobody knows. Pure.

    It is a warning and no refusal: the gateway decides, and its balance may have grown since.
    """
    available = balances.available(currency)
    if available is None or amount <= available:
        return None
    return LazyMessage(
        "The balance at the gateway is %(available)s; this refund of %(sum)s may be refused.",
        available=Money(_written(available), currency),
        sum=Money(_written(amount), currency),
    )


def payout_warning(amount: Decimal, currency: str, balances: AccountBalances) -> LazyMessage | None:
    """Return what to say before a payout that the balance does not cover; None when it does, or nobody knows. Pure."""
    available = balances.available(currency)
    if available is None or amount <= available:
        return None
    return LazyMessage(
        "The balance at the gateway is %(available)s; this payout of %(sum)s may be refused.",
        available=Money(_written(available), currency),
        sum=Money(_written(amount), currency),
    )


def _readable(said: BalanceAccount) -> BalanceAccount:
    """Return a balance whose names can stand on a page, whatever the gateway has put into them."""
    names = {"name": quoted(said.name)[:_LONGEST_NAME], "currency": quoted(said.currency)[:_LONGEST_NAME]}
    return said.model_copy(update=names)


def _name(account: MerchantAccount) -> tuple[str, datetime]:
    """Return by what the balances are kept: an account that is changed may be asked elsewhere, with other keys."""
    return account.id, account.updated_at


def _of(account: MerchantAccount, latest: Latest[tuple[BalanceAccount, ...], GatewayError]) -> AccountBalances:
    trouble = None
    if latest.error is not None:
        trouble = finding_of(Area.BALANCES, latest.error, account.balances_url or account.base_url)
    return AccountBalances(account, latest.value, latest.said_at, trouble, latest.late)


def _written(amount: Decimal) -> Decimal:
    return in_cents(amount) if is_in_cents(amount) else amount
