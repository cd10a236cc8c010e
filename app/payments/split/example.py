"""A payment worked out by somebody's rules, so that whoever sets them up sees what they mean. Pure."""

from dataclasses import dataclass
from decimal import Decimal

from app.payments.split.allocation import ZERO, Basket, Line, Shares, allocate
from app.payments.split.remainder import GrantedLine, Remainder, given_back, granted_worth
from app.payments.split.rules import SplitMode, SplitRules

_SELLERS = ("11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222")
_SHIPPING, _GIFT_CARD = Decimal("80.00"), Decimal("50.00")


@dataclass(frozen=True, slots=True)
class Step:
    """Something that happens to the money, and what it means for each sub-merchant."""

    words: str
    amount: Decimal
    shares: Shares


@dataclass(frozen=True, slots=True)
class Example:
    """What is bought (in words, amounts included), and what happens to the money, in order."""

    bought: tuple[str, ...]
    steps: tuple[Step, ...]


def worked_example(rules: SplitRules, currency: str = "UAH") -> Example:
    """Return a payment and two refunds under ``rules``; nothing happens where nothing is split."""
    if not rules.on:
        return Example((), ())
    sellers = _sellers(rules)
    mugs = Line("2 mugs", Decimal("239.98"), sellers[0])
    lamp = Line("a lamp", Decimal("399.99"), sellers[-1], before_discounts=Decimal("449.99"))
    ribbon = Line("a ribbon", Decimal("15.00"))
    lines = [mugs, lamp] + ([ribbon] if rules.default else [])
    paid = sum((line.total for line in lines), ZERO) + _SHIPPING - _GIFT_CARD
    received = allocate(rules, Basket(lines, paid, _SHIPPING, _GIFT_CARD), paid, currency)
    one_mug = mugs.total / 2
    worth = granted_worth(rules, [GrantedLine(mugs, 1, 2)], shipping=ZERO)
    whole = Remainder.of(received)
    first = given_back(one_mug, whole, currency, worth)
    plain = Decimal("100.00")
    second = given_back(plain, whole.after(first, currency), currency)
    return Example(
        (
            *(_bought(rules, line, currency) for line in lines),
            f"shipping: {_SHIPPING} {currency}",
            f"{_GIFT_CARD} {currency} of it paid with a gift card",
        ),
        (
            Step("The shopper pays", paid, received),
            Step("Staff refund one of the mugs", one_mug, first),
            Step("Staff refund a sum, for no line in particular", plain, second),
        ),
    )


def _sellers(rules: SplitRules) -> tuple[str, ...]:
    """Return two that sell something: known ones, as far as there are any."""
    known = [*rules.percentages, *rules.names]
    others = [who for who in dict.fromkeys(known) if who != rules.default]
    return tuple(others[:2] or ([rules.default] if known and rules.default else _SELLERS))


def _bought(rules: SplitRules, line: Line, currency: str) -> str:
    price = f"{line.name}: {line.total} {currency}"
    if line.before_discounts is not None:
        price += f" (instead of {line.before_discounts})"
    if rules.mode is SplitMode.PERCENTAGES:
        return price
    return f"{price}, sold by {rules.name_of(line.named)}" if line.named else f"{price}, with nobody named"
