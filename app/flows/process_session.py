"""A shopper returns to a payment: it is looked up at the gateway, and Saleor is answered from the record."""

from functools import partial

from app.core.payment import PaymentAggregate
from app.core.vocabulary import State
from app.flows.initialize import initialize, recorded_response
from app.flows.resolve import resolve_operation
from app.services import Services
from app.store.aggregates import ByTransaction
from app.store.installations import OpenInstallation
from integration_base.outbound import Deadline
from saleor_app_sdk.events import TransactionProcessSession
from saleor_app_sdk.responses import SessionResponse


async def process(
    services: Services,
    event: TransactionProcessSession,
    installation: OpenInstallation,
    deadline: Deadline | None = None,
) -> SessionResponse:
    """Answer a process webhook. ``deadline`` is that of the request; None: it begins now.

    A transaction unknown to the app was begun while the app could not be reached, so its payment is begun now. A
    concluded payment is answered without a look-up. If the gateway cannot be reached in time, the answer states the
    recorded state.

    An impatient storefront has its payment looked up once a second at most by a process: the gateway limits the
    requests of an account, and other payments need them. Its further calls wait so long, and share the next look-up.
    """
    deadline = deadline or Deadline(services.schedule.budget.total_seconds())
    aggregate = await services.payments.find(ByTransaction(installation.id, event.transaction.id))
    if aggregate is None:
        return await initialize(services, event, installation, deadline)
    create = aggregate.create
    if create.state.final or create.id is None or _is_being_created(services, aggregate):
        return await recorded_response(services, installation, event)
    look_up = partial(resolve_operation, services, create.id, deadline, answering=True)
    pause = services.schedule.between_shopper_look_ups
    await services.shopper_look_ups.do(create.id, look_up, interval=pause, timeout=deadline.left)
    return await recorded_response(services, installation, event)


def _is_being_created(services: Services, aggregate: PaymentAggregate) -> bool:
    """Return True while another webhook may be creating the payment: a look-up would only interfere with it."""
    create = aggregate.create
    return create.state is State.INTENT and services.now() < services.schedule.intent_deadline(create.updated_at)
