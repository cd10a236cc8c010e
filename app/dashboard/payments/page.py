"""All that staff are shown of one payment. It holds nothing of the shopper, and of a card no more than its mask."""

import base64
import binascii
import hashlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from urllib.parse import quote

from app.dashboard.payments.actions import ChargeOffer, Offer, charge_offers, offers
from app.db.aggregates import PaymentAggregate, row_id_of
from app.db.inbox import StoredNotification
from app.db.payouts import PayoutRecord, payout_of, payouts_for
from app.db.tables import Flow, Payment, Payout, SaleorEvent
from app.i18n.messages import LazyMessage, Money, StoredMessage
from app.payments.core.balance import Balance, balance
from app.payments.core.details import Details, means_of
from app.payments.core.problems import needs_decision, open_problems, problem_messages
from app.payments.services import Services
from app.payments.split.choice import chosen_in
from app.payments.split.overview import OneOfThem, overview
from app.payments.split.rules import names_of
from app.payments.split.standing import is_split, standing_of
from app.payments.staff.payout_view import recipient_name, recipient_of
from app.payments.staff.status import Expected, Standing, expectations, standings, why_failed
from app.payments.staff.timeline import Entry, name_of, timeline
from app.payments.sync.on_demand import unprocessed, untold


@dataclass(frozen=True)
class Receipt:
    """The gateway's receipt of an operation: its address, and ``of`` what it is."""

    address: str
    of: LazyMessage


@dataclass(frozen=True)
class PaymentPage:
    """A payment. ``split`` is empty when it is not split; ``chosen_total`` None when the next refund goes by rules.
    ``reason`` is why nothing was paid, ``said`` what the gateway said of the payment itself, ``means`` how it was paid,
    in words. ``saleor_order`` is the path of the order in the Dashboard, None
    where there is none yet. ``untold`` and ``unprocessed`` can be told, or made something of, again;
    ``needs_decision``: only a person can say how it ended. ``payout``: who wanted it, if it is one; ``payouts`` are
    those that are about it.
    """

    aggregate: PaymentAggregate
    notifications: Sequence[StoredNotification]
    standings: tuple[Standing, ...]
    problems: Sequence[str]
    now: Balance
    offers: list[Offer]
    recurring: list[ChargeOffer]
    reason: StoredMessage | None
    said: Details
    means: str | None
    receipts: list[Receipt]
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
    payout: Payout | None
    recipient: str
    payouts: Sequence[PayoutRecord]
    can_pay_out: bool

    @property
    def payment(self) -> Payment:
        """The payment itself."""
        return self.aggregate.payment

    @property
    def stamp(self) -> str:
        """By which a page that is shown knows that it is of yesterday."""
        return stamp_of(self.aggregate)


def stamp_of(aggregate: PaymentAggregate) -> str:
    """Return what differs as soon as something that a payment's page shows has changed."""
    done = [(each.id, each.state, each.updated_at, each.polls, each.message) for each in aggregate.operations]
    told = [(each.id, each.state, each.attempts) for each in aggregate.events]
    shown = repr((done, told, problem_messages(aggregate.payment), aggregate.payment.order_number))
    return hashlib.sha256(shown.encode()).hexdigest()[:16]


async def page_of(services: Services, aggregate: PaymentAggregate) -> PaymentPage:
    """Return what is known of a payment that has been read, or has just been changed."""
    account = aggregate.payment.account
    names = names_of(account.split_rules)
    said = Details.kept(aggregate.create.details)
    split, chosen = is_split(aggregate), chosen_in(aggregate)
    now = balance(aggregate.payment.flow, aggregate.operations)
    async with services.database.transaction() as session:
        notifications = await services.inbox.read(session, account.id, aggregate.payment.order_id)
        payout = await payout_of(session, row_id_of(aggregate.payment))
        payouts = await payouts_for(session, [aggregate.payment.id])
    return PaymentPage(
        aggregate=aggregate,
        notifications=notifications,
        standings=standings(aggregate),
        problems=problem_messages(aggregate.payment),
        now=now,
        offers=offers(now),
        recurring=charge_offers(now, aggregate.operations),
        reason=why_failed(aggregate.create),
        said=said,
        means=means_of(aggregate.payment.saved_card_mask or said.card_mask, said.payway, aggregate.payment.wallet),
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
        payout=payout,
        recipient="" if payout is None else recipient_name(recipient_of(services, PayoutRecord(payout, aggregate))),
        payouts=payouts,
        can_pay_out=aggregate.payment.flow is not Flow.PAYOUT and account.enabled and account.payouts,
    )


def _receipts(aggregate: PaymentAggregate) -> list[Receipt]:
    """Return the receipts of all operations; one that several of them share is the first one's."""
    found: dict[str, Receipt] = {}
    for each in aggregate.operations:
        address, flow = Details.kept(each.details).receipt_url, aggregate.payment.flow
        if address and address not in found:
            sum_ = Money(each.amount, each.currency)
            found[address] = Receipt(address, LazyMessage("%(what)s, %(sum)s", what=name_of(each.kind, flow), sum=sum_))
    return list(found.values())


def _path_of_order(source_id: str) -> str | None:
    """Return where the Dashboard shows the order that was paid; None while it is a checkout."""
    with suppress(binascii.Error, UnicodeDecodeError):
        if base64.b64decode(source_id, validate=True).decode().startswith("Order:"):
            return f"/orders/{quote(source_id, safe='')}"
    return None
