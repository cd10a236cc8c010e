"""Tries an account out, harmlessly: an order is looked up that does not exist, with the keys and with others.

Then its other areas are: balances, and the register.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import urlsplit

from app.gateway.client import GatewayClient
from app.gateway.errors import (
    BadCredentialsError,
    GatewayError,
    NotSentError,
    OutcomeUnknownError,
    RateLimitedError,
    RefusedError,
)
from app.gateway.hosts import on_private_network, reachable_by_webhook
from app.i18n.messages import LazyMessage, gettext_noop
from app.payments.accounts.areas import AreaFinding, try_areas
from app.payments.accounts.channels import AccountView

_SECONDS = 10.0


class Trouble(StrEnum):
    """Why no payment can be made, in words for somebody who sets an account up."""

    KEYS_REFUSED = gettext_noop(
        "the gateway at %(host)s refuses these keys%(code)s: compare the point of sale, the API key, the API secret "
        "and the endpoints key with the merchant portal"
    )
    BUSY = gettext_noop(
        "the gateway at %(host)s is busy, so nothing is known of the keys%(code)s: try again in a minute"
    )
    NO_CONNECTION = gettext_noop(
        "no connection to %(host)s: check the address, its certificate, and that this machine may connect to it"
    )
    NO_ANSWER = gettext_noop(
        "%(host)s takes the question and gives no answer: the gateway is down, or this is not its address"
    )
    ELSEWHERE = gettext_noop(
        "%(host)s sends callers elsewhere (%(http)s): this is not the address of the gateway's interface"
    )
    IN_TROUBLE = gettext_noop(
        "the gateway at %(host)s is in trouble (%(http)s), so nothing is known of the keys: try again later"
    )
    REFUSES = gettext_noop("the gateway at %(host)s refuses to look an order up: %(said)s (%(http)s)%(code)s")
    ANY_KEYS = gettext_noop(
        "%(host)s says the same to any keys, so nothing is known of these: this is not the address of the gateway's "
        "interface, or not all of it"
    )
    NOT_THE_GATEWAY = gettext_noop("what answers at %(host)s is not the gateway (%(http)s): check the address")


class Lack(StrEnum):
    """What will be missed of an account that works otherwise."""

    NOTIFICATIONS = gettext_noop(
        "the gateway cannot notify %(address)s: it calls public https addresses on port 443 or 8443 only. "
        "Until it can, outcomes are known later, by looking payments up"
    )
    SWITCHED_ON = gettext_noop("the account is switched off: no payment is begun with it")
    CHANNEL = gettext_noop("no channel uses the account")
    STOREFRONT = gettext_noop("no storefront is named, so none can have its shoppers sent back")
    PAYOUT_LIMITS = gettext_noop("payouts are switched on without both limits, so nothing is paid out")
    PAYOUT_STAFF = gettext_noop("payouts are switched on, and nobody is named who may pay out on the app's pages")

    @property
    def is_operators(self) -> bool:
        """Whether only whoever runs the app can mend it, and no store owner."""
        return self is Lack.NOTIFICATIONS


@dataclass(frozen=True, slots=True)
class Wrong:
    """Something that is wrong, with what its words tell of."""

    what: Trouble
    facts: Mapping[str, str]

    @property
    def words(self) -> LazyMessage:
        """What is wrong, with that in it."""
        return LazyMessage(self.what.value, **self.facts)

    def __str__(self) -> str:
        return self.words


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check found. ``wrong``: why no payment can be made. ``lacks``: what will be missed otherwise.

    ``areas`` are the others than payments; none where the keys are wrong.
    """

    view: AccountView
    wrong: Wrong | None
    lacks: tuple[Lack, ...]
    areas: tuple[AreaFinding, ...] = ()


async def check(client: GatewayClient, view: AccountView, *, new: bool = False) -> Finding:
    """Try an account out and look at what surrounds it. That no channel uses a ``new`` one yet is no news."""
    found = [each for each in lacks_of(view) if not (new and each is Lack.CHANNEL)]
    wrong = await try_out(client, view.account.base_url)
    # Wrong keys are wrong everywhere: the others would only say the same again.
    areas = () if wrong is not None else await try_areas(client, view.account)
    return Finding(view, wrong, tuple(found), areas)


def lacks_of(view: AccountView) -> list[Lack]:
    """Return what will be missed, without asking anybody."""
    account = view.account
    missing = {
        Lack.NOTIFICATIONS: not (reachable_by_webhook(view.notification_address) or _neighbours(view)),
        Lack.SWITCHED_ON: not account.enabled,
        Lack.CHANNEL: not view.channels,
        Lack.STOREFRONT: not account.storefront_origins,
        Lack.PAYOUT_LIMITS: account.payouts and None in (account.payout_most, account.payout_most_a_day),
        Lack.PAYOUT_STAFF: account.payouts and not account.payout_staff,
    }
    return [each for each, is_missing in missing.items() if is_missing]


def facts_of(view: AccountView) -> Mapping[str, str]:
    """Return what the words of a ``Lack`` tell of."""
    return {"address": view.notification_address}


def _neighbours(view: AccountView) -> bool:
    """Whether gateway and app are both on this machine, or on a private network: then it can call there."""
    return on_private_network(view.account.base_url) and on_private_network(view.notification_address)


async def try_out(client: GatewayClient, base_url: str) -> Wrong | None:
    """Ask the gateway something harmless; return what is wrong, or None."""
    host = urlsplit(base_url).netloc
    try:
        shown = await client.check_credentials(timeout=_SECONDS)
        if not shown and not await client.refuses_other_keys(timeout=_SECONDS):
            return Wrong(Trouble.ANY_KEYS, {"host": host})
    except GatewayError as error:
        return in_words(error, host)
    return None


def in_words(error: GatewayError, host: str) -> Wrong:
    """Return what an error of the harmless call means for somebody who sets an account up."""
    facts = {
        "host": host,
        "code": f" [{error.code}]" if error.code else "",
        "http": f"HTTP {error.http_status}",
        "said": error.message.rstrip("."),
    }
    return Wrong(_trouble(error), facts)


def _trouble(error: GatewayError) -> Trouble:  # noqa: PLR0911 - one return for each thing that can be wrong
    match error:
        case BadCredentialsError():
            return Trouble.KEYS_REFUSED
        case RateLimitedError():
            return Trouble.BUSY
        case NotSentError():
            return Trouble.NO_CONNECTION
        case OutcomeUnknownError(http_status=None):
            return Trouble.NO_ANSWER
        case OutcomeUnknownError(http_status=int(status)) if 300 <= status < 400:
            return Trouble.ELSEWHERE
        case OutcomeUnknownError(http_status=int(status)) if status >= 500 or status == 408:
            return Trouble.IN_TROUBLE
        case RefusedError() if error.code or error.http_status not in {403, 404, 405, 410}:
            return Trouble.REFUSES
        case _:
            return Trouble.NOT_THE_GATEWAY
