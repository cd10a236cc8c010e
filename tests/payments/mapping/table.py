"""The table: the consequences of every request with every answer of the gateway.

The consequences are in ``rows.txt``, which explains its format. This module has what they are compared with: every
case, its text, and how it is played. ``test_mapping`` compares; ``page`` generates docs/mapping.md from both.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from gateway_client.statuses import WRONG_STATE
from tests.payments.mapping import scenes
from tests.payments.mapping.outcomes import (
    FAILED,
    FAULTS,
    OF_OPERATION,
    OF_PAYMENT,
    PAGE,
    PENDING,
    SHOPPERS_TURN,
    UNKNOWN,
    Outcome,
)
from tests.payments.mapping.scenes import Consequences
from tests.payments.mapping.stories import IMPOSSIBLE, LATE, OTHERS, Story
from tests.payments.shop import TOTAL, Shop

FLOWS = ("CHARGE", "AUTHORIZATION")
BANK = tuple(PENDING)
SHOPPER = tuple(SHOPPERS_TURN)
DECLINED = tuple(code for code in FAILED if code not in {"no code", "4119"})
NOT_FOR_ITS_STATE = tuple(code for code in DECLINED if code != WRONG_STATE)
LOST = tuple(UNKNOWN)
KINDS = {
    "@bank": BANK,
    "@shopper": SHOPPER,
    "@declined": DECLINED,
    "@declined but 4150": NOT_FOR_ITS_STATE,
    "@lost": LOST,
}
_ROWS = Path(__file__).parent / "rows.txt"


@dataclass(frozen=True, slots=True)
class Row:
    """Outcomes with the same consequences."""

    said: tuple[str, ...]
    answer: str
    kept: str
    told: str
    saleor: str

    @property
    def consequences(self) -> Consequences:
        """The expected consequences."""
        return Consequences(self.answer, self.kept, self.told, self.saleor)


@dataclass(frozen=True, slots=True)
class Section:
    """All cases of one request; ``name`` is its heading in ``rows.txt``.

    ``cases`` are the texts of all cases.

    ``play`` takes a shop, the name of a case and the flow (empty where there is only one).
    """

    name: str
    title: str
    intro: str
    first_column: str
    cases: Mapping[str, str]
    play: Callable[[Shop, str, str], Awaitable[Consequences]]
    flows: tuple[str, ...] = ("",)

    @property
    def rows(self) -> list[Row]:
        """The expected rows, in the order of the file."""
        return _rows(self.name)


def _rows(section: str) -> list[Row]:
    _, _, rest = _ROWS.read_text().partition(f"\n[{section}]\n")
    lines = rest.partition("\n[")[0].splitlines()
    return [_row(line) for line in lines if line.strip()]


def _row(line: str) -> Row:
    said, answer, kept, told, saleor = line.split(" | ")
    names = (KINDS.get(name, (name,)) for name in said.split(", "))
    return Row(tuple(chain.from_iterable(names)), answer, kept, told, saleor)


def _cases_of_outcomes(
    outcomes: Mapping[str, Outcome], play: Callable[[Shop, str, Outcome], Awaitable[Consequences]]
) -> tuple[Mapping[str, str], Callable[[Shop, str, str], Awaitable[Consequences]]]:
    async def case(shop: Shop, name: str, flow: str) -> Consequences:
        return await play(shop, flow, outcomes[name])

    return {name: outcome.words for name, outcome in outcomes.items()}, case


def _cases_of_stories(
    stories: Mapping[str, tuple[str, Story]],
) -> tuple[Mapping[str, str], Callable[[Shop, str, str], Awaitable[Consequences]]]:
    async def case(shop: Shop, name: str, _: str) -> Consequences:
        return await stories[name][1](shop)

    return {name: words for name, (words, _) in stories.items()}, case


def _staff(what: str, amount: str) -> Callable[[Shop, str, Outcome], Awaitable[Consequences]]:
    async def ask(shop: Shop, _: str, outcome: Outcome) -> Consequences:
        return await scenes.request_action(shop, what, amount, outcome)

    return ask


async def _close(shop: Shop, _: str, outcome: Outcome) -> Consequences:
    return await scenes.cancel_open_payment(shop, outcome)


_SAID = "The gateway says"
SECTIONS = (
    Section(
        "page",
        "A shopper begins to pay on the gateway's page",
        "`transactionInitialize`. The gateway is asked for a payment page.",
        _SAID,
        *_cases_of_outcomes(OF_PAYMENT | FAULTS | {"page": PAGE}, scenes.begin_on_page),
        FLOWS,
    ),
    Section(
        "card",
        "A shopper begins to pay with a card typed into the storefront",
        "`transactionInitialize` with a sealed card. The gateway is asked to take it.",
        _SAID,
        *_cases_of_outcomes(OF_PAYMENT | FAULTS, scenes.begin_with_card),
        FLOWS,
    ),
    Section(
        "back from the page",
        "A shopper comes back from the gateway's page",
        "`transactionProcess`. The order is looked up.",
        _SAID,
        *_cases_of_outcomes(OF_PAYMENT | FAULTS, scenes.return_from_page),
        FLOWS,
    ),
    Section(
        "back from the bank",
        "A shopper comes back from the bank",
        "`transactionProcess` of a typed card that waited for 3-D Secure. The order is looked up.",
        _SAID,
        *_cases_of_outcomes(OF_PAYMENT | FAULTS, scenes.return_from_bank),
        FLOWS,
    ),
    Section(
        "notified",
        "The gateway notifies the app of a payment",
        "The payment page was open. The shopper may never come back to the storefront.",
        _SAID,
        *_cases_of_outcomes(OF_PAYMENT, scenes.notify_payment),
        FLOWS,
    ),
    Section(
        "looked up",
        "No notification arrives: the worker looks the payment up",
        "The payment page was open. A minute later the worker looks the order up.",
        _SAID,
        *_cases_of_outcomes(OF_PAYMENT | FAULTS, scenes.look_up_payment),
        FLOWS,
    ),
    Section(
        "charge",
        "Staff charge a reservation",
        "All of the 569.50 that is reserved.",
        _SAID,
        *_cases_of_outcomes(OF_OPERATION | FAULTS, _staff("charge", TOTAL)),
    ),
    Section(
        "charge a part",
        "Staff charge a part of a reservation",
        "300.00 of 569.50. The gateway takes a reservation once, so the rest is released.",
        _SAID,
        *_cases_of_outcomes(OF_OPERATION | FAULTS, _staff("charge", "300.00")),
    ),
    Section(
        "refund",
        "Staff refund",
        "100.00 of the 569.50 that was paid.",
        _SAID,
        *_cases_of_outcomes(OF_OPERATION | FAULTS, _staff("refund", "100.00")),
    ),
    Section(
        "release",
        "Staff release a reservation",
        "They cancel, and 569.50 is reserved.",
        _SAID,
        *_cases_of_outcomes(OF_OPERATION | FAULTS, _staff("release", TOTAL)),
    ),
    Section(
        "close",
        "Staff cancel a payment that nobody has made yet",
        "The payment page is open.",
        _SAID,
        *_cases_of_outcomes(OF_PAYMENT | FAULTS, _close),
    ),
    Section(
        "others",
        "Others act on a payment",
        "In the merchant portal, or the provider by itself. Not requested in Saleor; 569.50 was reserved or paid.",
        "What happens",
        *_cases_of_stories(OTHERS),
    ),
    Section(
        "late",
        "The gateway reports late, or reports something else",
        "About a payment of 569.50, or about a staff request during which the connection broke.",
        "What the gateway reports, and when",
        *_cases_of_stories(LATE),
    ),
    Section(
        "impossible",
        "Staff request something impossible",
        "The gateway is not called. Staff read why, and what they can do instead.",
        "The request, and the state of the payment of 569.50",
        *_cases_of_stories(IMPOSSIBLE),
    ),
)
