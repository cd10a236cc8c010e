"""What can happen: steps, and stories made of them. A story is a value: what Hypothesis prints can be told again."""

from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from typing import Any, Literal

Flow = Literal["CHARGE", "AUTHORIZATION"]
TOTAL = Decimal("569.50")


class Trouble(Enum):
    """What becomes of a call."""

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
        return f"Trouble.{self.name}"


@dataclass(frozen=True)
class Begins:
    """A shopper begins to pay; ``again``: with the idempotency key of the last time, else with another one."""

    flow: Flow = "CHARGE"
    again: bool = False


@dataclass(frozen=True)
class Pays:
    """The shopper tries a card on the gateway's page; ``code`` is what the bank says (gateway interface, Errors)."""

    code: str = "1000"
    on: int = 0


@dataclass(frozen=True)
class Confirms:
    """The shopper passes or fails 3-D Secure."""

    passed: bool = True
    on: int = 0


@dataclass(frozen=True)
class ComesBack:
    """The storefront asks how it stands (``transactionProcess``); ``page``: the shopper only looks at our page."""

    on: int = 0
    page: bool = False


@dataclass(frozen=True)
class Asks:
    """Staff ask for something. ``granted``: by a granted refund, for which the checkout becomes an order.

    ``lines``: one piece of each of so many lines of the order is granted; the amount is what staff typed all the same.
    """

    action: Literal["CHARGE", "REFUND", "CANCEL"]
    amount: Decimal = TOTAL
    granted: bool = False
    on: int = 0
    lines: int = 0


@dataclass(frozen=True)
class AsksAgain:
    """Staff ask once more for the refund that was granted last, as the Dashboard offers while it is not refunded."""

    on: int = 0


@dataclass(frozen=True)
class AskAtOnce:
    """Two people of the staff ask for something in the same moment. ``same``: both for one granted refund."""

    first: Asks
    second: Asks
    same: bool = False


@dataclass(frozen=True)
class AppIs:
    """What staff make of the app in Saleor; each counts only where it is not so already."""

    what: Literal["inactive", "active", "deleted", "installed"]


@dataclass(frozen=True)
class SaleorMoves:
    """Saleor gets another address, and staff install the app there; ``known``: the operator says that it has moved.

    Each counts only where it is not so already.
    """

    known: bool = False


@dataclass(frozen=True)
class Wants:
    """Staff ask at our own door. ``twice``: the form is sent twice, also if the app has died over it."""

    kind: Literal["capture", "void", "refund", "cancel"]
    amount: Decimal = TOTAL
    twice: bool = False
    on: int = 0


@dataclass(frozen=True)
class PlaysBack:
    """A webhook that Saleor has sent before comes again, byte by byte."""

    number: int


@dataclass(frozen=True)
class Portal:
    """Somebody acts in the merchant portal. ``silent``: no notification tells of it, ever."""

    method: Literal["capture", "void", "refund"]
    amount: Decimal = TOTAL
    on: int = 0
    silent: bool = False


@dataclass(frozen=True)
class Disputes:
    """The payer's bank takes money back: at once (``1000``), or it is open (``2201``) until the bank decides."""

    amount: Decimal = TOTAL
    code: str = "1000"
    on: int = 0


@dataclass(frozen=True)
class WillEnd:
    """What the bank will say to the next operation of that method."""

    method: Literal["capture", "void", "refund"]
    code: str


@dataclass(frozen=True)
class Decides:
    """The bank decides about everything that is pending."""

    success: bool = True


@dataclass(frozen=True)
class Post:
    """Notifications are held back from now on, or set out again."""

    held: bool


@dataclass(frozen=True)
class Letter:
    """A notification is delivered, now: one that was held back (out of its order), or one that came before."""

    number: int


@dataclass(frozen=True)
class Passes:
    """Time goes by. What the gateway does by itself happens; our worker sleeps."""

    minutes: int


@dataclass(frozen=True)
class Works:
    """The worker does some rounds."""

    rounds: int = 5


@dataclass(frozen=True)
class CatchesUp:
    """The gateway's notifications arrive, and the worker does what follows from them."""


@dataclass(frozen=True)
class SaleorIs:
    """What is wrong with Saleor's API, and for how many requests."""

    what: Literal["down", "broken", "mute"]
    times: int = 1


@dataclass(frozen=True)
class NextWebhook:
    """What becomes of the next webhook of Saleor.

    lost: it does not arrive; unheard: Saleor waits no longer for the answer; swallowed: a proxy says 502 in place of
    the answer, and Saleor tries again with an empty body; twice: it arrives twice; read late: ``meanwhile`` happens
    between the answer and Saleor's reading of it.
    """

    fate: Literal["lost", "unheard", "swallowed", "twice", "read late"]
    meanwhile: "Step | None" = None


@dataclass(frozen=True)
class Restarts:
    """The app is started anew over the same database."""


@dataclass(frozen=True)
class Keys:
    """The app is started anew over an encryption key that does not open the account's keys, or does again."""

    open: bool


@dataclass(frozen=True)
class NextCall:
    """What becomes of the next call that moves money (``look``: of the next look-up).

    ``meanwhile`` happens while the call is under way: before it is done, or (``late``) when it is done and not answered
    yet.
    """

    trouble: Trouble | None = None
    meanwhile: "Step | None" = None
    late: bool = False
    look: bool = False


Step = (
    Begins
    | Pays
    | Confirms
    | ComesBack
    | Asks
    | AsksAgain
    | AskAtOnce
    | AppIs
    | SaleorMoves
    | Wants
    | PlaysBack
    | Portal
    | Disputes
    | WillEnd
    | Decides
    | Post
    | Letter
    | Passes
    | Works
    | CatchesUp
    | SaleorIs
    | NextWebhook
    | Restarts
    | Keys
    | NextCall
)


@dataclass(frozen=True)
class Ending:
    """How the storm ends. ``bank``: what it says to all that is pending; None leaves open what no time will end.

    ``letters``: what becomes of the notifications that were held back. Those of what others did always come: nobody
    else would tell us of it.
    """

    bank: bool | None = True
    letters: Literal["lost", "late", "newest first"] = "lost"


@dataclass(frozen=True)
class Story:
    """One made-up story. ``gateway`` are options of the point of sale (``app.sandbox.settings.Behaviour``)."""

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
