"""``FakeSaleor``: what people do at a Saleor, over its control API."""

import ssl
from collections.abc import Sequence
from decimal import Decimal
from functools import cache
from types import TracebackType
from typing import Any, Self, TypeVar
from urllib.parse import quote

import httpx2
from pydantic import BaseModel, TypeAdapter
from pydantic_core import to_json

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
    View,
)
from app.saleor.testing.vocabulary import HANDLE_PAYMENTS, Action, Flow


@cache
def certificates() -> ssl.SSLContext:
    """Return the context that all clients of this process share: each of its own would cost 20 to 45 ms."""
    return ssl.create_default_context()


_View = TypeVar("_View", bound=View)

# An app may take 18 seconds, be asked six times and be given five minutes between: the caller's own patience decides.
_PATIENCE = 60.0


class FakeSaleor:
    """The person in front of a Saleor at ``url`` (``http://127.0.0.1:8000``).

    Ids in and out are global ids. Amounts are Decimal. Unknown ids raise ``LookupError``. What the app is asked in the
    background (charge, refund, cancel) is over when ``background_done`` returns.
    """

    def __init__(self, url: str, *, timeout: float = _PATIENCE) -> None:
        self.url = url
        self._http = httpx2.AsyncClient(
            base_url=f"{url}/_saleor", timeout=timeout, verify=certificates(), trust_env=False
        )

    @property
    def api_url(self) -> str:
        """The GraphQL API, as apps know it."""
        return f"{self.url}/graphql/"

    @property
    def dashboard_url(self) -> str:
        """The Dashboard's front page, for browsers."""
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
        """Install an app, as staff with the right to do so. Look at ``status``: INSTALLED or FAILED."""
        asked = {"manifest_url": manifest_url, "permissions": list(permissions), "activate": activate}
        return await self._act("/apps/install", InstallationView, asked)

    async def uninstall(self, identifier: str | None = None) -> None:
        """Delete an app (the only one, if none is named)."""
        await self._post("/apps/uninstall", {"identifier": identifier})

    async def activate(self, identifier: str | None = None) -> None:
        """Let an installed app work."""
        await self._post("/apps/activate", {"identifier": identifier})

    async def deactivate(self, identifier: str | None = None) -> None:
        """Stop an installed app."""
        await self._post("/apps/deactivate", {"identifier": identifier})

    async def apps(self) -> list[AppView]:
        """Return the installed apps, with the problems that they reported."""
        return await self._list("/apps", AppView)

    # Shopper

    async def gateways(self) -> list[str]:
        """Return the payment gateways that a storefront is offered."""
        listed: list[str] = _checked(await self._http.get("/gateways")).json()
        return listed

    async def new_checkout(self, wanted: NewCheckout | None = None) -> CheckoutView:
        """Fill a basket (569.50 UAH unless something else is wanted)."""
        return await self._act("/storefront/checkout", CheckoutView, wanted or NewCheckout())

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
        asked = {"source_id": source_id, "data": data, "amount": amount, "gateway": gateway, "caller": caller}
        return await self._act("/storefront/gateway", GatewayView, asked)

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

        ``caller``: its ``customer``, who has signed in if there is one; ``nobody``; or the global id of a user or app.
        """
        asked = {
            "source_id": source_id,
            "amount": amount,
            "action": action,
            "idempotency_key": idempotency_key,
            "data": data,
            "gateway": gateway,
            "customer_ip": customer_ip,
            "caller": caller,
        }
        return await self._act("/storefront/initialize", SessionView, asked)

    async def process(
        self, transaction_id: str, *, data: Any = None, customer_ip: str = "127.0.0.1", caller: str = CUSTOMER
    ) -> SessionView:
        """``transactionProcess``, as when the shopper comes back from the payment page; by ``caller`` as there."""
        asked = {"transaction_id": transaction_id, "data": data, "customer_ip": customer_ip, "caller": caller}
        return await self._act("/storefront/process", SessionView, asked)

    async def complete(self, checkout_id: str) -> CompletionView:
        """``checkoutComplete``: an order, or CHECKOUT_NOT_FULLY_PAID."""
        return await self._act("/storefront/complete", CompletionView, {"checkout_id": checkout_id})

    async def stored_methods(
        self, user_id: str, channel_slug: str = "uah", currency: str = "UAH"
    ) -> list[StoredMethodView]:
        """``me { storedPaymentMethods }``, for the customer of that global id; Saleor keeps it for five minutes."""
        asked = {"user_id": user_id, "channel_slug": channel_slug, "currency": currency}
        answered = await self._post("/storefront/stored-methods", asked)
        return TypeAdapter(list[StoredMethodView]).validate_json(answered.content)

    async def delete_method(
        self, user_id: str, method_id: str, channel_slug: str = "uah", currency: str = "UAH"
    ) -> MethodDeletionView:
        """``storedPaymentMethodRequestDelete`` by that customer; ``method_id`` is the ``id`` that Saleor has shown."""
        asked = {"user_id": user_id, "method_id": method_id, "channel_slug": channel_slug, "currency": currency}
        return await self._act("/storefront/delete-method", MethodDeletionView, asked)

    async def delete_customer(self, user_id: str, *, themselves: bool = False) -> None:
        """``customerDelete`` by staff, or ``accountDelete`` by that customer: their checkouts go, their orders stay."""
        await self._post("/customers/delete", {"user_id": user_id, "themselves": themselves})

    # Staff

    async def sign_in(self, email: str, permissions: Sequence[str] | None = None) -> MemberView:
        """Let somebody use the Dashboard from now on, at ``/dashboard/``; ``permissions`` change or make them."""
        asked = {"email": email, "permissions": None if permissions is None else list(permissions)}
        return await self._act("/staff/sign-in", MemberView, asked)

    async def access_token(self, app_id: str) -> str:
        """Return a token as the Dashboard hands it to an app's page, for whoever is signed in."""
        answered = _checked(await self._http.get(f"{self.dashboard_url}apps/{quote(app_id)}/token"))
        token: str = answered.json()["token"]
        return token

    async def charge(self, transaction_id: str, amount: Decimal | None = None) -> ActionView:
        """Ask for a charge; everything that is authorized if no amount is named."""
        return await self._request(transaction_id, Action.CHARGE, amount)

    async def refund(self, transaction_id: str, amount: Decimal | None = None, reason: str = "") -> ActionView:
        """Ask for a refund; everything that is charged if no amount is named. ``reason``: from Saleor 3.22 on."""
        return await self._request(transaction_id, Action.REFUND, amount, reason)

    async def cancel(self, transaction_id: str, amount: Decimal | None = None) -> ActionView:
        """Ask for a cancelation of what is authorized, which may be nothing (an unpaid hosted payment)."""
        return await self._request(transaction_id, Action.CANCEL, amount)

    async def at_once(self, *wanted: AskedAction) -> list[ActionView]:
        """Ask for several things at the same moment: the webhook of each lists the requests of all."""
        answered = await self._post("/staff/at-once", {"wanted": list(wanted)})
        return TypeAdapter(list[ActionView]).validate_json(answered.content)

    async def new_order(self, wanted: NewCheckout | None = None) -> OrderView:
        """Take an order, as staff do by telephone. Nobody has paid anything of it."""
        return await self._act("/staff/order", OrderView, wanted or NewCheckout())

    async def cancel_order(self, order_id: str) -> OrderView:
        """Cancel an order."""
        return await self._act("/staff/cancel-order", OrderView, {"order_id": order_id})

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
        """Promise a refund on an order; ``refund_granted`` then asks the app for it."""
        asked = {
            "order_id": order_id,
            "amount": amount,
            "transaction_id": transaction_id,
            "lines": list(lines),
            "reason": reason,
            "shipping_costs_included": shipping_costs_included,
        }
        return await self._act("/staff/grant", ActionView, asked)

    async def refund_granted(self, granted_refund_id: str) -> ActionView:
        """Ask the app for a granted refund."""
        return await self._act("/staff/refund-granted", ActionView, {"granted_refund_id": granted_refund_id})

    async def background_done(self) -> None:
        """Wait until every action has been delivered, retried and recorded."""
        await self._post("/background-done", {})

    # Looking

    async def transaction(self, transaction_id: str) -> TransactionView:
        """Return a transaction as it is now."""
        return await self._see(f"/transactions/{transaction_id}", TransactionView)

    async def transactions(self) -> list[TransactionView]:
        """Return all transactions, oldest first."""
        return await self._list("/transactions", TransactionView)

    async def checkout(self, checkout_id: str) -> CheckoutView:
        """Return a checkout as it is now."""
        return await self._see(f"/checkouts/{checkout_id}", CheckoutView)

    async def order(self, order_id: str) -> OrderView:
        """Return an order as it is now."""
        return await self._see(f"/orders/{order_id}", OrderView)

    async def orders(self) -> list[OrderView]:
        """Return all orders, oldest first."""
        return await self._list("/orders", OrderView)

    async def deliveries(self, event: str | None = None) -> list[DeliveryView]:
        """Return every request to an app, oldest first; only those of one kind if ``event`` names it.

        ``event`` is a webhook event in lower case, ``manifest`` or ``token``.
        """
        everything = await self._list("/deliveries", DeliveryView)
        return [delivery for delivery in everything if event in {None, delivery.event}]

    async def reports(self) -> list[ReportView]:
        """Return every ``transactionEventReport`` that arrived, oldest first."""
        return await self._list("/reports", ReportView)

    # Making trouble

    async def set_faults(self, **faults: Any) -> None:
        """Set exactly these faults (fields of ``SaleorFaults``); all others are over."""
        await self._post("/faults", SaleorFaults(**faults))

    async def clear_faults(self) -> None:
        """End all faults."""
        await self.set_faults()

    async def rotate_key(self) -> None:
        """Sign with a new key from now on."""
        await self._post("/rotate-key", {})

    async def upgrade(self, version: str) -> None:
        """Become that version in place; the store stays as it is, and nobody tells the apps."""
        await self._post("/upgrade", {"version": version})

    async def forget_traffic(self) -> None:
        """Show no delivery and no report that was made so far; what came of them stays."""
        await self._post("/forget-traffic", {})

    async def _request(
        self, transaction_id: str, action: Action, amount: Decimal | None, reason: str = ""
    ) -> ActionView:
        asked = {"transaction_id": transaction_id, "action": action, "amount": amount, "reason": reason}
        return await self._act("/staff/action", ActionView, asked)

    async def _act(self, path: str, view: type[_View], asked: dict[str, Any] | BaseModel) -> _View:
        return view.model_validate_json((await self._post(path, asked)).content)

    async def _post(self, path: str, asked: dict[str, Any] | BaseModel) -> httpx2.Response:
        body = to_json(asked)
        return _checked(await self._http.post(path, content=body, headers={"content-type": "application/json"}))

    async def _see(self, path: str, view: type[_View]) -> _View:
        return view.model_validate_json(_checked(await self._http.get(path)).content)

    async def _list(self, path: str, view: type[_View]) -> list[_View]:
        content = _checked(await self._http.get(path)).content
        return TypeAdapter(list[view]).validate_json(content)  # type: ignore[valid-type] # a type that is a value


def _checked(response: httpx2.Response) -> httpx2.Response:
    if response.status_code == 404:
        raise LookupError(response.json()["detail"])
    return response.raise_for_status()
