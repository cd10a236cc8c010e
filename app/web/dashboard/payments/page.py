"""Builds the page of one payment. It contains no data of the shopper, and of a card no more than its mask."""

import base64
import binascii
import hashlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from urllib.parse import quote

from app.core.notification import StoredNotification
from app.core.payment import Payment, PaymentAggregate, SaleorEvent, returned_of_payout, row_id_of
from app.core.vocabulary import Flow, Kind
from app.flows.on_demand import undelivered_events, unprocessed_notifications
from app.i18n.messages import LazyMessage, Money, StoredMessage
from app.reports.descriptions import operation_name
from app.reports.payout_view import recipient_name, recipient_of
from app.reports.status import (
    PendingStep,
    ShownAmount,
    Standing,
    failure_reason,
    pending_steps,
    shown_amount,
    standings,
)
from app.reports.timeline import Entry, timeline
from app.rules.balance import Balance, balance
from app.rules.details import Details, payment_means_text
from app.rules.dialects import keeps_rest
from app.rules.problems import needs_decision, open_problems, problem_messages
from app.rules.split.overview import SubMerchantStanding, overview
from app.rules.split.rules import names_of
from app.rules.split.standing import chosen_shares, is_split, standing_of
from app.services import Services
from app.store.aggregates import account_of
from app.store.payouts import PayoutRecord, payout_of, payouts_for
from app.store.tables import Payout
from app.web.dashboard.payments.actions import ChargeOffer, Offer, charge_offers, offers
from app.web.dashboard.payments.refunds import RefundRow, refund_rows


@dataclass(frozen=True)
class Receipt:
    """The gateway's receipt of an operation: its address, and ``of``, the description of the operation."""

    address: str
    of: LazyMessage


@dataclass(frozen=True)
class PaymentPage:
    """A payment.

    ``split`` is empty when it is not split; ``chosen_total`` is None when the next refund follows the rules. ``reason``
    states why nothing was paid, ``said`` are the gateway's details of the payment itself, ``means`` describes how it
    was paid. ``saleor_order`` is the path of the order in the Dashboard, None where there is none yet. ``untold``
    events can be sent to Saleor again, ``unprocessed`` notifications processed again; ``needs_decision``: only a person
    can decide how it ended. ``payout``: its request, if it is a payout; ``payouts`` are those that relate to it.
    """

    aggregate: PaymentAggregate
    amount: ShownAmount
    is_test: bool
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
    refunds: list[RefundRow]
    split: list[SubMerchantStanding]
    assumed: bool
    chosen_total: Decimal | None
    account: str
    saleor_order: str | None
    untold: list[SaleorEvent]
    unprocessed: list[StoredNotification]
    needs_decision: bool
    entries: list[Entry]
    expected: list[PendingStep]
    payout: Payout | None
    recipient: str
    payouts: Sequence[PayoutRecord]
    can_pay_out: bool

    @property
    def payment(self) -> Payment:
        """The payment itself."""
        return self.aggregate.payment

    @property
    def returned(self) -> Decimal:
        """The amount of a payout that has come back."""
        return returned_of_payout(self.aggregate.operations)

    @property
    def keeps_rest(self) -> bool:
        """Whether the rest of an authorization can still be captured after a part of it was."""
        return keeps_rest(self.payment.account)

    @property
    def stamp(self) -> str:
        """The stamp by which an open page detects that it is stale."""
        return compute_stamp(self.aggregate)


def compute_stamp(aggregate: PaymentAggregate) -> str:
    """Return a hash that changes whenever something that a payment's page shows has changed."""
    done = [
        (operation.id, operation.state, operation.updated_at, operation.polls, operation.message)
        for operation in aggregate.operations
    ]
    events = [(event.id, event.state, event.attempts) for event in aggregate.events]
    state = repr((done, events, problem_messages(aggregate.payment), aggregate.payment.order_number))
    return hashlib.sha256(state.encode()).hexdigest()[:16]


async def load_page(services: Services, aggregate: PaymentAggregate) -> PaymentPage:
    """Return the page of a payment that was loaded, or has just been changed."""
    account = account_of(aggregate.payment)
    names = names_of(account.split_rules)
    details = Details.from_row(aggregate.create.details)
    split, chosen = is_split(aggregate), chosen_shares(aggregate)
    now = balance(aggregate.payment.flow, aggregate.operations)
    async with services.database.transaction() as session:
        notifications = await services.inbox.read_for_order(session, account.id, aggregate.payment.order_id)
        payout = await payout_of(session, row_id_of(aggregate.payment))
        payouts = await payouts_for(session, [aggregate.payment.id])
    return PaymentPage(
        aggregate=aggregate,
        amount=shown_amount(aggregate),
        is_test=account.test_project,
        notifications=notifications,
        standings=standings(aggregate),
        problems=problem_messages(aggregate.payment),
        now=now,
        offers=offers(now),
        recurring=charge_offers(now, aggregate.operations),
        reason=failure_reason(aggregate.create),
        said=details,
        means=payment_means_text(
            aggregate.payment.saved_card_mask or details.card_mask, details.payway, aggregate.payment.wallet
        ),
        receipts=_receipts(aggregate),
        refunds=refund_rows(aggregate.operations),
        split=overview(aggregate, names) if split else [],
        assumed=split and standing_of(aggregate).assumed,
        chosen_total=None if chosen is None else sum(chosen.values(), Decimal()),
        account=account.name,
        saleor_order=_order_path(aggregate.payment.source_id),
        untold=undelivered_events(aggregate),
        unprocessed=unprocessed_notifications(notifications),
        needs_decision=any(map(needs_decision, open_problems(aggregate.payment))),
        entries=timeline(aggregate, notifications, names)[::-1],
        expected=pending_steps(aggregate, notifications),
        payout=payout,
        recipient="" if payout is None else recipient_name(recipient_of(services, PayoutRecord(payout, aggregate))),
        payouts=payouts,
        can_pay_out=aggregate.payment.flow is not Flow.PAYOUT and account.enabled and account.payouts,
    )


def _receipts(aggregate: PaymentAggregate) -> list[Receipt]:
    """Return the receipts of all operations but refunds; a shared receipt is attributed to the first of them."""
    found: dict[str, Receipt] = {}
    for operation in aggregate.operations:
        address, flow = Details.from_row(operation.details).receipt_url, aggregate.payment.flow
        if address and address not in found and operation.kind is not Kind.REFUND:
            sum_ = Money(operation.amount, operation.currency)
            found[address] = Receipt(
                address, LazyMessage("%(what)s, %(sum)s", what=operation_name(operation.kind, flow), sum=sum_)
            )
    return list(found.values())


def _order_path(source_id: str) -> str | None:
    """Return the path of the paid order in the Dashboard; None while it is a checkout."""
    with suppress(binascii.Error, UnicodeDecodeError):
        if base64.b64decode(source_id, validate=True).decode().startswith("Order:"):
            return f"/orders/{quote(source_id, safe='')}"
    return None
