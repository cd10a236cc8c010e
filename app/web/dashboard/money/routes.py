"""The routes of a store's money: the page of a period, and the same as a file for the accountant."""

from collections.abc import Awaitable, Callable, Mapping

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, StreamingResponse

from app.i18n.messages import gettext_noop
from app.reports.money import GroupBy
from app.reports.money_rows import DEFAULT_GROUPING, SUB_MERCHANT_GROUPING, money_batches
from app.reports.sheet import SheetForm
from app.services import Services
from app.web.dashboard.form import read_form_fields
from app.web.dashboard.money.page import load_money, read_page
from app.web.dashboard.money.period import InvalidPeriodError, Period
from app.web.dashboard.renderer import MONEY, Renderer
from app.web.dashboard.sheet_response import sheet_response, style_of
from app.web.dashboard.staff import AnyStaff, Staff, http_error

_WRONG_PERIOD = gettext_noop("These days cannot be shown. Check the marked fields.")


class MoneyParts:
    """The routes of the money page."""

    def __init__(self, services: Services, renderer: Renderer) -> None:
        self._services = services
        self._renderer = renderer

    def add_to(self, router: APIRouter) -> None:
        """Add the routes to a router whose guard requires the permission to handle payments."""
        router.add_api_route("/money", self._page, methods=["GET"])
        for form in SheetForm:
            router.add_api_route(f"/money.{form.value}", self._export_route(form), methods=["POST"])

    async def _page(self, request: Request, staff: AnyStaff) -> HTMLResponse:
        period = self._period(staff, request.query_params)
        page = await read_page(self._services, staff.installation.id, period, staff.translation)
        return await self._renderer.part("money/page.html", staff, here=MONEY, page=page)

    def _export_route(self, form: SheetForm) -> Callable[..., Awaitable[StreamingResponse]]:
        async def export(request: Request, staff: AnyStaff) -> StreamingResponse:
            params = dict(await read_form_fields(request))
            money, _ = await load_money(self._services, staff.installation.id, self._period(staff, params))
            by = SUB_MERCHANT_GROUPING if params.get("by") == GroupBy.RECEIVER else DEFAULT_GROUPING
            style = style_of(staff, params)
            return await sheet_response(money_batches(money, by, style), form, style)

        return export

    def _period(self, staff: Staff, params: Mapping[str, str]) -> Period:
        """Return the period in these fields. Raises HTTPException 422, with a message for each invalid field."""
        try:
            return Period.from_params(params, self._services.now().date())
        except InvalidPeriodError as wrong:
            raise http_error(422, "INVALID_DATA", staff.translation, _WRONG_PERIOD, fields=wrong.fields) from wrong
