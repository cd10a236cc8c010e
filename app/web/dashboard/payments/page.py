"""The page of one payment for one member of staff.

It contains no data of the shopper, and of a card no more than its mask.
"""

import base64
import binascii
import hashlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from urllib.parse import quote

from fastapi import HTTPException
from fastapi.responses import HTMLResponse

from app.core.notification import StoredNotification
from app.core.payment import Operation, Payment, PaymentAggregate, SaleorEvent, returned_of_payout, row_id_of
from app.core.vocabulary import Flow, Kind, Origin, State
from app.i18n.messages import LazyMessage, Money, StoredMessage, gettext_noop
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
    undelivered_events,
    unprocessed_notifications,
)
from app.reports.timeline import Entry, timeline
from app.rules.balance import Balance, balance
from app.rules.details import Details, payment_means_text
from app.rules.dialects import keeps_rest
from app.rules.problems import needs_decision, open_problems, problem_messages
from app.rules.split.overview import SubMerchantStanding, overview
from app.rules.split.rules import names_of
from app.rules.split.standing import chosen_shares, is_split, standing_of
from app.rules.subscription import Schedule, requested_schedule
from app.services import Services
from app.store.aggregates import ByOrder, account_of
from app.store.payouts import PayoutRecord, payout_of, payouts_for
from app.store.tables import Payout
from app.web.dashboard.payments.actions import ChargeOffer, Flash, Offer, charge_offers, offers
from app.web.dashboard.renderer import PAYMENTS, PAYOUTS, Renderer
from app.web.dashboard.staff import Staff, http_error

_NO_PAYMENT = gettext_noop("This store has no such payment.")
_STANDINGS_OF_REFUNDS = {State.SUCCESS: Standing.REFUNDED, State.FAILURE: Standing.FAILED}


@dataclass(frozen=True, slots=True)
class RefundRow:
    """One refund. ``by`` is None when the app requested it; ``receipt`` is the address of the gateway's receipt.

    ``reason`` is what whoever requested it gave; ``failure`` is why it failed.
    """

    at: datetime
    amount: Decimal
    standing: Standing
    failure: StoredMessage | None
    reason: str | None
    by: str | None
    receipt: str | None


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
    def schedule(self) -> Schedule | None:
        """The schedule of the subscription that the storefront has asked for."""
        return requested_schedule(self.aggregate)

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


def refund_rows(operations: Sequence[Operation]) -> list[RefundRow]:
    """Return the refunds among these operations, the newest first, whatever became of them."""
    refunds = [operation for operation in operations if operation.kind is Kind.REFUND]
    return [_refund_row(operation) for operation in sorted(refunds, key=lambda refund: refund.created_at, reverse=True)]


def _refund_row(operation: Operation) -> RefundRow:
    return RefundRow(
        at=operation.booked_at or operation.created_at,
        amount=operation.amount,
        standing=_STANDINGS_OF_REFUNDS.get(operation.state, Standing.REFUNDING),
        failure=failure_reason(operation),
        reason=operation.requested.comment,
        by=_requester(operation),
        receipt=Details.from_row(operation.details).receipt_url,
    )


def _requester(operation: Operation) -> str | None:
    if operation.requester is Origin.GATEWAY:
        return LazyMessage("not requested here")
    if operation.asked_by is not None:
        return operation.asked_by
    return "Saleor" if operation.requester is Origin.SALEOR else None


class PaymentRenderer:
    """Renders pages of payments."""

    def __init__(self, services: Services, renderer: Renderer) -> None:
        self._services = services
        self._renderer = renderer

    async def render(
        self,
        staff: Staff,
        order_id: str,
        flash: Flash | None = None,
        looked_up: object = None,
        *,
        at: str | None = None,
    ) -> HTMLResponse:
        """Return the page, with the result of an action in ``flash``. Raises what ``load`` raises.

        ``looked_up`` is the gateway's response to a look-up, to be shown as it is (``look_up_routes.LookUpResult``).
        ``at``: the path of the page, when it is not the requested one.
        """
        return await self.render_aggregate(staff, await self.load(staff, order_id), flash, looked_up, at=at)

    async def render_aggregate(
        self,
        staff: Staff,
        aggregate: PaymentAggregate,
        flash: Flash | None = None,
        looked_up: object = None,
        *,
        at: str | None = None,
    ) -> HTMLResponse:
        """Return the page of a payment that is loaded already, such as one that was just changed."""
        page = await load_page(self._services, aggregate)
        address = f"{self._renderer.base}/payments/{page.payment.order_id}"
        about = {
            "payment": page.payment,
            "address": address,
            "saleor": staff.installation.saleor_api_url,
            "flash": flash,
            "asked": looked_up,
            "stamp": page.stamp,
            "keeps_rest": page.keeps_rest,
            "schedule": page.schedule,
            "returned": page.returned,
            **vars(page),
        }
        here = PAYMENTS if page.payout is None else PAYOUTS
        return await self._renderer.part("payments/page.html", staff, here=here, at=at, **about)

    async def load(self, staff: Staff, order_id: str) -> PaymentAggregate:
        """Return a payment for reading only. Raises HTTPException 404 when the store has no such payment."""
        aggregate = await self._services.payments.find(ByOrder(order_id, installation_id=staff.installation.id))
        if aggregate is None:
            raise unknown_payment_error(staff)
        return aggregate


def unknown_payment_error(staff: Staff) -> HTTPException:
    """Return the error that the store has no such payment."""
    return http_error(404, "UNKNOWN_PAYMENT", staff.translation, _NO_PAYMENT)
