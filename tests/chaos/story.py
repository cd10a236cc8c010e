"""What can happen: steps, and stories made of them. A story is a value: what Hypothesis prints can be told again."""

from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from typing import Any, Literal

from hypothesis import strategies as st

Flow = Literal["CHARGE", "AUTHORIZATION"]
TOTAL = Decimal("569.50")
PARTS = tuple(Decimal(part) for part in ("10.00", "169.50", "400.00", "569.50"))


class Trouble(Enum):
    """What becomes of a call."""

    NOT_SENT = "no connection comes about"
    LOST = "it is lost on its way"
    ANSWER_LOST = "it is done, and its answer is lost"
    FAILED = "503, and nothing is done"
    DONE_AND_FAILED = "500, though it is done"
    GARBLED = "it is done, and its answer cannot be read"
    REFUSED = "429, and nothing is done"
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
    """Staff ask for something. ``granted``: by a granted refund, for which the checkout becomes an order."""

    action: Literal["CHARGE", "REFUND", "CANCEL"]
    amount: Decimal = TOTAL
    granted: bool = False
    on: int = 0


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
    """Somebody acts in the merchant portal."""

    method: Literal["capture", "void", "refund"]
    amount: Decimal = TOTAL
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
class SaleorIs:
    """What is wrong with Saleor's API, and for how many requests."""

    what: Literal["down", "broken", "mute"]
    times: int = 1


@dataclass(frozen=True)
class NextWebhook:
    """What becomes of the next webhook of Saleor: lost, answered in vain, or delivered twice."""

    fate: Literal["lost", "unheard", "twice"]


@dataclass(frozen=True)
class Restarts:
    """The app is started anew over the same database."""


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
    | Wants
    | PlaysBack
    | Portal
    | WillEnd
    | Decides
    | Post
    | Letter
    | Passes
    | Works
    | SaleorIs
    | NextWebhook
    | Restarts
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


# Which -----------------------------------------------------------------------------------------------------------

_which = st.sampled_from([0, 0, 0, 1])
_parts = st.sampled_from(PARTS)
_flows: st.SearchStrategy[Flow] = st.sampled_from(["CHARGE", "AUTHORIZATION"])
_asks: st.SearchStrategy[Step] = st.builds(
    Asks, st.sampled_from(["REFUND", "CHARGE", "CANCEL"]), _parts, st.sampled_from([False, False, True]), _which
)
_wants: st.SearchStrategy[Step] = st.builds(
    Wants,
    st.sampled_from(["refund", "capture", "void", "cancel"]),
    _parts,
    st.sampled_from([False, False, True]),
    _which,
)
_pays: st.SearchStrategy[Step] = st.builds(
    Pays, st.sampled_from(["1000", "1000", "2122", "2119", "4009", "2201"]), _which
)
_methods = st.sampled_from(["refund", "capture", "void"])
_quiet: st.SearchStrategy[Step] = st.one_of(
    st.builds(Works, st.sampled_from([1, 5])),
    _asks,
    _wants,
    st.builds(Letter, st.integers(0, 20)),
    st.builds(PlaysBack, st.integers(0, 8)),
    _pays,
    st.builds(ComesBack, _which, st.booleans()),
    st.builds(Portal, _methods, _parts, _which),
)
_calls: st.SearchStrategy[Step] = st.builds(
    NextCall,
    trouble=st.one_of(st.none(), st.sampled_from(list(Trouble))),
    meanwhile=st.one_of(st.none(), _quiet),
    late=st.booleans(),
    look=st.sampled_from([False, False, True]),
)
_rest: st.SearchStrategy[Step] = st.one_of(
    st.builds(Confirms, st.sampled_from([True, True, False]), _which),
    st.builds(Passes, st.sampled_from([1, 3, 20, 70, 60 * 24, 60 * 24 * 8])),
    st.builds(WillEnd, _methods, st.sampled_from(["2001", "2201", "4009"])),
    st.builds(Decides, st.booleans()),
    st.builds(Post, st.booleans()),
    st.builds(SaleorIs, st.sampled_from(["down", "broken", "mute"]), st.integers(1, 4)),
    st.builds(NextWebhook, st.sampled_from(["lost", "unheard", "twice"])),
    st.builds(Begins, _flows, st.booleans()),
    st.just(Restarts()),
)
_steps = st.one_of(_asks, _calls, _quiet, _rest)


def _beginning(flow: Flow) -> st.SearchStrategy[tuple[Step, ...]]:
    paid: tuple[Step, ...] = (Begins(flow), Pays())
    usual: tuple[Step, ...] = (*paid, Works())
    return st.sampled_from(
        [(Begins(flow),), paid, usual, usual] + ([(*usual, Asks("CHARGE"), Works())] if flow == "AUTHORIZATION" else [])
    )


def _gateways() -> st.SearchStrategy[tuple[tuple[str, Any], ...]]:
    options = st.sampled_from(
        [
            ("hosted_answer", "json"),
            ("one_operation_answer", "array"),
            ("unknown_order", "empty"),
            ("refusal", "record"),
            ("pending_webhook", False),
            ("automatic_capture_after", "P1D"),
            ("automatic_void_after", "P1D"),
        ]
    )
    return st.lists(options, max_size=2, unique_by=lambda option: option[0]).map(tuple)


def stories(longest: int = 10) -> st.SearchStrategy[Story]:
    """Return stories of at most so many steps after their beginning."""
    steps = st.one_of(
        st.tuples(_calls, st.builds(Begins, _flows)),  # trouble from the first call on
        _flows.flatmap(_beginning),
    )
    return st.builds(
        lambda beginning, rest, ending, gateway: Story((*beginning, *rest), ending, gateway),
        steps,
        st.lists(_steps, min_size=1, max_size=longest),
        st.builds(
            Ending, st.sampled_from([True, True, False, None]), st.sampled_from(["lost", "late", "newest first"])
        ),
        _gateways(),
    )
