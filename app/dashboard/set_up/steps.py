"""The way from nothing to the first payment in three steps, and where on it a store stands."""

from dataclasses import dataclass

from sqlalchemy import exists
from sqlmodel import col, select

from app.dashboard.translation import marked
from app.ledger.tables import Kind, Operation, Payment, State
from app.payments.desk import Desk


@dataclass(frozen=True, slots=True)
class Step:
    """One step: where it is taken, what it is called, and whether it is done."""

    path: str
    name: str
    done: bool


ACCOUNT, CHANNELS, TRIAL = "/set-up", "/set-up/channels", "/set-up/try"


async def _somebody_has_paid(desk: Desk, installation_id: int) -> bool:
    paid = exists().where(
        col(Payment.installation_id) == installation_id,
        col(Operation.payment_id) == col(Payment.id),
        col(Operation.kind) == Kind.CREATE,
        col(Operation.state) == State.SUCCESS,
    )
    async with desk.database.transaction() as session:
        return (await session.exec(select(paid))).one()


async def read_steps(desk: Desk, installation_id: int) -> list[Step]:
    """Return the steps in their order."""
    accounts = await desk.accounts.all(installation_id)
    routes = await desk.accounts.routes(installation_id)
    return [
        Step(ACCOUNT, marked("Merchant account"), done=bool(accounts)),
        Step(CHANNELS, marked("Channels"), done=bool(routes)),
        Step(TRIAL, marked("Try it"), done=await _somebody_has_paid(desk, installation_id)),
    ]
