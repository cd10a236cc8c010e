"""What storefronts ask over the API, also from browsers: without a permission, some of it with a customer's token."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from pydantic.alias_generators import to_camel

from saleor_app_sdk.testing import payload
from saleor_app_sdk.testing.ids import key_of
from saleor_app_sdk.testing.rules.responses import SaleorCrashedError
from saleor_app_sdk.testing.saleor_state import NotFoundError, PermissionDeniedError, SaleorState
from saleor_app_sdk.testing.stored_methods import StoredMethods
from saleor_app_sdk.testing.storefront import Storefront
from saleor_app_sdk.testing.views import SessionView, StoredMethodView


class StorefrontApi:
    """Resolves what storefronts ask."""

    def __init__(self, state: SaleorState, storefront: Storefront, stored_methods: StoredMethods) -> None:
        self._state = state
        self._storefront = storefront
        self._stored_methods = stored_methods

    def resolvers(self) -> Mapping[str, Callable[..., Any]]:
        """Return the resolvers by the name of their query or mutation."""
        return {
            "paymentGatewayInitialize": self._gateway_initialize,
            "transactionInitialize": self._initialize,
            "transactionProcess": self._process,
            "checkoutComplete": self._complete,
            "checkout": self._checkout,
            "me": self._me,
            "storedPaymentMethodRequestDelete": self._delete_stored_method,
        }

    def _caller(self, info: Any) -> str:
        """Return the id of the app or customer whose token the request carries, or ``nobody``."""
        app = self._state.app_by_token(info.context)
        return self._state.customer_by_token(info.context) or "nobody" if app is None else app.id

    def _checkout(self, _info: Any, **arguments: Any) -> payload.Payload | None:
        """Return a checkout, readable by all who know its id; None once it has become an order."""
        checkout_id = arguments.get("id") or ""
        key_of("Checkout", checkout_id)
        try:
            return payload.source(self._state.checkout(checkout_id))
        except NotFoundError:
            return None

    def _me(self, info: Any) -> payload.Payload | None:
        user_id = self._state.customer_by_token(info.context)
        if user_id is None:
            return None

        async def stored_methods(_info: Any, channel: str) -> list[payload.Payload]:
            currency = self._currency_of(channel)
            methods = await self._stored_methods.list_methods(user_id, channel, currency)
            return [_stored_method(method) for method in methods]

        return {"id": user_id, "storedPaymentMethods": stored_methods}

    async def _delete_stored_method(self, info: Any, **arguments: Any) -> payload.Payload:
        user_id, channel = self._state.customer_by_token(info.context), arguments["channel"]
        if user_id is None:
            raise PermissionDeniedError("AUTHENTICATED_USER")
        currency = self._currency_of(channel)
        return (await self._stored_methods.delete(user_id, arguments["id"], channel, currency)).model_dump()

    def _currency_of(self, channel_slug: str) -> str:
        channels = self._state.settings.channels
        return next((channel.currency for channel in channels if channel.slug == channel_slug), "")

    async def _gateway_initialize(self, info: Any, **arguments: Any) -> payload.Payload:
        configs = []
        for wanted in arguments.get("paymentGateways") or ():
            try:
                view = await self._storefront.gateway_initialize(
                    arguments["id"],
                    data=wanted.get("data"),
                    amount=arguments.get("amount"),
                    gateway=wanted["id"],
                    caller=self._caller(info),
                )
            except NotFoundError as exc:
                return {"gatewayConfigs": None, "errors": [_not_found(exc)]}
            errors = [error.model_dump() for error in view.errors]
            configs.append({"id": wanted["id"], "data": view.data, "errors": errors})
        return {"gatewayConfigs": configs, "errors": []}

    async def _initialize(self, info: Any, **arguments: Any) -> payload.Payload:
        gateway = arguments["paymentGateway"]
        return await self._session(
            self._storefront.initialize(
                arguments["id"],
                amount=arguments.get("amount"),
                idempotency_key=arguments.get("idempotencyKey"),
                data=gateway.get("data"),
                gateway=gateway["id"],
                caller=self._caller(info),
            ),
        )

    async def _process(self, info: Any, **arguments: Any) -> payload.Payload:
        pending = self._storefront.process(
            arguments.get("id") or "", data=arguments.get("data"), caller=self._caller(info)
        )
        return await self._session(pending)

    async def _session(self, pending: Awaitable[SessionView]) -> payload.Payload:
        """Return the mutation's result. Raises SaleorCrashedError when the app's response made Saleor itself fail."""
        try:
            session = await pending
        except NotFoundError as exc:
            return {"transaction": None, "transactionEvent": None, "data": None, "errors": [_not_found(exc)]}
        if session.internal_error:
            raise SaleorCrashedError(session.internal_error)
        transaction = event = None
        if session.transaction and session.event:
            transaction = self._state.transaction(session.transaction.id)
            event = next(event for event in transaction.events if event.id == session.event.id)
        return {
            "transaction": payload.transaction(transaction) if transaction else None,
            "transactionEvent": payload.event(event, transaction.currency) if transaction and event else None,
            "data": session.data,
            "errors": [error.model_dump() for error in session.errors],
        }

    def _complete(self, _info: Any, **arguments: Any) -> payload.Payload:
        try:
            completion = self._storefront.complete(arguments.get("id") or "")
        except NotFoundError as exc:
            return {"order": None, "errors": [_not_found(exc)]}
        order = payload.source(self._state.order(completion.order.id)) if completion.order else None
        return {"order": order, "errors": [error.model_dump() for error in completion.errors]}


def _stored_method(method: StoredMethodView) -> payload.Payload:
    card = method.credit_card_info
    return {
        "id": method.id,
        "paymentMethodId": method.payment_method_id,
        "type": method.type,
        "name": method.name,
        "creditCardInfo": card and {to_camel(name): value for name, value in card.items()},
    }


def _not_found(error: NotFoundError) -> dict[str, Any]:
    return {"field": "id", "code": "NOT_FOUND", "message": str(error)}
