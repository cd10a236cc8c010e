"""The routes of the list of payments: a page of it, filtered by an address or a form, and all of it as a file."""

from collections.abc import Awaitable, Callable

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, StreamingResponse

from app.i18n.messages import gettext_noop
from app.reports.payment_rows import payment_rows
from app.reports.sheet import SheetForm
from app.services import Services
from app.web.dashboard.form import read_form_fields
from app.web.dashboard.payments.filter import Filter
from app.web.dashboard.payments.listing import read_list, search_criteria
from app.web.dashboard.renderer import PAYMENTS, Renderer
from app.web.dashboard.sheet_response import sheet_response, style_of
from app.web.dashboard.staff import AnyStaff, Staff, http_error

_NOT_IN_AN_ADDRESS = gettext_noop(
    "An e-mail address must not be part of a page’s address. Enter it in the search field."
)


class PaymentListParts:
    """The routes of the list of payments."""

    def __init__(self, services: Services, renderer: Renderer) -> None:
        self._services = services
        self._renderer = renderer

    def add_to(self, router: APIRouter) -> None:
        """Add the routes to a router whose guard requires the permission to handle payments."""
        router.add_api_route("/payments", self.list, methods=["GET"])
        router.add_api_route("/payments", self._search, methods=["POST"])
        for form in SheetForm:
            router.add_api_route(f"/payments.{form.value}", self._export_route(form), methods=["POST"])

    async def list(self, request: Request, staff: AnyStaff) -> HTMLResponse:
        """Return a page of the list, filtered by the address: histories and logs keep that, so it names no shopper."""
        chosen = Filter.from_params(request.query_params)
        if chosen.private:
            raise http_error(422, "ADDRESS_IN_ADDRESS", staff.translation, _NOT_IN_AN_ADDRESS)
        return await self._render(staff, chosen)

    async def _search(self, request: Request, staff: AnyStaff) -> HTMLResponse:
        """Return a page of the list, filtered by a form: posted fields are stored in no history or log."""
        return await self._render(staff, Filter.from_params(dict(await read_form_fields(request))))

    def _export_route(self, form: SheetForm) -> Callable[..., Awaitable[StreamingResponse]]:
        async def export(request: Request, staff: AnyStaff) -> StreamingResponse:
            """Return all payments that match a form, from whichever page of the list it was sent."""
            params = dict(await read_form_fields(request))
            criteria = search_criteria(self._services, staff.installation.id, Filter.from_params(params).first_page)
            style = style_of(staff, params)
            return await sheet_response(payment_rows(self._services, criteria, style), form, style)

        return export

    async def _render(self, staff: Staff, chosen: Filter) -> HTMLResponse:
        page = await read_list(self._services, staff.installation.id, chosen)
        return await self._renderer.part("payments/list.html", staff, here=PAYMENTS, **vars(page))
