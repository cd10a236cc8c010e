"""All that staff are shown of one payment. It holds nothing of the shopper, and of a card no more than its mask."""

import base64
import binascii
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from urllib.parse import quote

from app.dashboard.payments.actions import Offer, offers
from app.db.aggregates import PaymentAggregate
from app.db.inbox import StoredNotification
from app.db.tables import Payment, SaleorEvent
from app.payments.core.balance import Balance, balance
from app.payments.core.details import Details
from app.payments.core.problems import needs_decision, open_problems, problem_messages
from app.payments.services import Services
from app.payments.split.choice import chosen_in
from app.payments.split.overview import OneOfThem, overview
from app.payments.split.rules import names_of
from app.payments.split.standing import is_split, standing_of
from app.payments.staff.status import Expected, Standing, expectations, standings
from app.payments.staff.timeline import Entry, timeline
from app.payments.sync.on_demand import unprocessed, untold


@dataclass(frozen=True)
class PaymentPage:
    """A payment. ``split`` is empty when it is not split; ``chosen_total`` None when the next refund goes by rules.

    ``said`` is what the gateway said of the payment itself, ``receipts`` those of all operations. ``saleor_order`` is
    the path of the order in the Dashboard, None where there is none yet. ``untold`` and ``unprocessed`` can be told, or
    made something of, again; ``needs_decision``: only a person can say how it ended.
    """

    aggregate: PaymentAggregate
    notifications: Sequence[StoredNotification]
    standings: tuple[Standing, ...]
    problems: Sequence[str]
    now: Balance
    offers: list[Offer]
    said: Details
    receipts: list[str]
    split: list[OneOfThem]
    assumed: bool
    chosen_total: Decimal | None
    account: str
    saleor_order: str | None
    untold: list[SaleorEvent]
    unprocessed: list[StoredNotification]
    needs_decision: bool
    entries: list[Entry]
    expected: list[Expected]

    @property
    def payment(self) -> Payment:
        """The payment itself."""
        return self.aggregate.payment


async def page_of(services: Services, aggregate: PaymentAggregate) -> PaymentPage:
    """Return what is known of a payment that has been read, or has just been changed."""
    account = aggregate.payment.account
    notifications = await services.inbox.of_order(account.id, aggregate.payment.order_id)
    names = names_of(account.split_rules)
    split, chosen = is_split(aggregate), chosen_in(aggregate)
    now = balance(aggregate.payment.flow, aggregate.operations)
    return PaymentPage(
        aggregate=aggregate,
        notifications=notifications,
        standings=standings(aggregate),
        problems=problem_messages(aggregate.payment),
        now=now,
        offers=offers(now),
        said=Details.kept(aggregate.create.details),
        receipts=_receipts(aggregate),
        split=overview(aggregate, names) if split else [],
        assumed=split and standing_of(aggregate).assumed,
        chosen_total=None if chosen is None else sum(chosen.values(), Decimal()),
        account=account.name,
        saleor_order=_path_of_order(aggregate.payment.source_id),
        untold=untold(aggregate),
        unprocessed=unprocessed(notifications),
        needs_decision=any(map(needs_decision, open_problems(aggregate.payment))),
        entries=timeline(aggregate, notifications, names),
        expected=expectations(aggregate, notifications),
    )


def _receipts(aggregate: PaymentAggregate) -> list[str]:
    said = (Details.kept(each.details).receipt_url for each in aggregate.operations)
    return list(dict.fromkeys(address for address in said if address))


def _path_of_order(source_id: str) -> str | None:
    """Return where the Dashboard shows the order that was paid; None while it is a checkout."""
    with suppress(binascii.Error, UnicodeDecodeError):
        if base64.b64decode(source_id, validate=True).decode().startswith("Order:"):
            return f"/orders/{quote(source_id, safe='')}"
    return None
