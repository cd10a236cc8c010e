"""``FakeSaleor``: people's actions at a Saleor, over its control API."""

import ssl
from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import cache
from types import TracebackType
from typing import Any, Self, TypeVar
from urllib.parse import quote

import httpx2
from pydantic import BaseModel, TypeAdapter
from pydantic_core import to_json

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
    View,
)
from saleor_app_sdk.testing.vocabulary import HANDLE_PAYMENTS, Action, Flow


@cache
def shared_ssl_context() -> ssl.SSLContext:
    """Return the TLS context that all clients of this process share: creating one takes 20 to 45 ms."""
    return ssl.create_default_context()


_View = TypeVar("_View", bound=View)

# An app may take 18 seconds, be called six times and have five minutes in between: callers set their own limit.
_DEFAULT_TIMEOUT = 60.0


class FakeSaleor:
    """A client for the actions of shoppers and staff at the Saleor at ``url`` (``http://127.0.0.1:8000``).

    All ids are global ids. Amounts are Decimal. Unknown ids raise ``LookupError``. Actions that Saleor requests from
    the app in the background (charge, refund, cancel) are complete when ``wait_for_background`` returns.
    """

    def __init__(self, url: str, *, timeout: float = _DEFAULT_TIMEOUT) -> None:
        self.url = url.rstrip("/")
        self._http = httpx2.AsyncClient(
            base_url=f"{self.url}/_saleor", timeout=timeout, verify=shared_ssl_context(), trust_env=False
        )

    @property
    def api_url(self) -> str:
        """The URL of the GraphQL API, as apps know it."""
        return f"{self.url}/graphql/"

    @property
    def dashboard_url(self) -> str:
        """The URL of the Dashboard's front page, for browsers."""
        return f"{self.url}/dashboard/"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    # Apps

    async def install(
        self, manifest_url: str, permissions: Sequence[str] = (HANDLE_PAYMENTS,), *, activate: bool = True
    ) -> InstallationView:
        """Install an app, as staff with the permission to do so. Check ``status``: INSTALLED or FAILED."""
        arguments = {"manifest_url": manifest_url, "permissions": list(permissions), "activate": activate}
        return await self._call("/apps/install", InstallationView, arguments)

    async def uninstall(self, identifier: str | None = None) -> None:
        """Delete an app (the only one if ``identifier`` is None)."""
        await self._post("/apps/uninstall", {"identifier": identifier})

    async def activate(self, identifier: str | None = None) -> None:
        """Activate an installed app."""
        await self._post("/apps/activate", {"identifier": identifier})

    async def deactivate(self, identifier: str | None = None) -> None:
        """Deactivate an installed app."""
        await self._post("/apps/deactivate", {"identifier": identifier})

    async def apps(self) -> list[AppView]:
        """Return the installed apps with the problems that they reported."""
        return await self._list("/apps", AppView)

    # Shopper

    async def gateways(self) -> list[str]:
        """Return the payment gateways available to a storefront."""
        identifiers: list[str] = _raise_for_status(await self._http.get("/gateways")).json()
        return identifiers

    async def create_checkout(self, wanted: NewCheckout | None = None) -> CheckoutView:
        """Create a checkout (569.50 UAH by default)."""
        return await self._call("/storefront/checkout", CheckoutView, wanted or NewCheckout())

    async def gateway_initialize(
        self,
        source_id: str,
        *,
        data: Any = None,
        amount: Decimal | None = None,
        gateway: str | None = None,
        caller: str = CUSTOMER,
    ) -> GatewayView:
        """``paymentGatewayInitialize`` on a checkout or order, by ``caller`` as in ``initialize``."""
        arguments = {"source_id": source_id, "data": data, "amount": amount, "gateway": gateway, "caller": caller}
        return await self._call("/storefront/gateway", GatewayView, arguments)

    async def initialize(
        self,
        source_id: str,
        *,
        amount: Decimal | None = None,
        action: Flow = Flow.CHARGE,
        idempotency_key: str | None = None,
        data: Any = None,
        gateway: str | None = None,
        customer_ip: str = "127.0.0.1",
        caller: str = CUSTOMER,
    ) -> SessionView:
        """``transactionInitialize`` on a checkout or order; the default amount is what is left to pay.

        ``caller``: its ``customer``, signed in if there is one; ``nobody``; or the global id of a user or app.
        """
        arguments = {
            "source_id": source_id,
            "amount": amount,
            "action": action,
            "idempotency_key": idempotency_key,
            "data": data,
            "gateway": gateway,
            "customer_ip": customer_ip,
            "caller": caller,
        }
        return await self._call("/storefront/initialize", SessionView, arguments)

    async def process(
        self, transaction_id: str, *, data: Any = None, customer_ip: str = "127.0.0.1", caller: str = CUSTOMER
    ) -> SessionView:
        """``transactionProcess``, on the shopper's return from the payment page; by ``caller`` as in ``initialize``."""
        arguments = {"transaction_id": transaction_id, "data": data, "customer_ip": customer_ip, "caller": caller}
        return await self._call("/storefront/process", SessionView, arguments)

    async def complete(self, checkout_id: str) -> CompletionView:
        """``checkoutComplete``: an order, or CHECKOUT_NOT_FULLY_PAID."""
        return await self._call("/storefront/complete", CompletionView, {"checkout_id": checkout_id})

    async def stored_methods(
        self, user_id: str, channel_slug: str = "uah", currency: str = "UAH"
    ) -> list[StoredMethodView]:
        """``me { storedPaymentMethods }``, for the customer with that global id; Saleor caches it for five minutes."""
        arguments = {"user_id": user_id, "channel_slug": channel_slug, "currency": currency}
        response = await self._post("/storefront/stored-methods", arguments)
        return TypeAdapter(list[StoredMethodView]).validate_json(response.content)

    async def delete_method(
        self, user_id: str, method_id: str, channel_slug: str = "uah", currency: str = "UAH"
    ) -> MethodDeletionView:
        """``storedPaymentMethodRequestDelete`` by that customer; ``method_id`` is the ``id`` that Saleor returned."""
        arguments = {"user_id": user_id, "method_id": method_id, "channel_slug": channel_slug, "currency": currency}
        return await self._call("/storefront/delete-method", MethodDeletionView, arguments)

    async def delete_customer(self, user_id: str, *, themselves: bool = False) -> None:
        """``customerDelete`` by staff, or ``accountDelete`` by that customer: checkouts are deleted, orders stay."""
        await self._post("/customers/delete", {"user_id": user_id, "themselves": themselves})

    async def customer_token(self, user_id: str) -> str:
        """Sign the customer with that global id in; return the access token with which a storefront acts for them."""
        token: str = (await self._post("/customers/token", {"user_id": user_id})).json()
        return token

    # Staff

    async def send_event(self, event: str, fields: Mapping[str, Any]) -> list[DeliveryView]:
        """Send any event (ORDER_PAID, CHECKOUT_CALCULATE_TAXES) to the apps that subscribe to it.

        ``fields`` are those of the event's type, from which each subscription takes what it selects: a field that is
        selected and missing becomes null, and is listed in ``unplayed``. Returns the deliveries with their responses.
        """
        response = await self._post("/events", {"event": event, "fields": dict(fields)})
        return TypeAdapter(list[DeliveryView]).validate_json(response.content)

    async def sign_in(self, email: str, permissions: Sequence[str] | None = None) -> MemberView:
        """Sign a member of staff in to ``/dashboard/``; with ``permissions`` they are created or changed first."""
        arguments = {"email": email, "permissions": None if permissions is None else list(permissions)}
        return await self._call("/staff/sign-in", MemberView, arguments)

    async def access_token(self, app_id: str) -> str:
        """Return an access token as the Dashboard sends it to an app's page, for the signed-in member of staff."""
        response = _raise_for_status(await self._http.get(f"{self.dashboard_url}apps/{quote(app_id)}/token"))
        token: str = response.json()["token"]
        return token

    async def charge(self, transaction_id: str, amount: Decimal | None = None) -> ActionView:
        """Request a charge; without an amount, of everything that is authorized."""
        return await self._request(transaction_id, Action.CHARGE, amount)

    async def refund(self, transaction_id: str, amount: Decimal | None = None, reason: str = "") -> ActionView:
        """Request a refund; without an amount, of everything that is charged. ``reason``: from Saleor 3.22 on."""
        return await self._request(transaction_id, Action.REFUND, amount, reason)

    async def cancel(self, transaction_id: str, amount: Decimal | None = None) -> ActionView:
        """Request a cancelation of the authorized amount, which may be zero (an unpaid hosted payment)."""
        return await self._request(transaction_id, Action.CANCEL, amount)

    async def request_actions(self, *actions: RequestedAction) -> list[ActionView]:
        """Request several actions at the same moment: the webhook of each lists the requests of all."""
        response = await self._post("/staff/at-once", {"wanted": list(actions)})
        return TypeAdapter(list[ActionView]).validate_json(response.content)

    async def create_order(self, wanted: NewCheckout | None = None) -> OrderView:
        """Create an unpaid order, as staff do by telephone."""
        return await self._call("/staff/order", OrderView, wanted or NewCheckout())

    async def cancel_order(self, order_id: str) -> OrderView:
        """Cancel an order."""
        return await self._call("/staff/cancel-order", OrderView, {"order_id": order_id})

    async def expire_order(self, order_id: str) -> OrderView:
        """End an order that was not paid in time."""
        return await self._call("/staff/expire-order", OrderView, {"order_id": order_id})

    async def return_order(self, order_id: str) -> OrderView:
        """Return all products of an order, without granting a refund."""
        return await self._call("/staff/return-order", OrderView, {"order_id": order_id})

    async def change_total(self, source_id: str, total: Decimal) -> None:
        """Change what a checkout or an order comes to."""
        await self._post("/staff/change-total", {"source_id": source_id, "total": total})

    async def delete_checkout(self, checkout_id: str) -> None:
        """Delete a checkout; its transactions stay."""
        await self._post("/storefront/delete-checkout", {"checkout_id": checkout_id})

    async def grant_refund(
        self,
        order_id: str,
        amount: Decimal,
        *,
        transaction_id: str | None = None,
        lines: Sequence[GrantedLine] = (),
        reason: str = "",
        shipping_costs_included: bool = False,
    ) -> ActionView:
        """Grant a refund on an order; ``request_refund_for_granted_refund`` then requests it from the app."""
        arguments = {
            "order_id": order_id,
            "amount": amount,
            "transaction_id": transaction_id,
            "lines": list(lines),
            "reason": reason,
            "shipping_costs_included": shipping_costs_included,
        }
        return await self._call("/staff/grant", ActionView, arguments)

    async def request_refund_for_granted_refund(self, granted_refund_id: str) -> ActionView:
        """Request a granted refund from the app."""
        return await self._call("/staff/refund-granted", ActionView, {"granted_refund_id": granted_refund_id})

    async def wait_for_background(self) -> None:
        """Wait until every action has been delivered, retried and recorded."""
        await self._post("/background-done", {})

    # Reading

    async def transaction(self, transaction_id: str) -> TransactionView:
        """Return the current state of a transaction."""
        return await self._get(f"/transactions/{transaction_id}", TransactionView)

    async def transactions(self) -> list[TransactionView]:
        """Return all transactions, oldest first."""
        return await self._list("/transactions", TransactionView)

    async def checkout(self, checkout_id: str) -> CheckoutView:
        """Return the current state of a checkout."""
        return await self._get(f"/checkouts/{checkout_id}", CheckoutView)

    async def order(self, order_id: str) -> OrderView:
        """Return the current state of an order."""
        return await self._get(f"/orders/{order_id}", OrderView)

    async def orders(self) -> list[OrderView]:
        """Return all orders, oldest first."""
        return await self._list("/orders", OrderView)

    async def deliveries(self, event: str | None = None) -> list[DeliveryView]:
        """Return every request to an app, oldest first; with ``event``, only those of one kind.

        ``event`` is a webhook event in lower case, ``manifest`` or ``token``.
        """
        deliveries = await self._list("/deliveries", DeliveryView)
        return [delivery for delivery in deliveries if event in {None, delivery.event}]

    async def reports(self) -> list[ReportView]:
        """Return every received ``transactionEventReport``, oldest first."""
        return await self._list("/reports", ReportView)

    # Faults and changes

    async def set_faults(self, **faults: Any) -> None:
        """Set exactly these faults (fields of ``SaleorFaults``); all others are cleared."""
        await self._post("/faults", SaleorFaults(**faults))

    async def clear_faults(self) -> None:
        """Clear all faults."""
        await self.set_faults()

    async def rotate_key(self) -> None:
        """Sign with a new key from now on."""
        await self._post("/rotate-key", {})

    async def upgrade(self, version: str) -> None:
        """Change Saleor's version in place; the store stays as it is, and the apps are not notified."""
        await self._post("/upgrade", {"version": version})

    async def clear_traffic(self) -> None:
        """Clear the recorded deliveries and reports; their effects stay."""
        await self._post("/forget-traffic", {})

    async def _request(
        self, transaction_id: str, action: Action, amount: Decimal | None, reason: str = ""
    ) -> ActionView:
        arguments = {"transaction_id": transaction_id, "action": action, "amount": amount, "reason": reason}
        return await self._call("/staff/action", ActionView, arguments)

    async def _call(self, path: str, view: type[_View], arguments: dict[str, Any] | BaseModel) -> _View:
        return view.model_validate_json((await self._post(path, arguments)).content)

    async def _post(self, path: str, arguments: dict[str, Any] | BaseModel) -> httpx2.Response:
        body = to_json(arguments)
        return _raise_for_status(
            await self._http.post(path, content=body, headers={"content-type": "application/json"})
        )

    async def _get(self, path: str, view: type[_View]) -> _View:
        return view.model_validate_json(_raise_for_status(await self._http.get(path)).content)

    async def _list(self, path: str, view: type[_View]) -> list[_View]:
        content = _raise_for_status(await self._http.get(path)).content
        return TypeAdapter(list[view]).validate_json(content)  # type: ignore[valid-type] # a type that is a value


def _raise_for_status(response: httpx2.Response) -> httpx2.Response:
    if response.status_code == 404:
        raise LookupError(response.json()["detail"])
    return response.raise_for_status()
