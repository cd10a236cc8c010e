"""Build views from records."""

from saleor_app_sdk.testing.ids import global_id
from saleor_app_sdk.testing.records import Checkout, Event, GrantedRefund, Line, Order, Transaction
from saleor_app_sdk.testing.rules.coverage import authorize_status, charge_status, total_authorized, total_charged
from saleor_app_sdk.testing.saleor_state import ReceivedReport
from saleor_app_sdk.testing.views import (
    AmountsView,
    CheckoutView,
    EventView,
    GrantedRefundView,
    LineView,
    OrderView,
    ReportView,
    TransactionView,
)


def event_view(event: Event) -> EventView:
    """Return the view of an event."""
    return EventView.model_validate(event)


def transaction_view(item: Transaction) -> TransactionView:
    """Return the view of a transaction."""
    newest_first = sorted(item.events, key=lambda event: event.created_at, reverse=True)
    return TransactionView(
        id=item.id,
        token=item.token,
        name=item.name,
        currency=item.currency,
        psp_reference=item.psp_reference,
        external_url=item.external_url,
        actions=list(item.actions),
        readable=not item.unreadable,
        amounts=AmountsView.model_validate(item.amounts),
        events=[event_view(event) for event in newest_first],
        payment_method_details=item.payment_method_details,
        metadata=dict(item.metadata),
        private_metadata=dict(item.private_metadata),
        checkout_id=item.checkout.id if item.checkout else None,
        order_id=item.order.id if item.order else None,
    )


def _line_view(line: Line, kind: str) -> LineView:
    return LineView(
        id=global_id(kind, line.key),
        product_name=line.product_name,
        sku=line.sku,
        quantity=line.quantity,
        unit_price=line.unit_price,
        total=line.total,
    )


def checkout_view(checkout: Checkout) -> CheckoutView:
    """Return the view of a checkout."""
    basket = checkout.basket
    return CheckoutView(
        id=checkout.id,
        total=basket.total,
        currency=basket.currency,
        charge_status=charge_status(checkout),
        authorize_status=authorize_status(checkout),
        lines=[_line_view(line, "CheckoutLine") for line in basket.lines],
        transaction_ids=[item.id for item in checkout.transactions],
    )


def granted_refund_view(granted: GrantedRefund) -> GrantedRefundView:
    """Return the view of a granted refund."""
    return GrantedRefundView(
        id=granted.id,
        status=granted.status,
        amount=granted.amount,
        transaction_id=granted.transaction.id if granted.transaction else None,
    )


def order_view(order: Order) -> OrderView:
    """Return the view of an order."""
    basket = order.basket
    return OrderView(
        id=order.id,
        number=order.number,
        status=order.status,
        total=basket.total,
        currency=basket.currency,
        charge_status=charge_status(order),
        authorize_status=authorize_status(order),
        total_charged=total_charged(order),
        total_authorized=total_authorized(order),
        lines=[_line_view(line, "OrderLine") for line in basket.lines],
        transaction_ids=[item.id for item in order.transactions],
        granted_refunds=[granted_refund_view(granted) for granted in order.granted_refunds],
        metadata=dict(basket.metadata),
    )


def report_view(report: ReceivedReport) -> ReportView:
    """Return the view of a received report."""
    return ReportView(
        number=report.number,
        at=report.at,
        app_identifier=report.app_identifier,
        arguments=report.arguments,
        already_processed=report.already_processed,
        event=event_view(report.event) if report.event else None,
        errors=report.errors,
    )
