"""The route of the overview of the store's payments."""

from fastapi import Request
from fastapi.responses import HTMLResponse

from app.services import Services
from app.web.dashboard.overview.page import OverviewQuery, read_page
from app.web.dashboard.renderer import OVERVIEW, SET_UP, Renderer
from app.web.dashboard.staff import AnyStaff


class OverviewParts:
    """The route of the overview."""

    def __init__(self, services: Services, renderer: Renderer) -> None:
        self._services = services
        self._renderer = renderer

    async def overview(self, request: Request, staff: AnyStaff) -> HTMLResponse:
        """Return the overview of the store's payments over the period in the address."""
        query = OverviewQuery.from_params(request.query_params)
        page = await read_page(self._services, staff.installation, query, staff.translation)
        may_set_up = staff.permissions >= SET_UP.permissions
        return await self._renderer.part("overview/page.html", staff, here=OVERVIEW, page=page, may_set_up=may_set_up)
