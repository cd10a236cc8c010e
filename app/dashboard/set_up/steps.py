"""The way from nothing to the first payment in three steps, and where on it a store stands."""

from dataclasses import dataclass

from sqlalchemy import exists
from sqlmodel import col, select

from app.db.tables import Kind, Operation, Payment, State
from app.i18n.messages import gettext_noop
from app.payments.services import Services


@dataclass(frozen=True, slots=True)
class Step:
    """One step: where it is taken, what it is called, and whether it is done."""

    path: str
    name: str
    done: bool


ACCOUNT, CHANNELS, TRIAL = "/set-up", "/set-up/channels", "/set-up/try"


async def _somebody_has_paid(services: Services, installation_id: int) -> bool:
    paid = exists().where(
        col(Payment.installation_id) == installation_id,
        col(Operation.payment_id) == col(Payment.id),
        col(Operation.kind) == Kind.CREATE,
        col(Operation.state) == State.SUCCESS,
    )
    async with services.database.transaction() as session:
        return (await session.exec(select(paid))).one()


async def read_steps(services: Services, installation_id: int) -> list[Step]:
    """Return the steps in their order."""
    accounts = await services.accounts.all(installation_id)
    routes = await services.accounts.routes(installation_id)
    return [
        Step(ACCOUNT, gettext_noop("Merchant account"), done=bool(accounts)),
        Step(CHANNELS, gettext_noop("Channels"), done=bool(routes)),
        Step(TRIAL, gettext_noop("Try it"), done=await _somebody_has_paid(services, installation_id)),
    ]
