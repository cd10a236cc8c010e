"""The way from nothing to the first payment in three steps, and where on it a store stands."""

from dataclasses import dataclass

from app.dashboard.translation import marked
from app.payments.desk import Desk


@dataclass(frozen=True, slots=True)
class Step:
    """One step: where it is taken, what it is called, and whether it is done."""

    path: str
    name: str
    done: bool


ACCOUNT, CHANNELS = "/set-up", "/set-up/channels"


async def read_steps(desk: Desk, installation_id: int) -> list[Step]:
    """Return the steps in their order."""
    accounts = await desk.accounts.all(installation_id)
    routes = await desk.accounts.routes(installation_id)
    return [
        Step(ACCOUNT, marked("Merchant account"), done=bool(accounts)),
        Step(CHANNELS, marked("Channels"), done=bool(routes)),
    ]
