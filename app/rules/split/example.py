"""A worked example of split rules, shown to the person who sets them up. Pure."""

from dataclasses import dataclass
from decimal import Decimal

from app.i18n.messages import LazyMessage, Money
from app.rules.split.allocation import ZERO, Basket, Line, Shares, allocate
from app.rules.split.remainder import GrantedLine, Remainder, divide_refund, granted_worth
from app.rules.split.rules import SplitMode, SplitRules

_SELLERS = ("11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222")
_SHIPPING, _GIFT_CARD = Decimal("80.00"), Decimal("50.00")


@dataclass(frozen=True, slots=True)
class Step:
    """A step of the example, a payment or refund, and the share of each sub-merchant in it."""

    words: LazyMessage
    amount: Decimal
    shares: Shares


@dataclass(frozen=True, slots=True)
class Example:
    """The items bought (as text that includes amounts), and the steps in order, with amounts in ``currency``."""

    currency: str
    bought: tuple[LazyMessage, ...]
    steps: tuple[Step, ...]


def worked_example(rules: SplitRules, currency: str = "UAH") -> Example:
    """Return a payment and two refunds under ``rules``; empty when payments are not split."""
    if not rules.on:
        return Example(currency, (), ())
    sellers = _sellers(rules)
    mugs = Line(LazyMessage("2 mugs"), Decimal("239.98"), sellers[0])
    lamp = Line(LazyMessage("a lamp"), Decimal("399.99"), sellers[-1], before_discounts=Decimal("449.99"))
    ribbon = Line(LazyMessage("a ribbon"), Decimal("15.00"))
    lines = [mugs, lamp] + ([ribbon] if rules.default else [])
    paid = sum((line.total for line in lines), ZERO) + _SHIPPING - _GIFT_CARD
    received = allocate(rules, Basket(lines, paid, _SHIPPING, _GIFT_CARD), paid, currency)
    one_mug = mugs.total / 2
    worth = granted_worth(rules, [GrantedLine(mugs, 1, 2)], shipping=ZERO)
    whole = Remainder.of(received)
    first = divide_refund(one_mug, whole, currency, worth)
    plain = Decimal("100.00")
    second = divide_refund(plain, whole.after(first, currency), currency)
    return Example(
        currency,
        (
            *(_describe_line(rules, line, currency) for line in lines),
            LazyMessage("shipping: %(sum)s", sum=Money(_SHIPPING, currency)),
            LazyMessage("%(sum)s of it paid with a gift card", sum=Money(_GIFT_CARD, currency)),
        ),
        (
            Step(LazyMessage("The shopper pays"), paid, received),
            Step(LazyMessage("Staff refund one of the mugs"), one_mug, first),
            Step(LazyMessage("Staff refund a sum, for no line in particular"), plain, second),
        ),
    )


def _sellers(rules: SplitRules) -> tuple[str, ...]:
    """Return two sellers: sub-merchants from the rules, if there are any."""
    known = [*rules.percentages, *rules.names]
    others = [who for who in dict.fromkeys(known) if who != rules.default]
    return tuple(others[:2] or ([rules.default] if known and rules.default else _SELLERS))


def _describe_line(rules: SplitRules, line: Line, currency: str) -> LazyMessage:
    price = LazyMessage("%(item)s: %(sum)s", item=line.name, sum=Money(line.total, currency))
    if line.before_discounts is not None:
        before = Money(line.before_discounts, currency)
        price = LazyMessage("%(price)s (instead of %(before)s)", price=price, before=before)
    if rules.mode is SplitMode.PERCENTAGES:
        return price
    if not line.sub_merchant:
        return LazyMessage("%(price)s, with no sub-merchant named", price=price)
    return LazyMessage("%(price)s, sold by %(seller)s", price=price, seller=rules.name_of(line.sub_merchant))
