"""What all parts of setting up are written on: the steps at the top, then what was just done, then the part."""

from dataclasses import dataclass

from fastapi.responses import HTMLResponse

from app.dashboard.navigation import SET_UP
from app.dashboard.renderer import Renderer
from app.dashboard.set_up.steps import read_steps
from app.dashboard.staff import Staff
from app.i18n.messages import LazyMessage
from app.payments.services import Services


@dataclass(frozen=True, slots=True)
class Flash:
    """What has just been done, in words that are to be translated.

    ``good`` False: it was done, and what came out is not.
    """

    words: LazyMessage
    good: bool = True


@dataclass(frozen=True, slots=True)
class SetUpRenderer:
    """Writes the parts of setting up."""

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
        """Return a part that belongs to the ``step`` with that path; ``at``: see ``Renderer.part``."""
        steps = await read_steps(self.services, staff.installation.id)
        return self.renderer.part(
            f"set_up/{template}", staff, here=SET_UP, steps=steps, step=step, flash=flash, at=at, **values
        )
