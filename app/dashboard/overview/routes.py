"""The part about the store's payments at a glance."""

from fastapi import Request
from fastapi.responses import HTMLResponse

from app.dashboard.navigation import OVERVIEW, SET_UP
from app.dashboard.overview.page import Asked, read_page
from app.dashboard.renderer import Renderer
from app.dashboard.staff import AnyStaff
from app.payments.services import Services


class OverviewParts:
    """The overview, as ``renderer`` writes it."""

    def __init__(self, services: Services, renderer: Renderer) -> None:
        self._services = services
        self._renderer = renderer

    async def overview(self, request: Request, staff: AnyStaff) -> HTMLResponse:
        """Return the store's payments at a glance, over the period that the address says."""
        asked = Asked.of(request.query_params)
        page = await read_page(self._services, staff.installation, asked, staff.translation)
        may_set_up = staff.permissions >= SET_UP.permissions
        return self._renderer.part("overview/page.html", staff, here=OVERVIEW, page=page, may_set_up=may_set_up)
