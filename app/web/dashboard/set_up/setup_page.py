"""Renders the setup parts: the steps at the top, then the result of the last action, then the part itself.

There are three steps to the first payment; the page shows which of them a store has completed.
"""

from dataclasses import dataclass

from fastapi.responses import HTMLResponse
from sqlalchemy import exists
from sqlmodel import col, select

from app.core.vocabulary import Kind, State
from app.i18n.messages import LazyMessage, gettext_noop
from app.services import Services
from app.store.tables import Operation, Payment
from app.web.dashboard.renderer import SET_UP, Renderer
from app.web.dashboard.staff import Staff

ACCOUNT, CHANNELS, TRIAL = "/set-up", "/set-up/channels", "/set-up/try"
"""The paths of the three steps."""


@dataclass(frozen=True, slots=True)
class Step:
    """A setup step: its path, its name, and whether the store has completed it."""

    path: str
    name: str
    done: bool


@dataclass(frozen=True, slots=True)
class Flash:
    """The translatable message about an action that was just taken.

    ``good`` False: the action was taken, but its result is bad.
    """

    words: LazyMessage
    good: bool = True


@dataclass(frozen=True, slots=True)
class SetUpRenderer:
    """Renders the setup parts."""

    services: Services
    renderer: Renderer

    async def part(
        self,
        template: str,
        staff: Staff,
        *,
        step: str,
        flash: Flash | None = None,
        at: str | None = None,
        **values: object,
    ) -> HTMLResponse:
        """Return a part of the ``step`` with that path; ``at``: see ``Renderer.part``."""
        steps = await read_steps(self.services, staff.installation.id)
        return await self.renderer.part(
            f"set_up/{template}", staff, here=SET_UP, steps=steps, step=step, flash=flash, at=at, **values
        )


async def read_steps(services: Services, installation_id: int) -> list[Step]:
    """Return the three setup steps to the first payment, in order."""
    accounts = await services.accounts.all(installation_id)
    routes = await services.accounts.routes(installation_id)
    return [
        Step(ACCOUNT, gettext_noop("Merchant account"), done=bool(accounts)),
        Step(CHANNELS, gettext_noop("Channels"), done=bool(routes)),
        Step(TRIAL, gettext_noop("Try it"), done=await _has_successful_payment(services, installation_id)),
    ]


async def _has_successful_payment(services: Services, installation_id: int) -> bool:
    paid = exists().where(
        col(Payment.installation_id) == installation_id,
        col(Operation.payment_id) == col(Payment.id),
        col(Operation.kind) == Kind.CREATE,
        col(Operation.state) == State.SUCCESS,
    )
    async with services.database.transaction() as session:
        return (await session.exec(select(paid))).one()
