"""Who got what of a split payment. No sub-merchant ever gives back more than it received."""

from collections.abc import Iterable
from decimal import Decimal
from uuid import UUID

from app.sandbox.book.book import Book
from app.sandbox.book.records import Payment, Share
from app.sandbox.book.refusals import InvalidFields


def must_sum_to(shares: Iterable[Share], amount: Decimal) -> None:
    """Raises InvalidFields unless the parts make up the whole. No page says so; every sample does."""
    total = sum((share.amount for share in shares), Decimal(0))
    if total != amount:
        raise InvalidFields([("split", f"amounts sum to {total}, not to {amount}")])


def received(book: Book, payment: Payment) -> list[Share]:
    """What the sub-merchants got: with two steps the capture says so, else the payment."""
    if payment.method == "auth":
        return [share for capture in book.living(payment, "capture") for share in capture.shares]
    return payment.shares


def left(book: Book, payment: Payment) -> dict[UUID, Decimal]:
    """What each sub-merchant can still give back. Refunds that are pending count as given."""
    sums: dict[UUID, Decimal] = {}
    for share in received(book, payment):
        sums[share.sub_merchant_id] = sums.get(share.sub_merchant_id, Decimal(0)) + share.amount
    for refund in book.living(payment, "refund"):
        for share in refund.shares:
            sums[share.sub_merchant_id] = sums.get(share.sub_merchant_id, Decimal(0)) - share.amount
    return sums


def must_fit(shares: Iterable[Share], limits: dict[UUID, Decimal]) -> None:
    """Raises InvalidFields when a part is larger than what that sub-merchant has."""
    rest = dict(limits)
    for share in shares:
        rest[share.sub_merchant_id] = rest.get(share.sub_merchant_id, Decimal(0)) - share.amount
        if rest[share.sub_merchant_id] < 0:
            raise InvalidFields([("split", f"more than sub-merchant {share.sub_merchant_id} received")])
