"""``/_saleor/...``: the control API for tests and the demo, in JSON. ``FakeSaleor`` is its client.

Not part of Saleor, and without access control: this Saleor is for loopback only.
"""

from collections.abc import Callable, Coroutine
from decimal import Decimal
from functools import cache
from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, Request

from saleor_app_sdk.testing.engine import Saleor
from saleor_app_sdk.testing.rendering import checkout_view, order_view, report_view, transaction_view
from saleor_app_sdk.testing.settings import SaleorFaults
from saleor_app_sdk.testing.storefront import CUSTOMER
from saleor_app_sdk.testing.views import (
    ActionView,
    AppView,
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
    RequestedAction,
    SessionView,
    StoredMethodView,
    TransactionView,
)
from saleor_app_sdk.testing.vocabulary import HANDLE_PAYMENTS, Action, Flow


def _saleor(request: Request) -> Saleor:
    saleor: Saleor = request.app.state.saleor
    return saleor


CurrentSaleor = Annotated[Saleor, Depends(_saleor)]
Text = Annotated[str, Body()]
OptionalText = Annotated[str | None, Body()]
OptionalAmount = Annotated[Decimal | None, Body()]
Json = Annotated[Any, Body()]

_Handler = Callable[..., Coroutine[Any, Any, Any]]


@cache
def control_routes() -> APIRouter:
    """Return the routes of the control API, shared by all Saleors in this process."""
    routes = APIRouter(prefix="/_saleor")
    actions: dict[str, _Handler] = {
        "/apps/install": _install,
        "/apps/uninstall": _uninstall,
        "/apps/activate": _activate,
        "/apps/deactivate": _deactivate,
        "/storefront/checkout": _create_checkout,
        "/storefront/gateway": _gateway,
        "/storefront/initialize": _initialize,
        "/storefront/process": _process,
        "/storefront/complete": _complete,
        "/storefront/delete-checkout": _delete_checkout,
        "/storefront/stored-methods": _stored_methods,
        "/storefront/delete-method": _delete_method,
        "/customers/delete": _delete_customer,
        "/customers/token": _customer_token,
        "/staff/sign-in": _sign_in,
        "/staff/action": _request_action,
        "/staff/at-once": _request_actions,
        "/staff/order": _create_order,
        "/staff/cancel-order": _cancel_order,
        "/staff/expire-order": _expire_order,
        "/staff/return-order": _return_order,
        "/staff/change-total": _change_total,
        "/staff/grant": _grant_refund,
        "/staff/refund-granted": _request_refund_for_granted_refund,
        "/events": _send_event,
        "/faults": _set_faults,
        "/rotate-key": _rotate_key,
        "/upgrade": _upgrade,
        "/forget-traffic": _clear_traffic,
        "/background-done": _wait_for_background,
    }
    queries: dict[str, _Handler] = {
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
    for path, handler in actions.items():
        routes.add_api_route(path, handler, methods=["POST"])
    for path, handler in queries.items():
        routes.add_api_route(path, handler, methods=["GET"])
    return routes


async def _install(
    saleor: CurrentSaleor,
    manifest_url: Text,
    permissions: Annotated[tuple[str, ...], Body()] = (HANDLE_PAYMENTS,),
    *,
    activate: Annotated[bool, Body()] = True,
) -> InstallationView:
    return await saleor.apps.install(manifest_url, permissions, activate=activate)


async def _uninstall(saleor: CurrentSaleor, identifier: Annotated[str | None, Body(embed=True)] = None) -> None:
    saleor.apps.uninstall(identifier)


async def _activate(saleor: CurrentSaleor, identifier: Annotated[str | None, Body(embed=True)] = None) -> None:
    saleor.apps.activate(identifier)


async def _deactivate(saleor: CurrentSaleor, identifier: Annotated[str | None, Body(embed=True)] = None) -> None:
    saleor.apps.deactivate(identifier)


async def _create_checkout(saleor: CurrentSaleor, wanted: NewCheckout) -> CheckoutView:
    return saleor.storefront.create_checkout(wanted)


async def _gateway(
    saleor: CurrentSaleor,
    source_id: Text,
    *,
    data: Json = None,
    amount: OptionalAmount = None,
    gateway: OptionalText = None,
    caller: Text = CUSTOMER,
) -> GatewayView:
    return await saleor.storefront.gateway_initialize(
        source_id, data=data, amount=amount, gateway=gateway, caller=caller
    )


async def _initialize(
    saleor: CurrentSaleor,
    source_id: Text,
    *,
    amount: OptionalAmount = None,
    action: Annotated[Flow, Body()] = Flow.CHARGE,
    idempotency_key: OptionalText = None,
    data: Json = None,
    gateway: OptionalText = None,
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
    saleor: CurrentSaleor,
    transaction_id: Text,
    data: Json = None,
    customer_ip: Text = "127.0.0.1",
    caller: Text = CUSTOMER,
) -> SessionView:
    return await saleor.storefront.process(transaction_id, data=data, customer_ip=customer_ip, caller=caller)


async def _complete(saleor: CurrentSaleor, checkout_id: Annotated[str, Body(embed=True)]) -> CompletionView:
    return saleor.storefront.complete(checkout_id)


async def _stored_methods(
    saleor: CurrentSaleor, user_id: Text, channel_slug: Text, currency: Text
) -> list[StoredMethodView]:
    return await saleor.stored_methods.list_methods(user_id, channel_slug, currency)


async def _delete_method(
    saleor: CurrentSaleor, user_id: Text, method_id: Text, channel_slug: Text, currency: Text
) -> MethodDeletionView:
    return await saleor.stored_methods.delete(user_id, method_id, channel_slug, currency)


async def _send_event(
    saleor: CurrentSaleor, event: Text, fields: Annotated[dict[str, Any], Body()]
) -> list[DeliveryView]:
    return [DeliveryView.model_validate(sent) for sent in await saleor.notifications.send(event, fields)]


async def _delete_customer(
    saleor: CurrentSaleor, user_id: Text, *, themselves: Annotated[bool, Body()] = False
) -> None:
    saleor.customers.delete(user_id, themselves=themselves)


async def _customer_token(saleor: CurrentSaleor, user_id: Annotated[str, Body(embed=True)]) -> str:
    return saleor.state.customer_token(user_id)


async def _sign_in(
    saleor: CurrentSaleor, email: Text, permissions: Annotated[tuple[str, ...] | None, Body()] = None
) -> MemberView:
    return MemberView.model_validate(saleor.state.sign_in(email, permissions))


async def _request_action(
    saleor: CurrentSaleor,
    transaction_id: Text,
    action: Annotated[Action, Body()],
    amount: OptionalAmount = None,
    reason: Text = "",
) -> ActionView:
    return saleor.staff.request_action(transaction_id, action, amount, reason)


async def _request_actions(
    saleor: CurrentSaleor, wanted: Annotated[list[RequestedAction], Body(embed=True)]
) -> list[ActionView]:
    return saleor.staff.request_actions(wanted)


async def _create_order(saleor: CurrentSaleor, wanted: NewCheckout) -> OrderView:
    return saleor.staff.create_order(wanted)


async def _cancel_order(saleor: CurrentSaleor, order_id: Annotated[str, Body(embed=True)]) -> OrderView:
    return saleor.staff.cancel_order(order_id)


async def _expire_order(saleor: CurrentSaleor, order_id: Annotated[str, Body(embed=True)]) -> OrderView:
    return saleor.staff.expire_order(order_id)


async def _return_order(saleor: CurrentSaleor, order_id: Annotated[str, Body(embed=True)]) -> OrderView:
    return saleor.staff.return_order(order_id)


async def _change_total(saleor: CurrentSaleor, source_id: Text, total: Annotated[Decimal, Body()]) -> None:
    saleor.staff.change_total(source_id, total)


async def _delete_checkout(saleor: CurrentSaleor, checkout_id: Annotated[str, Body(embed=True)]) -> None:
    saleor.storefront.delete_checkout(checkout_id)


async def _grant_refund(
    saleor: CurrentSaleor,
    order_id: Text,
    amount: Annotated[Decimal, Body()],
    *,
    transaction_id: OptionalText = None,
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


async def _request_refund_for_granted_refund(
    saleor: CurrentSaleor, granted_refund_id: Annotated[str, Body(embed=True)]
) -> ActionView:
    return saleor.staff.request_refund_for_granted_refund(granted_refund_id)


async def _set_faults(saleor: CurrentSaleor, faults: SaleorFaults) -> None:
    saleor.state.faults = faults


async def _rotate_key(saleor: CurrentSaleor) -> None:
    saleor.state.rotate_key()


async def _upgrade(saleor: CurrentSaleor, version: Annotated[str, Body(embed=True)]) -> None:
    saleor.state.upgrade(version)


async def _clear_traffic(saleor: CurrentSaleor) -> None:
    saleor.state.clear_traffic()


async def _wait_for_background(saleor: CurrentSaleor) -> None:
    await saleor.state.wait_for_background()


async def _apps(saleor: CurrentSaleor) -> list[AppView]:
    return saleor.apps.installed_apps()


async def _gateways(saleor: CurrentSaleor) -> list[str]:
    return saleor.storefront.gateways()


async def _deliveries(saleor: CurrentSaleor) -> list[DeliveryView]:
    return [DeliveryView.model_validate(delivery) for delivery in saleor.state.deliveries]


async def _reports(saleor: CurrentSaleor) -> list[ReportView]:
    return [report_view(report) for report in saleor.state.reports]


async def _transactions(saleor: CurrentSaleor) -> list[TransactionView]:
    return [transaction_view(item) for item in saleor.state.transactions.values()]


async def _transaction(saleor: CurrentSaleor, transaction_id: str) -> TransactionView:
    return transaction_view(saleor.state.transaction(transaction_id))


async def _checkout(saleor: CurrentSaleor, checkout_id: str) -> CheckoutView:
    return checkout_view(saleor.state.checkout(checkout_id))


async def _orders(saleor: CurrentSaleor) -> list[OrderView]:
    return [order_view(order) for order in saleor.state.orders.values()]


async def _order(saleor: CurrentSaleor, order_id: str) -> OrderView:
    return order_view(saleor.state.order(order_id))
