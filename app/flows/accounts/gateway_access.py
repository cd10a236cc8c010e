"""What an account's keys may do at the gateway: payments, balances, the register; and what a store lacks without each.

Balances and the register are separate areas: they may have other addresses and need their own permission
(gateway interface, Authentication 2; 10; 11). Payments work without them.
"""

from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from types import MappingProxyType
from urllib.parse import urlsplit

from app.i18n.messages import LazyMessage, gettext_noop
from app.rules.call_errors import KeysNotOpenedError, is_busy_for_longer
from app.store.tables import MerchantAccount
from gateway_client.client import GatewayClient
from gateway_client.errors import (
    BadCredentialsError,
    GatewayError,
    NotFoundError,
    NotSentError,
    OutcomeUnknownError,
    RateLimitedError,
    RefusedError,
)
from gateway_client.models import Status
from gateway_client.models.reports import RegisterColumn, RegisterRequest
from gateway_client.wallets import Wallet, encode_wallet_token
from integration_base.connection_failures import REASONS, ConnectionFailure

_TIMEOUT = 10.0
_APPLE_PAY_SESSION_URL = "https://apple-pay-gateway.apple.com/paymentservices/startSession"
# A register of so short a period is made at once, and is never fetched.
_SHORTEST_PERIOD = timedelta(seconds=1)


class Area(StrEnum):
    """A part of the gateway's interface, by the name that users see."""

    PAYMENTS = gettext_noop("payments")
    BALANCES = gettext_noop("balances")
    REGISTER = gettext_noop("the register")
    APPLE_PAY = gettext_noop("Apple Pay")
    GOOGLE_PAY = gettext_noop("Google Pay")


class Access(StrEnum):
    """Whether an area can be used."""

    WORKS = gettext_noop("works")
    NOT_PERMITTED = gettext_noop("not permitted")
    NOT_REACHABLE = gettext_noop("not reachable")


class Reason(StrEnum):
    """Why an area cannot be used, and what to do about it."""

    NOT_LET_IN = gettext_noop(
        "the gateway at %(host)s does not allow these keys to use this area%(code)s: ask its support to allow it "
        "for this point of sale"
    )
    NOT_OFFERED = gettext_noop(
        "the gateway at %(host)s does not offer this for this point of sale%(code)s: ask its support for it"
    )
    REFUSES = gettext_noop("the gateway at %(host)s refuses the request: %(said)s%(code)s")
    BUSY = gettext_noop("the gateway at %(host)s is busy: try again in a minute")
    BUSY_FOR_LONGER = gettext_noop("the gateway at %(host)s is busy for a while: try again later")
    NO_CONNECTION = gettext_noop("cannot connect to %(host)s (%(why)s): try again, or check the address under Options")
    NO_ANSWER = gettext_noop("%(host)s gives no readable response: try again in a minute")
    IN_TROUBLE = gettext_noop("the gateway at %(host)s has problems (%(http)s): try again later")
    NOT_THE_GATEWAY = gettext_noop(
        "the server at %(host)s is not this area of the gateway (%(http)s): check the address under Options"
    )
    SEALED = gettext_noop(
        "the keys of this account cannot be decrypted: the key is missing from the secret key file. Contact the "
        "app operator"
    )


_WITHOUT_WALLET = gettext_noop(
    "Without it, shoppers who choose this wallet in a storefront cannot pay with it. Switch the wallet off under "
    "Options until the gateway allows it."
)

CONSEQUENCES: Mapping[Area, str] = MappingProxyType(
    {
        Area.PAYMENTS: gettext_noop("Without it, nobody can pay."),
        Area.BALANCES: gettext_noop(
            "Without it, the app does not know your balance at the gateway, and cannot warn you before a refund "
            "that the balance does not cover. Payments and refunds still work."
        ),
        Area.REGISTER: gettext_noop(
            "Without it, you cannot download the register, and each night the records are compared with the list "
            "of the period instead, which says less about fees and split payments. Payments still work."
        ),
        Area.APPLE_PAY: _WITHOUT_WALLET,
        Area.GOOGLE_PAY: _WITHOUT_WALLET,
    }
)
"""What a store lacks without each area."""


WALLETS: Mapping[str, Area] = MappingProxyType({"apple_pay": Area.APPLE_PAY, "google_pay": Area.GOOGLE_PAY})
"""The wallets, by the options that switch them on."""


@dataclass(frozen=True, slots=True)
class AreaFinding:
    """The status of an area. ``why``: the reason that it cannot be used; None where it works."""

    area: Area
    access: Access
    why: LazyMessage | None = None

    @property
    def works(self) -> bool:
        """Whether the area can be used."""
        return self.access is Access.WORKS


async def check_areas(client: GatewayClient, account: MerchantAccount) -> tuple[AreaFinding, ...]:
    """Request balances, and a register of one second that is never fetched: nothing changes at the gateway.

    Of the wallets, only those that the account offers are checked.
    """
    balances = await _find_error(client.balances.accounts(timeout=_TIMEOUT))
    register = await _find_error(client.reports.start(_smallest_register(account), timeout=_TIMEOUT))
    wallets = [await check_wallet(client, area, account) for name, area in WALLETS.items() if getattr(account, name)]
    return (
        finding_of(Area.BALANCES, balances, account.balances_url or account.base_url),
        finding_of(Area.REGISTER, register, account.register_url or account.base_url),
        *wallets,
    )


async def check_wallet(client: GatewayClient, area: Area, account: MerchantAccount) -> AreaFinding:
    """Request a session of Apple's payment sheet that is never opened, or the exchange of a token that no wallet made.

    The gateway rejects the latter as an invalid token (gateway facts, 6), unless it refuses the wallet altogether.
    """
    if area is Area.APPLE_PAY:
        error = await _find_error(client.wallets.apple_pay_session(_APPLE_PAY_SESSION_URL, timeout=_TIMEOUT))
        return finding_of(area, error, account.base_url)
    error = await _find_error(client.wallets.tokenize(Wallet.GOOGLE_PAY, encode_wallet_token("{}"), timeout=_TIMEOUT))
    return finding_of(area, error, account.balances_url or account.base_url)


async def _find_error(call: Awaitable[object]) -> GatewayError | None:
    try:
        await call
    except RefusedError as error:
        return None if any(violation.field == "token" for violation in error.violations) else error
    except GatewayError as error:
        return error
    return None


def finding_of(area: Area, error: GatewayError | None, address: str) -> AreaFinding:
    """Return what a response of an area at that address means; ``error`` None: the response is as expected. Pure."""
    if error is None:
        return AreaFinding(area, Access.WORKS)
    access, reason = _classify(error)
    facts = {
        "host": urlsplit(address).netloc,
        "why": LazyMessage(REASONS[error.connection or ConnectionFailure.OTHER]),
        "code": f" [{error.code}]" if error.code else "",
        "http": f"HTTP {error.http_status}",
        "said": error.message.rstrip("."),
    }
    return AreaFinding(area, access, LazyMessage(reason.value, **facts))


def _classify(error: GatewayError) -> tuple[Access, Reason]:  # noqa: PLR0911 - one return for each case
    match error:
        case BadCredentialsError():
            return Access.NOT_PERMITTED, Reason.NOT_LET_IN
        case RateLimitedError():
            return Access.NOT_REACHABLE, Reason.BUSY_FOR_LONGER if is_busy_for_longer(error) else Reason.BUSY
        case NotFoundError() | RefusedError(status_code="4152"):  # "not set up for this"
            return Access.NOT_PERMITTED, Reason.NOT_OFFERED
        case RefusedError(http_status=403):
            return Access.NOT_PERMITTED, Reason.NOT_LET_IN
        case RefusedError():
            return Access.NOT_PERMITTED, Reason.REFUSES
        case KeysNotOpenedError():
            return Access.NOT_REACHABLE, Reason.SEALED
        case NotSentError():
            return Access.NOT_REACHABLE, Reason.NO_CONNECTION
        case OutcomeUnknownError(http_status=None):
            return Access.NOT_REACHABLE, Reason.NO_ANSWER
        case OutcomeUnknownError(http_status=int(status)) if status >= 500 or status == 408:
            return Access.NOT_REACHABLE, Reason.IN_TROUBLE
        case _:
            return Access.NOT_REACHABLE, Reason.NOT_THE_GATEWAY


def _smallest_register(account: MerchantAccount) -> RegisterRequest:
    """Return the request for a register of the account's first second, in which there is no payment yet."""
    start = account.created_at
    return RegisterRequest(
        start_date=start,
        end_date=start + _SHORTEST_PERIOD,
        statuses=(Status.SUCCESS,),
        transaction_details=(RegisterColumn.ORDER_ID,),
    )
