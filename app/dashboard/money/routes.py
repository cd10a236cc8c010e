"""The routes of a store's money: the page of a period, and the same as a file for the accountant."""

from collections.abc import Iterator, Mapping

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, StreamingResponse

from app.dashboard.form import read_form_fields
from app.dashboard.money.page import load_money, read_page
from app.dashboard.money.period import InvalidPeriodError, Period
from app.dashboard.navigation import MONEY
from app.dashboard.renderer import Renderer
from app.dashboard.staff import AnyStaff, Staff, http_error
from app.i18n.messages import gettext_noop
from app.payments.services import Services
from app.payments.staff.money import GroupBy
from app.payments.staff.money_csv import DEFAULT_GROUPING, SUB_MERCHANT_GROUPING, money_csv

_WRONG_PERIOD = gettext_noop("These days cannot be shown. Check the marked fields.")


class MoneyParts:
    """The routes of the money page."""

    def __init__(self, services: Services, renderer: Renderer) -> None:
        self._services = services
        self._renderer = renderer

    def add_to(self, router: APIRouter) -> None:
        """Add the routes to a router whose guard requires the permission to handle payments."""
        router.add_api_route("/money", self._page, methods=["GET"])
        router.add_api_route("/money.csv", self._export, methods=["POST"])

    async def _page(self, request: Request, staff: AnyStaff) -> HTMLResponse:
        period = self._period(staff, request.query_params)
        page = await read_page(self._services, staff.installation.id, period, staff.translation)
        return self._renderer.part("money/page.html", staff, here=MONEY, page=page)

    async def _export(self, request: Request, staff: AnyStaff) -> StreamingResponse:
        params = dict(await read_form_fields(request))
        money, _ = await load_money(self._services, staff.installation.id, self._period(staff, params))
        by = SUB_MERCHANT_GROUPING if params.get("by") == GroupBy.RECEIVER else DEFAULT_GROUPING
        return StreamingResponse(_encode_for_spreadsheets(money_csv(money, by)), media_type="text/csv")

    def _period(self, staff: Staff, params: Mapping[str, str]) -> Period:
        """Return the period in these fields. Raises HTTPException 422, with a message for each invalid field."""
        try:
            return Period.from_params(params, self._services.now().date())
        except InvalidPeriodError as wrong:
            raise http_error(422, "INVALID_DATA", staff.translation, _WRONG_PERIOD, fields=wrong.fields) from wrong


def _encode_for_spreadsheets(lines: Iterator[str]) -> Iterator[bytes]:
    """Yield the lines of a file for spreadsheets: without the byte order mark they do not recognise UTF-8."""
    yield "\N{BYTE ORDER MARK}".encode()
    for line in lines:
        yield line.encode()
