"""The parts of the list of payments: a page of it, as an address or a form says."""

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from app.dashboard.navigation import PAYMENTS
from app.dashboard.paper import Paper
from app.dashboard.payments.filter import Filter
from app.dashboard.payments.listing import read_list
from app.dashboard.staff import AnyStaff, Staff, refused
from app.dashboard.translation import marked
from app.payments.desk import Desk

_NOT_IN_AN_ADDRESS = marked("An e-mail address must not be part of a page’s address. Type it into the search field.")


class PaymentListParts:
    """The parts of the list, written on ``paper``."""

    def __init__(self, desk: Desk, paper: Paper) -> None:
        self._desk = desk
        self._paper = paper

    def add_to(self, router: APIRouter) -> None:
        """Add the routes to a router, whose guard lets in only whoever may handle payments."""
        router.add_api_route("/payments", self.list, methods=["GET"])
        router.add_api_route("/payments", self._search, methods=["POST"])

    async def list(self, request: Request, staff: AnyStaff) -> HTMLResponse:
        """Return a page of the list, as the address says: it stands in histories and logs, so it names no shopper."""
        chosen = Filter.of(request.query_params)
        if chosen.private:
            raise refused(422, "ADDRESS_IN_ADDRESS", staff.translation, _NOT_IN_AN_ADDRESS)
        return await self._shown(staff, chosen)

    async def _search(self, request: Request, staff: AnyStaff) -> HTMLResponse:
        """Return a page of the list, as a form says: nobody keeps what is posted."""
        return await self._shown(staff, await _said(request))

    async def _shown(self, staff: Staff, chosen: Filter) -> HTMLResponse:
        shown = await read_list(self._desk, staff.installation.id, chosen)
        return self._paper.part("payments/list.html", staff, here=PAYMENTS, **vars(shown))


async def _said(request: Request) -> Filter:
    async with request.form(max_files=0, max_fields=20) as form:
        return Filter.of({name: text for name, text in form.items() if isinstance(text, str)})
