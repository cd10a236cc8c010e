"""``transactionInitialize`` over the API: the same session that storefronts open, and anybody may."""

from typing import Any

from app.saleor.testing import payload
from app.saleor.testing.rules.answers import SaleorCrashedError
from app.saleor.testing.saleor_state import NotFoundError, SaleorState
from app.saleor.testing.storefront import Storefront


async def initialize(state: SaleorState, storefront: Storefront, _info: Any, **arguments: Any) -> payload.Payload:
    """Resolve the mutation. Raises SaleorCrashedError when the app's answer brings Saleor down."""
    gateway = arguments["paymentGateway"]
    try:
        session = await storefront.initialize(
            arguments["id"],
            amount=arguments.get("amount"),
            idempotency_key=arguments.get("idempotencyKey"),
            data=gateway.get("data"),
            gateway=gateway["id"],
        )
    except NotFoundError as exc:
        error = {"field": "id", "code": "NOT_FOUND", "message": str(exc)}
        return {"transaction": None, "transactionEvent": None, "data": None, "errors": [error]}
    if session.internal_error:
        raise SaleorCrashedError(session.internal_error)
    begun = event = None
    if session.transaction and session.event:
        begun = state.transaction(session.transaction.id)
        event = next(each for each in begun.events if each.id == session.event.id)
    return {
        "transaction": payload.transaction(begun) if begun else None,
        "transactionEvent": payload.event(event, begun.currency) if begun and event else None,
        "data": session.data,
        "errors": [each.model_dump() for each in session.errors],
    }
