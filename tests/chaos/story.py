"""The steps of stories. A story is a value: what Hypothesis prints can be replayed."""

from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from typing import Any, Literal

Flow = Literal["CHARGE", "AUTHORIZATION"]
TOTAL = Decimal("569.50")


class Fault(Enum):
    """A fault that happens to a call."""

    NOT_SENT = "no connection comes about"
    LOST = "it is lost on its way"
    ANSWER_LOST = "it is done, and its answer is lost"
    FAILED = "503, and nothing is done"
    DONE_AND_FAILED = "500, though it is done"
    GARBLED = "it is done, and its answer cannot be read"
    REFUSED = "429, and nothing is done"
    PROXY = "a proxy answers 403 with a page, and nothing is done"
    DONE_AND_PROXY = "it is done, and a proxy answers 403 with a page"
    DONE_AND_EMPTY = "it is done, and the answer is an empty 400"
    DONE_AND_OTHER = "it is done, and another API answers 404"
    DONE_UNDER_400 = "it is done, and its record comes under 400"
    MOVED = "307: the host has moved, and nothing is done"
    WE_DIE_BEFORE = "we die, and it does not arrive"
    WE_DIE_AFTER = "it is done, and we die before we hear of it"

    def __repr__(self) -> str:
        return f"Fault.{self.name}"


@dataclass(frozen=True)
class BeginPayment:
    """A shopper begins to pay; ``again``: with the idempotency key of the last time, otherwise with another one.

    The storefront requests Saleor's default amount, which ignores gift cards. ``corrects``: when that is refused as
    more than is owed, it requests the amount that the refusal names instead. ``card``: the shopper types a card into
    the storefront, and this is the bank's answer (as in Pay); without one, the gateway opens its page.
    """

    flow: Flow = "CHARGE"
    again: bool = False
    corrects: bool = False
    card: str = ""


@dataclass(frozen=True)
class Pay:
    """The shopper tries a card on the gateway's page; ``code`` is the bank's answer (gateway interface, Errors)."""

    code: str = "1000"
    on: int = 0


@dataclass(frozen=True)
class Confirm3DSecure:
    """The shopper passes or fails 3-D Secure."""

    passed: bool = True
    on: int = 0


@dataclass(frozen=True)
class ReturnToShop:
    """The storefront queries the state (``transactionProcess``); ``page``: the shopper only opens our return page."""

    on: int = 0
    page: bool = False


@dataclass(frozen=True)
class RequestInSaleor:
    """Staff request an action in Saleor. ``granted``: by a granted refund, for which the checkout becomes an order.

    ``lines``: one piece of each of so many lines of the order is granted; the amount is still the one typed.
    """

    action: Literal["CHARGE", "REFUND", "CANCEL"]
    amount: Decimal = TOTAL
    granted: bool = False
    on: int = 0
    lines: int = 0


@dataclass(frozen=True)
class RequestGrantAgain:
    """Staff request the last granted refund again, as the Dashboard offers while it is not refunded."""

    on: int = 0


@dataclass(frozen=True)
class RequestConcurrently:
    """Two members of staff request an action at the same moment. ``same``: both for one granted refund."""

    first: RequestInSaleor
    second: RequestInSaleor
    same: bool = False


@dataclass(frozen=True)
class SetAppStatus:
    """Staff change the status of the app in Saleor; no effect where it is so already."""

    what: Literal["inactive", "active", "deleted", "installed"]


@dataclass(frozen=True)
class EndOrder:
    """The order ends whatever was paid of it: staff cancel it, Saleor expires it, its products come back.

    A checkout becomes an order first. No effect before anybody has begun to pay, and on an order that has ended.
    """

    how: Literal["CANCELED", "EXPIRED", "RETURNED"] = "CANCELED"


@dataclass(frozen=True)
class ChangeTotal:
    """The prices change: the checkout or order comes to ``total`` from now on, gift cards included."""

    total: Decimal


@dataclass(frozen=True)
class AddGiftCard:
    """The shopper adds a gift card to the checkout, which pays ``amount`` of it. No effect on an order."""

    amount: Decimal


@dataclass(frozen=True)
class RenameChannel:
    """Staff give the sales channel another name (its slug); its id stays."""


@dataclass(frozen=True)
class MoveSaleor:
    """Saleor gets another address, and staff install the app there; ``known``: the operator records the move.

    No effect where it is so already.
    """

    known: bool = False


@dataclass(frozen=True)
class RequestInApp:
    """Staff request an action on the app's pages. ``twice``: the form is submitted twice, even if the app died."""

    kind: Literal["capture", "void", "refund", "cancel"]
    amount: Decimal = TOTAL
    twice: bool = False
    on: int = 0


@dataclass(frozen=True)
class ReplayWebhook:
    """An earlier webhook of Saleor arrives again, byte for byte."""

    number: int


@dataclass(frozen=True)
class ActInPortal:
    """Somebody acts in the merchant portal. ``silent``: it is never notified."""

    method: Literal["capture", "void", "refund"]
    amount: Decimal = TOTAL
    on: int = 0
    silent: bool = False


@dataclass(frozen=True)
class Dispute:
    """The payer's bank takes money back: at once (``1000``), or pending (``2201``) until the bank decides."""

    amount: Decimal = TOTAL
    code: str = "1000"
    on: int = 0


@dataclass(frozen=True)
class ScriptBankCode:
    """Script the bank's answer to the next operation of that method."""

    method: Literal["capture", "void", "refund"]
    code: str


@dataclass(frozen=True)
class BankDecides:
    """The bank decides everything that is pending, and disputes anew that it has decided the other way."""

    success: bool = True


@dataclass(frozen=True)
class HoldNotifications:
    """Notifications are held back from now on, or delivered again."""

    held: bool


@dataclass(frozen=True)
class DeliverNotification:
    """A notification is delivered now: one that was held back (out of order), or one that was delivered before."""

    number: int


@dataclass(frozen=True)
class PassTime:
    """Time passes. The gateway does what it does by itself; our worker sleeps."""

    minutes: int


@dataclass(frozen=True)
class RunWorker:
    """The worker runs some rounds."""

    rounds: int = 5


@dataclass(frozen=True)
class CatchUp:
    """The gateway's notifications arrive, and the worker processes them."""


@dataclass(frozen=True)
class BreakSaleor:
    """Saleor's API fails for so many requests."""

    what: Literal["down", "broken", "mute", "odd"]
    times: int = 1


@dataclass(frozen=True)
class NextWebhook:
    """What happens to Saleor's next webhook.

    lost: it does not arrive; unheard: Saleor stops waiting for the answer; swallowed: a proxy returns 502 in place of
    the answer, and Saleor retries with an empty body; twice: it arrives twice; read late: ``meanwhile`` happens
    between the answer and Saleor's reading of it.
    """

    fate: Literal["lost", "unheard", "swallowed", "twice", "read late"]
    meanwhile: "Step | None" = None


@dataclass(frozen=True)
class RestartApp:
    """The app is restarted over the same database."""


@dataclass(frozen=True)
class SwitchKeys:
    """The app is restarted with an encryption key that does not open the account's keys, or does again."""

    open: bool


@dataclass(frozen=True)
class NextCall:
    """What happens to the next call that moves money (``look``: to the next look-up).

    ``meanwhile`` happens while the call is in progress: before it is executed, or (``late``) when it is executed and
    not answered yet.
    """

    fault: Fault | None = None
    meanwhile: "Step | None" = None
    late: bool = False
    look: bool = False


Step = (
    BeginPayment
    | Pay
    | Confirm3DSecure
    | ReturnToShop
    | RequestInSaleor
    | RequestGrantAgain
    | RequestConcurrently
    | SetAppStatus
    | EndOrder
    | ChangeTotal
    | AddGiftCard
    | RenameChannel
    | MoveSaleor
    | RequestInApp
    | ReplayWebhook
    | ActInPortal
    | Dispute
    | ScriptBankCode
    | BankDecides
    | HoldNotifications
    | DeliverNotification
    | PassTime
    | RunWorker
    | CatchUp
    | BreakSaleor
    | NextWebhook
    | RestartApp
    | SwitchKeys
    | NextCall
)


@dataclass(frozen=True)
class Ending:
    """How a story ends. ``bank``: its answer to all that is pending; None leaves pending what no timeout will end.

    ``letters``: what happens to the notifications that were held back. Those of operations of others always arrive:
    the app learns of them in no other way.
    """

    bank: bool | None = True
    notifications: Literal["lost", "late", "newest first"] = "lost"


@dataclass(frozen=True)
class Story:
    """One generated story. ``gateway`` are options of the point of sale (the sandbox's ``Behaviour``)."""

    steps: tuple[Step, ...]
    ending: Ending = Ending()
    gateway: tuple[tuple[str, Any], ...] = ()

    def __str__(self) -> str:
        steps = "".join(f"        {step!r},\n" for step in self.steps)
        more = "".join(
            f"    {name}={value!r},\n"
            for name, value, usual in (("ending", self.ending, Ending()), ("gateway", self.gateway, ()))
            if value != usual
        )
        return f"Story(\n    (\n{steps}    ),\n{more})"
