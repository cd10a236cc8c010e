"""The payment mutations that storefronts call over the API, also from browsers; they require no permission."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from saleor_app_sdk.testing import payload
from saleor_app_sdk.testing.rules.responses import SaleorCrashedError
from saleor_app_sdk.testing.saleor_state import NotFoundError, SaleorState
from saleor_app_sdk.testing.storefront import Storefront
from saleor_app_sdk.testing.views import SessionView


class StorefrontApi:
    """Resolves the storefront mutations."""

    def __init__(self, state: SaleorState, storefront: Storefront) -> None:
        self._state = state
        self._storefront = storefront

    def resolvers(self) -> Mapping[str, Callable[..., Any]]:
        """Return the resolvers by the name of their mutation."""
        return {
            "paymentGatewayInitialize": self._gateway_initialize,
            "transactionInitialize": self._initialize,
            "transactionProcess": self._process,
            "checkoutComplete": self._complete,
        }

    def _caller(self, info: Any) -> str:
        """Return the id of the app whose token the request carries, or ``nobody``: shoppers do not sign in here."""
        app = self._state.app_by_token(info.context)
        return "nobody" if app is None else app.id

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
            event = next(each for each in transaction.events if each.id == session.event.id)
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


def _not_found(error: NotFoundError) -> dict[str, Any]:
    return {"field": "id", "code": "NOT_FOUND", "message": str(error)}
