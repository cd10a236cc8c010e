"""Puts shares into what is about to be asked, and into the database with it (laws of money, 1).

The shares stand in ``Operation.request`` as they will be sent, and as ``SplitShare`` rows of the same commit. The rows
of an operation that had to wait are made anew when its turn comes: what is left of each share may have changed.

Where the gateway is told what is sold, products stand in a split item only if they sum to its amount (gateway
interface, Split item). Where anything else is in the shares (shipping by the lines, a discount that somebody else
bears, percentages), they do not, and the shares go without products.
"""

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

from pydantic import TypeAdapter

from app.db.aggregates import PaymentAggregate
from app.db.tables import Kind, MerchantAccount, Operation
from app.gateway.models.details import SplitItem
from app.gateway.models.products import AnyProduct, Products
from app.i18n.messages import LazyMessage, Money
from app.payments.core.action_request import ActionRequest
from app.payments.core.refusal import RefusalCode, RefusalError
from app.payments.split.allocation import ZERO, IndivisibleError, Shares, allocate, owner, total_of
from app.payments.split.fiscal_products import said_again
from app.payments.split.products import DELIVERY, article_of, basket_of, granted_lines, line_of
from app.payments.split.remainder import captured, given_back, granted_worth
from app.payments.split.rules import RulesError, SplitMode, SplitRules, names_of, read_rules
from app.payments.split.standing import allocated, is_split, standing_of
from app.saleor.events import GrantedRefund, SessionEvent
from app.saleor.source import Order, Source

_PRODUCTS = TypeAdapter(Products)
_EXACT_ENOUGH = Decimal("0.0001")


def rules_of(account: MerchantAccount) -> SplitRules:
    """Return an account's rules. Raises RefusalError when what is kept is not right any more."""
    try:
        return read_rules(account.split_rules)
    except RulesError as error:
        words = f"The split rules of the merchant account are not right: {error}."
        raise RefusalError(RefusalCode.SPLIT_NOT_POSSIBLE, words) from error


def split_of_payment(
    event: SessionEvent, account: MerchantAccount, products: Sequence[AnyProduct] | None = None
) -> tuple[SplitItem, ...] | None:
    """Return the shares of a payment to be made; None when the account splits nothing. Raises RefusalError.

    ``products`` are what the gateway is told of what is sold.
    """
    rules = rules_of(account)
    if not rules.on:
        return None
    basket = basket_of(event.source, rules.metadata_key)
    shares = items(allocate(rules, basket, event.action.amount, event.action.currency))
    return with_products(shares, products, owners_of(rules, event.source))


def split_of_step(
    aggregate: PaymentAggregate, kind: Kind, amount: Decimal, asked: ActionRequest, account: MerchantAccount
) -> dict[str, Any]:
    """Return what the request of a capture or refund says of shares; nothing when the payment is not split.

    A choice that staff made for the next refund is used here, and thereby used up: also where shares are said with the
    refund itself, which take its place. Raises RefusalError.
    """
    if kind not in {Kind.CAPTURE, Kind.REFUND} or not is_split(aggregate):
        return {}
    said: dict[str, Any] = {}
    if kind is Kind.REFUND:
        chosen = asked.chosen or aggregate.payment.next_refund_split
        if chosen is not None:
            said["chosen"] = chosen
        elif asked.granted is not None:
            said["by_lines"] = _worth(rules_of(account), asked.granted, asked.order)
    shares = _shares(aggregate, kind, amount, said, names=names_of(account.split_rules))
    if "chosen" in said:
        aggregate.payment.next_refund_split = None
    products = _products(said_again(aggregate, kind, amount, asked.granted).get("products"))
    return said | _on_the_wire(with_products(items(shares), products, owners_in(aggregate.create.request)))


def renew(aggregate: PaymentAggregate, operation: Operation) -> None:
    """Compute the shares of an operation anew whose turn has come. Raises RefusalError when that much is not left."""
    if operation.kind in {Kind.CAPTURE, Kind.REFUND} and is_split(aggregate):
        shares = _shares(aggregate, operation.kind, operation.amount, operation.request, turn_of=operation)
        told = [product for item in split_in(operation) or () for product in item.products or ()]
        renewed = with_products(items(shares), told, owners_in(aggregate.create.request))
        operation.request = operation.request | _on_the_wire(renewed)


def shares_said(operation: Operation) -> dict[str, Decimal]:
    """Return the shares that the request of an operation says, by sub-merchant."""
    return {item.sub_merchant_id: item.amount for item in split_in(operation) or ()}


def split_in(operation: Operation) -> tuple[SplitItem, ...] | None:
    """Return the shares that an operation's request says; None when it is not split."""
    said = operation.request.get("split")
    return tuple(SplitItem.model_validate(item) for item in said) if said else None


def items(shares: Mapping[str, Decimal]) -> tuple[SplitItem, ...]:
    """Return shares as the gateway takes them (gateway interface, Split item)."""
    return tuple(SplitItem(sub_merchant_id=who, amount=amount) for who, amount in shares.items())


def _on_the_wire(split: Sequence[SplitItem]) -> dict[str, Any]:
    return {"split": [item.model_dump(mode="json", exclude_none=True) for item in split]}


def _products(said: object) -> tuple[AnyProduct, ...]:
    return _PRODUCTS.validate_python(said or ())


def _shares(
    aggregate: PaymentAggregate,
    kind: Kind,
    amount: Decimal,
    said: Mapping[str, Any],
    *,
    turn_of: Operation | None = None,
    names: Mapping[str, str] | None = None,
) -> Shares:
    currency = aggregate.payment.currency
    if kind is Kind.CAPTURE:
        return captured(amount, allocated(aggregate), currency)
    standing = standing_of(aggregate, turn_of=turn_of)
    if chosen := said.get("chosen"):
        return _as_chosen(
            {who: Decimal(part) for who, part in chosen.items()}, amount, standing.at_most, currency, names
        )
    worth = {who: Decimal(value) for who, value in said.get("by_lines", {}).items()}
    try:
        return given_back(amount, standing.rest, currency, worth)
    except IndivisibleError:
        left = standing.rest.total
        words = LazyMessage(
            "%(sum)s cannot be refunded: the sub-merchants have %(left)s of it left.",
            sum=Money(amount, currency),
            left=Money(left, currency),
        )
        raise RefusalError(RefusalCode.NOT_POSSIBLE, words, "amount") from None


def _as_chosen(
    chosen: Shares, amount: Decimal, at_most: Mapping[str, Decimal], currency: str, names: Mapping[str, str] | None
) -> Shares:
    total = total_of(chosen.values())
    if total != amount:
        raise RefusalError(
            RefusalCode.NOT_POSSIBLE,
            LazyMessage(
                "It was chosen who gives back %(chosen)s next, but %(sum)s is asked: refund that amount, or choose "
                "anew (`saleor-gateway payments split`).",
                chosen=Money(total, currency),
                sum=Money(amount, currency),
            ),
            "amount",
        )
    check_choice(chosen, at_most, currency, names)
    return chosen


def check_choice(
    chosen: Mapping[str, Decimal], at_most: Mapping[str, Decimal], currency: str, names: Mapping[str, str] | None = None
) -> None:
    """Refuse a choice that takes more of somebody than they can have left. Raises RefusalError."""
    for who, part in chosen.items():
        left = at_most.get(who, ZERO)
        if part > left:
            name = (names or {}).get(who, who)
            words = LazyMessage(
                "%(sum)s cannot be taken from the sub-merchant %(who)s: %(left)s is left.",
                sum=Money(part, currency),
                who=name,
                left=Money(left, currency),
            )
            raise RefusalError(RefusalCode.NOT_POSSIBLE, words)


def _worth(rules: SplitRules, granted: GrantedRefund, order: Order | None) -> dict[str, str]:
    lines = granted_lines(granted, rules.metadata_key)
    included = granted.shipping_costs_included and order is not None and order.shipping_price is not None
    shipping = order.shipping_price.gross.amount if included and order and order.shipping_price else ZERO
    return _exactly(granted_worth(rules, lines, shipping=shipping).items())


def _exactly(worth: Iterable[tuple[str, Fraction]]) -> dict[str, str]:
    return {
        who: str((Decimal(value.numerator) / value.denominator).quantize(_EXACT_ENOUGH)) for who, value in sorted(worth)
    }


def owners_of(rules: SplitRules, source: Source) -> dict[str, str]:
    """Return whose each product is, by the id that the gateway is told it under."""
    if rules.mode is not SplitMode.METADATA:
        return {}
    owners: dict[str, str] = {}
    for line in source.lines:
        try:
            who = owner(rules, line_of(line, rules.metadata_key))
        except RefusalError:  # of a line that costs nothing; any other was refused before
            continue
        owners |= {article_of(line): who, line.sku or article_of(line): who}
    carrier = rules.default if rules.shipping == "default" else rules.shipping
    return owners if carrier in {None, "lines"} else owners | {DELIVERY: str(carrier), "delivery": str(carrier)}


def owners_in(request: Mapping[str, Any]) -> dict[str, str]:
    """Return the same from what a recorded request told."""
    return {
        product["id"]: item["sub_merchant_id"]
        for item in request.get("split") or ()
        for product in item.get("products") or ()
    }


def with_products(
    split: Sequence[SplitItem], products: Sequence[AnyProduct] | None, owners: Mapping[str, str]
) -> tuple[SplitItem, ...]:
    """Return the split items with the products that they are for; as they are, if products and shares do not agree."""
    goods: dict[str | None, list[AnyProduct]] = {}
    for product in products or ():
        goods.setdefault(owners.get(product.id), []).append(product)
    worth = {who: sum((each.total for each in theirs), Decimal()) for who, theirs in goods.items()}
    if worth != {item.sub_merchant_id: item.amount for item in split}:
        return tuple(split)
    return tuple(item.model_copy(update={"products": tuple(goods[item.sub_merchant_id])}) for item in split)
