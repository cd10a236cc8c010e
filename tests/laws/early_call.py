"""What must never be done first: see the break of law 1 that puts it before the commit of an intent."""

from app.core.vocabulary import State
from app.flows.execute import _call_gateway
from app.rules.action_request import ActionRequest
from app.rules.decisions.action import ActionRequested
from app.services import Services
from app.store.aggregates import PaymentSelector, account_of


async def call_gateway_first(services: Services, request: ActionRequest, which: PaymentSelector) -> None:
    """Call the gateway for what is requested, and commit nothing."""
    known = await services.payments.find(which)
    if known is not None:
        requested = ActionRequested(request, services.decision_context(), opens_keys=lambda _payment: True)
        operation = requested.decide(known).operation
        if operation.state is State.INTENT:
            await _call_gateway(services, account_of(known.payment), known, operation, 2.0)
