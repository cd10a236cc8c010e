"""``/_saleor/...``: the control API for tests and the demo, in JSON. ``FakeSaleor`` is its client.

Not part of Saleor, and not protected: this Saleor is for loopback.
"""

from collections.abc import Callable, Coroutine
from decimal import Decimal
from functools import cache
from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, Request

from app.saleor.testing.engine import Saleor
from app.saleor.testing.rendering import show_checkout, show_order, show_report, show_transaction
from app.saleor.testing.settings import SaleorFaults
from app.saleor.testing.storefront import CUSTOMER
from app.saleor.testing.views import (
    ActionView,
    AppView,
    AskedAction,
    CheckoutView,
    CompletionView,
    DeliveryView,
    GatewayView,
    GrantedLine,
    InstallationView,
    MemberView,
    MethodDeletionView,
    NewCheckout,
    OrderView,
    ReportView,
    SessionView,
    StoredMethodView,
    TransactionView,
)
from app.saleor.testing.vocabulary import HANDLE_PAYMENTS, Action, Flow


def _saleor(request: Request) -> Saleor:
    saleor: Saleor = request.app.state.saleor
    return saleor


Here = Annotated[Saleor, Depends(_saleor)]
Text = Annotated[str, Body()]
MaybeText = Annotated[str | None, Body()]
MaybeAmount = Annotated[Decimal | None, Body()]
Json = Annotated[Any, Body()]

_Handler = Callable[..., Coroutine[Any, Any, Any]]


@cache
def control_routes() -> APIRouter:
    """Return the routes of the control API, the same for every Saleor that is played in this process."""
    routes = APIRouter(prefix="/_saleor")
    acts: dict[str, _Handler] = {
        "/apps/install": _install,
        "/apps/uninstall": _uninstall,
        "/apps/activate": _activate,
        "/apps/deactivate": _deactivate,
        "/storefront/checkout": _new_checkout,
        "/storefront/gateway": _gateway,
        "/storefront/initialize": _initialize,
        "/storefront/process": _process,
        "/storefront/complete": _complete,
        "/storefront/stored-methods": _stored_methods,
        "/storefront/delete-method": _delete_method,
        "/customers/delete": _delete_customer,
        "/staff/sign-in": _sign_in,
        "/staff/action": _action,
        "/staff/at-once": _at_once,
        "/staff/order": _new_order,
        "/staff/cancel-order": _cancel_order,
        "/staff/grant": _grant,
        "/staff/refund-granted": _refund_granted,
        "/faults": _faults,
        "/rotate-key": _rotate_key,
        "/upgrade": _upgrade,
        "/forget-traffic": _forget_traffic,
        "/background-done": _background_done,
    }
    looks: dict[str, _Handler] = {
        "/apps": _apps,
        "/gateways": _gateways,
        "/deliveries": _deliveries,
        "/reports": _reports,
        "/transactions": _transactions,
        "/transactions/{transaction_id}": _transaction,
        "/checkouts/{checkout_id}": _checkout,
        "/orders": _orders,
        "/orders/{order_id}": _order,
    }
    for path, act in acts.items():
        routes.add_api_route(path, act, methods=["POST"])
    for path, look in looks.items():
        routes.add_api_route(path, look, methods=["GET"])
    return routes


async def _install(
    saleor: Here,
    manifest_url: Text,
    permissions: Annotated[tuple[str, ...], Body()] = (HANDLE_PAYMENTS,),
    *,
    activate: Annotated[bool, Body()] = True,
) -> InstallationView:
    return await saleor.apps.install(manifest_url, permissions, activate=activate)


async def _uninstall(saleor: Here, identifier: Annotated[str | None, Body(embed=True)] = None) -> None:
    saleor.apps.uninstall(identifier)


async def _activate(saleor: Here, identifier: Annotated[str | None, Body(embed=True)] = None) -> None:
    saleor.apps.activate(identifier)


async def _deactivate(saleor: Here, identifier: Annotated[str | None, Body(embed=True)] = None) -> None:
    saleor.apps.deactivate(identifier)


async def _new_checkout(saleor: Here, wanted: NewCheckout) -> CheckoutView:
    return saleor.storefront.new_checkout(wanted)


async def _gateway(
    saleor: Here,
    source_id: Text,
    *,
    data: Json = None,
    amount: MaybeAmount = None,
    gateway: MaybeText = None,
    caller: Text = CUSTOMER,
) -> GatewayView:
    return await saleor.storefront.gateway_initialize(
        source_id, data=data, amount=amount, gateway=gateway, caller=caller
    )


async def _initialize(
    saleor: Here,
    source_id: Text,
    *,
    amount: MaybeAmount = None,
    action: Annotated[Flow, Body()] = Flow.CHARGE,
    idempotency_key: MaybeText = None,
    data: Json = None,
    gateway: MaybeText = None,
    customer_ip: Text = "127.0.0.1",
    caller: Text = CUSTOMER,
) -> SessionView:
    return await saleor.storefront.initialize(
        source_id,
        amount=amount,
        action=action,
        idempotency_key=idempotency_key,
        data=data,
        gateway=gateway,
        customer_ip=customer_ip,
        caller=caller,
    )


async def _process(
    saleor: Here,
    transaction_id: Text,
    data: Json = None,
    customer_ip: Text = "127.0.0.1",
    caller: Text = CUSTOMER,
) -> SessionView:
    return await saleor.storefront.process(transaction_id, data=data, customer_ip=customer_ip, caller=caller)


async def _complete(saleor: Here, checkout_id: Annotated[str, Body(embed=True)]) -> CompletionView:
    return saleor.storefront.complete(checkout_id)


async def _stored_methods(saleor: Here, user_id: Text, channel_slug: Text, currency: Text) -> list[StoredMethodView]:
    return await saleor.stored_methods.listed(user_id, channel_slug, currency)


async def _delete_method(
    saleor: Here, user_id: Text, method_id: Text, channel_slug: Text, currency: Text
) -> MethodDeletionView:
    return await saleor.stored_methods.delete(user_id, method_id, channel_slug, currency)


async def _delete_customer(saleor: Here, user_id: Text, *, themselves: Annotated[bool, Body()] = False) -> None:
    saleor.customers.delete(user_id, themselves=themselves)


async def _sign_in(
    saleor: Here, email: Text, permissions: Annotated[tuple[str, ...] | None, Body()] = None
) -> MemberView:
    return MemberView.model_validate(saleor.state.sign_in(email, permissions))


async def _action(
    saleor: Here,
    transaction_id: Text,
    action: Annotated[Action, Body()],
    amount: MaybeAmount = None,
    reason: Text = "",
) -> ActionView:
    return saleor.staff.request_action(transaction_id, action, amount, reason)


async def _at_once(saleor: Here, wanted: Annotated[list[AskedAction], Body(embed=True)]) -> list[ActionView]:
    return saleor.staff.request_at_once(wanted)


async def _new_order(saleor: Here, wanted: NewCheckout) -> OrderView:
    return saleor.staff.new_order(wanted)


async def _cancel_order(saleor: Here, order_id: Annotated[str, Body(embed=True)]) -> OrderView:
    return saleor.staff.cancel_order(order_id)


async def _grant(
    saleor: Here,
    order_id: Text,
    amount: Annotated[Decimal, Body()],
    *,
    transaction_id: MaybeText = None,
    lines: Annotated[tuple[GrantedLine, ...], Body()] = (),
    reason: Text = "",
    shipping_costs_included: Annotated[bool, Body()] = False,
) -> ActionView:
    return saleor.staff.grant_refund(
        order_id,
        amount,
        transaction_id=transaction_id,
        lines=lines,
        reason=reason,
        shipping_costs_included=shipping_costs_included,
    )


async def _refund_granted(saleor: Here, granted_refund_id: Annotated[str, Body(embed=True)]) -> ActionView:
    return saleor.staff.refund_granted(granted_refund_id)


async def _faults(saleor: Here, faults: SaleorFaults) -> None:
    saleor.state.faults = faults


async def _rotate_key(saleor: Here) -> None:
    saleor.state.rotate_key()


async def _upgrade(saleor: Here, version: Annotated[str, Body(embed=True)]) -> None:
    saleor.state.upgrade(version)


async def _forget_traffic(saleor: Here) -> None:
    saleor.state.forget_traffic()


async def _background_done(saleor: Here) -> None:
    await saleor.state.background_done()


async def _apps(saleor: Here) -> list[AppView]:
    return saleor.apps.installed()


async def _gateways(saleor: Here) -> list[str]:
    return saleor.storefront.gateways()


async def _deliveries(saleor: Here) -> list[DeliveryView]:
    return [DeliveryView.model_validate(delivery) for delivery in saleor.state.deliveries]


async def _reports(saleor: Here) -> list[ReportView]:
    return [show_report(report) for report in saleor.state.reports]


async def _transactions(saleor: Here) -> list[TransactionView]:
    return [show_transaction(item) for item in saleor.state.transactions.values()]


async def _transaction(saleor: Here, transaction_id: str) -> TransactionView:
    return show_transaction(saleor.state.transaction(transaction_id))


async def _checkout(saleor: Here, checkout_id: str) -> CheckoutView:
    return show_checkout(saleor.state.checkout(checkout_id))


async def _orders(saleor: Here) -> list[OrderView]:
    return [show_order(order) for order in saleor.state.orders.values()]


async def _order(saleor: Here, order_id: str) -> OrderView:
    return show_order(saleor.state.order(order_id))
