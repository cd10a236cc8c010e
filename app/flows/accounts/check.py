"""Checks an account harmlessly: looks up an order that does not exist, with the account's keys and with other keys.

In whatever words the gateway says that there is no such order: the keys are right if others are answered otherwise, or
if balances are shown to these and not to others (gateway interface, 11). Then checks its other areas: balances, and the
register.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import urlsplit

from app.flows.accounts.channels import AccountView
from app.flows.accounts.dialect_findings import DialectFinding, find_dialect
from app.flows.accounts.gateway_access import AreaFinding, check_areas
from app.i18n.messages import LazyMessage, gettext_noop
from app.rules.call_errors import is_busy_for_longer
from app.rules.connection_remedies import remedy_for
from app.services import Services
from gateway_client.client import GatewayClient
from gateway_client.errors import (
    BadCredentialsError,
    GatewayError,
    InvalidRequestError,
    NotSentError,
    OutcomeUnknownError,
    RateLimitedError,
    RefusedError,
)
from gateway_client.hosts import is_on_private_network, is_webhook_reachable
from integration_base.connection_failures import REASONS, ConnectionFailure

_TIMEOUT = 10.0
_MAY_MEAN_NO_ORDER = frozenset({400, 404, 410, 422})


class FailureReason(StrEnum):
    """Why no payment can be made, as text for the person who sets an account up."""

    KEYS_REFUSED = gettext_noop(
        "the gateway at %(host)s rejects these keys%(code)s: compare the point of sale, the API key, the API "
        "secret and the endpoints key with the merchant portal"
    )
    BUSY = gettext_noop(
        "the gateway at %(host)s is busy, so the keys could not be checked%(code)s: try again in a minute"
    )
    BUSY_FOR_LONGER = gettext_noop(
        "the gateway at %(host)s is busy for a while, so the keys could not be checked%(code)s: try again later"
    )
    NO_CONNECTION = gettext_noop("cannot connect to %(host)s (%(why)s): check the address, and %(remedy)s")
    NO_ANSWER = gettext_noop(
        "%(host)s accepts the request but gives no response (%(why)s): the gateway is down, or this is not its address"
    )
    ELSEWHERE = gettext_noop(
        "%(host)s redirects elsewhere (%(http)s): this is not the address of the gateway's interface"
    )
    IN_TROUBLE = gettext_noop(
        "the gateway at %(host)s has problems (%(http)s), so the keys could not be checked: try again later"
    )
    REFUSES = gettext_noop("the gateway at %(host)s refuses to look up an order: %(said)s (%(http)s)%(code)s")
    ANY_KEYS = gettext_noop(
        "%(host)s gives the same response to any keys, so these could not be checked: this is not the address of "
        "the gateway's interface, or not all of it"
    )
    NOT_THE_GATEWAY = gettext_noop("the server at %(host)s is not the gateway (%(http)s): check the address")


_CANNOT_BE_HELPED = frozenset({FailureReason.KEYS_REFUSED})


class Limitation(StrEnum):
    """What an account lacks that works otherwise."""

    NOTIFICATIONS = gettext_noop(
        "the gateway cannot notify %(address)s: it calls public https addresses on port 443 or 8443 only. Until "
        "it can, outcomes are known later, when the app looks payments up"
    )
    SWITCHED_ON = gettext_noop("the account is switched off: no payments are started with it")
    CHANNEL = gettext_noop("no channel uses the account")
    STOREFRONT = gettext_noop("no storefront is named, so shoppers cannot be sent back to one")
    PAYOUT_LIMITS = gettext_noop("payouts are switched on without both limits, so nothing is paid out")
    PAYOUT_STAFF = gettext_noop("payouts are switched on, but nobody is named who may pay out on the app's pages")

    @property
    def is_for_operator(self) -> bool:
        """Whether only the operator of the app can fix it, and not the store owner."""
        return self is Limitation.NOTIFICATIONS


@dataclass(frozen=True, slots=True)
class CheckFailure:
    """Why a check failed, with the facts that the message names."""

    what: FailureReason
    facts: Mapping[str, str]

    @property
    def message(self) -> LazyMessage:
        """The message, with the facts filled in."""
        return LazyMessage(self.what.value, **self.facts)

    def __str__(self) -> str:
        return self.message

    @property
    def may_be_wrong(self) -> bool:
        """Whether the account may work nevertheless: anything but the gateway's own word that the keys are wrong."""
        return self.what not in _CANNOT_BE_HELPED


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of a check. ``failure``: why no payment can be made. ``limitations``: what else the account lacks.

    ``areas`` are those other than payments; none where the keys are wrong. ``dialect``: what the gateway seems to
    decide otherwise than the account says.
    """

    view: AccountView
    failure: CheckFailure | None
    limitations: tuple[Limitation, ...]
    areas: tuple[AreaFinding, ...] = ()
    dialect: tuple[DialectFinding, ...] = ()


async def check_merchant_account(services: Services, view: AccountView, *, new: bool = False) -> CheckResult:
    """Check an account and its surroundings. That no channel uses a ``new`` one yet is expected, and not reported.

    Raises VaultError if the account's keys do not open.
    """
    limitations = [
        limitation for limitation in find_limitations(view) if not (new and limitation is Limitation.CHANNEL)
    ]
    try:
        client = services.gateways.client(view.account)
    except InvalidRequestError as error:  # kept by a version that did not look at it
        host = urlsplit(view.account.base_url).netloc
        return CheckResult(view, describe_failure(error, host), tuple(limitations))
    failure = await check_credentials(client, view.account.base_url)
    if failure is not None:  # wrong keys are wrong everywhere: the other areas would only report the same again
        return CheckResult(view, failure, tuple(limitations))
    areas = await check_areas(client, view.account)
    dialect = await find_dialect(services, client, view.account)
    return CheckResult(view, None, tuple(limitations), areas, tuple(dialect))


def find_limitations(view: AccountView) -> list[Limitation]:
    """Return what the account lacks, without sending any request."""
    account = view.account
    missing = {
        Limitation.NOTIFICATIONS: not (is_webhook_reachable(view.notification_address) or _on_same_network(view)),
        Limitation.SWITCHED_ON: not account.enabled,
        Limitation.CHANNEL: not view.channels,
        Limitation.STOREFRONT: not account.storefront_origins,
        Limitation.PAYOUT_LIMITS: account.payouts and None in (account.payout_most, account.payout_most_a_day),
        Limitation.PAYOUT_STAFF: account.payouts and not account.payout_staff,
    }
    return [requirement for requirement, is_missing in missing.items() if is_missing]


def limitation_facts(view: AccountView) -> Mapping[str, str]:
    """Return the facts that the message of a ``Limitation`` names."""
    return {"address": view.notification_address}


def _on_same_network(view: AccountView) -> bool:
    """Return whether gateway and app are both on this machine or a private network, so that notifications arrive."""
    return is_on_private_network(view.account.base_url) and is_on_private_network(view.notification_address)


async def check_credentials(client: GatewayClient, base_url: str) -> CheckFailure | None:
    """Send the gateway a harmless request; return why it failed, or None."""
    host, strange = urlsplit(base_url).netloc, None
    try:
        if await client.check_credentials(timeout=_TIMEOUT):
            return None
    except GatewayError as error:
        if not _may_say_that_there_is_no_order(error):
            return describe_failure(error, host)
        strange = error
    try:
        if await client.refuses_other_keys(after=strange, timeout=_TIMEOUT):
            return None
    except GatewayError as error:
        return describe_failure(error, host)
    return CheckFailure(FailureReason.ANY_KEYS, {"host": host}) if strange is None else describe_failure(strange, host)


def _may_say_that_there_is_no_order(error: GatewayError) -> bool:
    """Return True for a refusal that does not look like "no such order", but may be meant so."""
    is_of_keys = isinstance(error, BadCredentialsError | RateLimitedError)
    return not is_of_keys and error.http_status in _MAY_MEAN_NO_ORDER


def describe_failure(error: GatewayError, host: str) -> CheckFailure:
    """Return what an error of the harmless request means for the person who sets an account up."""
    connection = error.connection or ConnectionFailure.OTHER
    facts = {
        "host": host,
        "why": LazyMessage(REASONS[connection]),
        "remedy": LazyMessage(remedy_for(connection, os.environ)),
        "code": f" [{error.code}]" if error.code else "",
        "http": f"HTTP {error.http_status}: “{error.said}”" if error.said else f"HTTP {error.http_status}",
        "said": error.message.rstrip("."),
    }
    return CheckFailure(_classify(error), facts)


def _classify(error: GatewayError) -> FailureReason:  # noqa: PLR0911 - one return for each failure
    match error:
        # In whatever words. What is no id of a point of sale is not even sent.
        case BadCredentialsError() | OutcomeUnknownError(http_status=401) | InvalidRequestError():
            return FailureReason.KEYS_REFUSED
        case RateLimitedError():
            return FailureReason.BUSY_FOR_LONGER if is_busy_for_longer(error) else FailureReason.BUSY
        case NotSentError():
            return FailureReason.NO_CONNECTION
        case OutcomeUnknownError(http_status=None):
            return FailureReason.NO_ANSWER
        case OutcomeUnknownError(http_status=int(status)) if 300 <= status < 400:
            return FailureReason.ELSEWHERE
        case OutcomeUnknownError(http_status=int(status)) if status >= 500 or status == 408:
            return FailureReason.IN_TROUBLE
        case RefusedError() if error.code or error.http_status not in {403, 404, 405, 410}:
            return FailureReason.REFUSES
        case _:
            return FailureReason.NOT_THE_GATEWAY
