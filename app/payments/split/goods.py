"""Which products a share is for, where the gateway is told what is sold (gateway interface, Split item). Pure.

Products stand in a split item only if they sum to its amount. Where anything else is in the shares (shipping by the
lines, a discount that somebody else bears, percentages), they do not, and the shares go without products.
"""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from app.gateway.models.details import SplitItem
from app.gateway.models.products import AnyProduct
from app.payments.core.refusal import RefusalError
from app.payments.split.allocation import owner
from app.payments.split.basket import line_of
from app.payments.split.products import DELIVERY, article_of
from app.payments.split.rules import SplitMode, SplitRules
from app.saleor.source import Source


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
