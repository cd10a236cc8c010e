"""Computes the shares of a request before it is sent, and records them in the database with it (laws of money, 1).

The shares are stored in ``Operation.request`` exactly as they will be sent, and as ``SplitShare`` rows in the same
commit. The rows of a waiting operation are recomputed when its turn comes, as the remainder of each share may have
changed.

If the account sends products to the gateway, a split item includes products only if they sum to its amount (gateway
interface, Split item). If the shares cover anything else (shipping by the lines, a discount borne by another
sub-merchant, percentages), they do not, and the shares are sent without products.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction

from pydantic import TypeAdapter

from app.core.payment import Account, Operation, PaymentAggregate
from app.core.request import GatewayObject, RequestDetails, with_split
from app.core.vocabulary import Kind
from app.i18n.messages import LazyMessage, Money
from app.rules.action_request import ActionRequest
from app.rules.refusal import RefusalCode, RefusalError, combine
from app.rules.split.allocation import ZERO, IndivisibleError, Shares, allocate, owner_of, total_of
from app.rules.split.fiscal_products import fiscal_details
from app.rules.split.products import DELIVERY, article_of, basket_of, granted_lines, line_of, products_of
from app.rules.split.remainder import divide_capture, divide_refund, granted_worth, worth_of_recipients
from app.rules.split.rules import RulesError, SplitMode, SplitRules, names_of, read_rules
from app.rules.split.standing import allocated_shares, chosen_shares, is_split, standing_of, unclaimed_shares
from app.store.tables import MerchantAccount
from gateway_client.models.details import SplitItem
from gateway_client.models.products import AnyProduct, Products
from saleor_app_sdk.events import GrantedRefund, SessionEvent
from saleor_app_sdk.source import Order, Source

_PRODUCTS = TypeAdapter(Products)
_WORTH_PRECISION = Decimal("0.0001")


def rules_of(account: Account) -> SplitRules:
    """Return an account's rules. Raises RefusalError when the stored rules are no longer valid."""
    try:
        return read_rules(account.split_rules)
    except RulesError as error:
        message = f"The split rules of the merchant account are invalid: {error}."
        raise RefusalError(RefusalCode.SPLIT_NOT_POSSIBLE, message) from error


@dataclass(frozen=True, slots=True)
class Division:
    """What a payment is for, and who receives it. None: no products are sent; the payment is not split."""

    products: tuple[AnyProduct, ...] | None
    split: tuple[SplitItem, ...] | None


def for_purchase(
    event: SessionEvent, account: MerchantAccount, language: str, receipt_delivery: str | None
) -> Division:
    """Return how a new payment is divided, by the account's products and split rules. Raises RefusalError."""
    amount, currency = event.action.amount, event.action.currency
    products = products_of(account, event.source, amount, currency, language, receipt_delivery=receipt_delivery)
    rules = rules_of(account)
    if not rules.on:
        return Division(products, None)
    basket = basket_of(event.source, rules.metadata_key)
    shares = to_split_items(allocate(rules, basket, amount, currency))
    return Division(products, with_products(shares, products, product_owners(rules, event.source)))


def for_capture(aggregate: PaymentAggregate, amount: Decimal) -> RequestDetails:
    """Return what a capture requests for its shares and its receipt. Raises RefusalError."""
    fiscal = fiscal_details(aggregate, Kind.CAPTURE, amount)
    return _with_shares(aggregate, Kind.CAPTURE, amount, fiscal) if is_split(aggregate) else fiscal


def for_refund(aggregate: PaymentAggregate, amount: Decimal, request: ActionRequest) -> RequestDetails:
    """Return what a refund requests for its shares and its receipt. Raises RefusalError.

    The shares that the request names come first, then the choice that staff made for the next refund, which is used up
    in any case; else those of the granted refund's lines.
    """
    fiscal = fiscal_details(aggregate, Kind.REFUND, amount, request.granted)
    if not is_split(aggregate):
        return fiscal
    account, details = aggregate.payment.account, RequestDetails()
    chosen = request.taken_from or chosen_shares(aggregate)
    if chosen is not None:
        details = RequestDetails(chosen_shares=chosen)
    elif request.granted is not None:
        received = allocated_shares(aggregate)
        worth = _granted_worth(rules_of(account).allowing(received), request.granted, request.order)
        details = RequestDetails(line_worth=_quantize_worth(worth_of_recipients(worth, received).items()))
    divided = _with_shares(aggregate, Kind.REFUND, amount, fiscal, details=details, names=names_of(account.split_rules))
    if chosen is not None:
        aggregate.payment.next_refund_split = None
    return divided


def _with_shares(
    aggregate: PaymentAggregate,
    kind: Kind,
    amount: Decimal,
    fiscal: RequestDetails,
    *,
    details: RequestDetails | None = None,
    names: Mapping[str, str] | None = None,
) -> RequestDetails:
    details = details or RequestDetails()
    shares = _compute_shares(aggregate, kind, amount, details, names=names)
    products, owners = _PRODUCTS.validate_python(fiscal.products), recorded_product_owners(aggregate.create.requested)
    return replace(details, split=_dump_items(with_products(to_split_items(shares), products, owners)))


def recompute_shares(aggregate: PaymentAggregate, operation: Operation) -> None:
    """Recompute the shares of a waiting operation whose turn has come.

    Raises RefusalError when less than its amount is left.
    """
    if operation.kind in {Kind.CAPTURE, Kind.REFUND} and is_split(aggregate):
        shares = _compute_shares(aggregate, operation.kind, operation.amount, operation.requested, resumed=operation)
        products = [product for item in split_items_of(operation) for product in item.products or ()]
        renewed = with_products(to_split_items(shares), products, recorded_product_owners(aggregate.create.requested))
        operation.request = with_split(operation.request, _dump_items(renewed))


def requested_shares(operation: Operation) -> dict[str, Decimal]:
    """Return the shares in the request of an operation, by sub-merchant."""
    return {item.sub_merchant_id: item.amount for item in split_items_of(operation)}


def split_items_of(operation: Operation) -> tuple[SplitItem, ...]:
    """Return the split items in an operation's request; none when it is not split."""
    return tuple(SplitItem.model_validate(item) for item in operation.requested.split)


def to_split_items(shares: Mapping[str, Decimal]) -> tuple[SplitItem, ...]:
    """Convert shares to the gateway's split items (gateway interface, Split item)."""
    return tuple(SplitItem(sub_merchant_id=who, amount=amount) for who, amount in shares.items())


def _dump_items(split: Sequence[SplitItem]) -> tuple[GatewayObject, ...]:
    return tuple(item.model_dump(mode="json", exclude_none=True) for item in split)


def _compute_shares(
    aggregate: PaymentAggregate,
    kind: Kind,
    amount: Decimal,
    details: RequestDetails,
    *,
    resumed: Operation | None = None,
    names: Mapping[str, str] | None = None,
) -> Shares:
    currency = aggregate.payment.currency
    if kind is Kind.CAPTURE:
        return divide_capture(amount, unclaimed_shares(aggregate, besides=resumed), currency)
    standing = standing_of(aggregate, with_waiting=resumed is None)
    if details.chosen_shares:
        return _validated_choice(dict(details.chosen_shares), amount, standing.at_most, currency, names)
    try:
        return divide_refund(amount, standing.rest, currency, details.line_worth or {})
    except IndivisibleError:
        left = standing.rest.total
        message = LazyMessage(
            "%(sum)s cannot be refunded: the sub-merchants have %(left)s of it left.",
            sum=Money(amount, currency),
            left=Money(left, currency),
        )
        raise RefusalError(RefusalCode.NOT_POSSIBLE, message, "amount") from None


def _validated_choice(
    chosen: Shares, amount: Decimal, at_most: Mapping[str, Decimal], currency: str, names: Mapping[str, str] | None
) -> Shares:
    total = total_of(chosen.values())
    if total != amount:
        raise RefusalError(
            RefusalCode.NOT_POSSIBLE,
            LazyMessage(
                "It was chosen who pays back the next %(chosen)s, but %(sum)s is requested: refund %(chosen)s, "
                "or choose again (`saleor-gateway payments split`).",
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
    """Reject a choice that takes more from sub-merchants than they can have left.

    Raises RefusalError with a reason for each of them, whose ``field`` is the sub-merchant.
    """
    refusals = []
    for who, part in chosen.items():
        left = at_most.get(who, ZERO)
        if part > left:
            name = (names or {}).get(who, who)
            message = LazyMessage(
                "%(sum)s cannot be taken from the sub-merchant %(who)s: %(left)s is left.",
                sum=Money(part, currency),
                who=name,
                left=Money(left, currency),
            )
            refusals.append(RefusalError(RefusalCode.NOT_POSSIBLE, message, who))
    if refusals:
        raise combine(refusals)


def _granted_worth(rules: SplitRules, granted: GrantedRefund, order: Order | None) -> dict[str, Fraction]:
    lines = granted_lines(granted, rules.metadata_key)
    shipping = ZERO
    if granted.shipping_costs_included and order is not None and order.shipping_price is not None:
        shipping = order.shipping_price.gross.amount
    return granted_worth(rules, lines, shipping=shipping)


def _quantize_worth(worth: Iterable[tuple[str, Fraction]]) -> dict[str, Decimal]:
    return {
        who: (Decimal(value.numerator) / value.denominator).quantize(_WORTH_PRECISION) for who, value in sorted(worth)
    }


def product_owners(rules: SplitRules, source: Source) -> dict[str, str]:
    """Return the sub-merchant of each product, by the product id that is sent to the gateway."""
    if rules.mode is not SplitMode.METADATA:
        return {}
    owners: dict[str, str] = {}
    for line in source.lines:
        try:
            who = owner_of(rules, line_of(line, rules.metadata_key))
        except RefusalError:  # a line that costs nothing; any other was refused before
            continue
        owners |= {article_of(line): who, line.sku or article_of(line): who}
    carrier = rules.default if rules.shipping == "default" else rules.shipping
    return owners if carrier in {None, "lines"} else owners | {DELIVERY: str(carrier), "delivery": str(carrier)}


def recorded_product_owners(requested: RequestDetails) -> dict[str, str]:
    """Return the sub-merchant of each product that was requested, by product id."""
    return {
        product["id"]: item["sub_merchant_id"] for item in requested.split for product in item.get("products") or ()
    }


def with_products(
    split: Sequence[SplitItem], products: Sequence[AnyProduct] | None, owners: Mapping[str, str]
) -> tuple[SplitItem, ...]:
    """Return the split items with their products; unchanged if products and shares do not add up to the same."""
    goods: dict[str | None, list[AnyProduct]] = {}
    for product in products or ():
        goods.setdefault(owners.get(product.id), []).append(product)
    worth = {who: sum((share.total for share in theirs), Decimal()) for who, theirs in goods.items()}
    if worth != {item.sub_merchant_id: item.amount for item in split}:
        return tuple(split)
    return tuple(item.model_copy(update={"products": tuple(goods[item.sub_merchant_id])}) for item in split)
