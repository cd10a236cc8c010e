"""The parts of the list of payments: a page of it, as an address or a form says, and all of it as a file."""

from collections.abc import AsyncIterator

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, StreamingResponse

from app.dashboard.form import fields_of
from app.dashboard.navigation import PAYMENTS
from app.dashboard.payments.filter import Filter
from app.dashboard.payments.listing import read_list, wanted_by
from app.dashboard.renderer import Renderer
from app.dashboard.staff import AnyStaff, Staff, refused
from app.i18n.messages import gettext_noop
from app.payments.services import Services
from app.payments.staff.csv_export import csv_of

_NOT_IN_AN_ADDRESS = gettext_noop(
    "An e-mail address must not be part of a page’s address. Type it into the search field."
)


class PaymentListParts:
    """The parts of the list, as ``renderer`` writes them."""

    def __init__(self, services: Services, renderer: Renderer) -> None:
        self._services = services
        self._renderer = renderer

    def add_to(self, router: APIRouter) -> None:
        """Add the routes to a router, whose guard lets in only whoever may handle payments."""
        router.add_api_route("/payments", self.list, methods=["GET"])
        router.add_api_route("/payments", self._search, methods=["POST"])
        router.add_api_route("/payments.csv", self._file, methods=["POST"])

    async def list(self, request: Request, staff: AnyStaff) -> HTMLResponse:
        """Return a page of the list, as the address says: it stands in histories and logs, so it names no shopper."""
        chosen = Filter.of(request.query_params)
        if chosen.private:
            raise refused(422, "ADDRESS_IN_ADDRESS", staff.translation, _NOT_IN_AN_ADDRESS)
        return await self._shown(staff, chosen)

    async def _search(self, request: Request, staff: AnyStaff) -> HTMLResponse:
        """Return a page of the list, as a form says: nobody keeps what is posted."""
        return await self._shown(staff, Filter.of(dict(await fields_of(request))))

    async def _file(self, request: Request, staff: AnyStaff) -> StreamingResponse:
        """Return all payments that a form asks for, on whichever page of the list it stood."""
        chosen = Filter.of(dict(await fields_of(request))).first_page
        lines = csv_of(self._services, wanted_by(self._services, staff.installation.id, chosen))
        return StreamingResponse(_for_spreadsheets(lines), media_type="text/csv")

    async def _shown(self, staff: Staff, chosen: Filter) -> HTMLResponse:
        shown = await read_list(self._services, staff.installation.id, chosen)
        return self._renderer.part("payments/list.html", staff, here=PAYMENTS, **vars(shown))


async def _for_spreadsheets(lines: AsyncIterator[str]) -> AsyncIterator[bytes]:
    """Return the lines as a file that people open: without this mark spreadsheets do not take it for UTF-8."""
    yield "\N{BYTE ORDER MARK}".encode()
    async for some in lines:
        yield some.encode()
