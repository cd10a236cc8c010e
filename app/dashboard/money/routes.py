"""The parts about a store's money: the page of a period, and all of it as a file for the accountant."""

from collections.abc import Iterator, Mapping

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, StreamingResponse

from app.dashboard.form import fields_of
from app.dashboard.money.page import money_of, read_page
from app.dashboard.money.period import Period, WrongPeriodError
from app.dashboard.navigation import MONEY
from app.dashboard.renderer import Renderer
from app.dashboard.staff import AnyStaff, Staff, refused
from app.i18n.messages import gettext_noop
from app.payments.services import Services
from app.payments.staff.money import By
from app.payments.staff.money_csv import DETAIL, OF_SUB_MERCHANTS, money_csv

_WRONG_PERIOD = gettext_noop("These days cannot be shown: look at the marked fields.")


class MoneyParts:
    """The parts about the money, as ``renderer`` writes them."""

    def __init__(self, services: Services, renderer: Renderer) -> None:
        self._services = services
        self._renderer = renderer

    def add_to(self, router: APIRouter) -> None:
        """Add the routes to a router, whose guard lets in only whoever may handle payments."""
        router.add_api_route("/money", self._page, methods=["GET"])
        router.add_api_route("/money.csv", self._file, methods=["POST"])

    async def _page(self, request: Request, staff: AnyStaff) -> HTMLResponse:
        period = self._period(staff, request.query_params)
        page = await read_page(self._services, staff.installation.id, period, staff.translation)
        return self._renderer.part("money/page.html", staff, here=MONEY, page=page)

    async def _file(self, request: Request, staff: AnyStaff) -> StreamingResponse:
        said = dict(await fields_of(request))
        money, _ = await money_of(self._services, staff.installation.id, self._period(staff, said))
        by = OF_SUB_MERCHANTS if said.get("by") == By.RECEIVER else DETAIL
        return StreamingResponse(_for_spreadsheets(money_csv(money, by)), media_type="text/csv")

    def _period(self, staff: Staff, said: Mapping[str, str]) -> Period:
        """Return the period that is said. Answers 422 to what is none, with what is wrong beside each field."""
        try:
            return Period.of(said, self._services.now().date())
        except WrongPeriodError as wrong:
            raise refused(422, "INVALID_DATA", staff.translation, _WRONG_PERIOD, fields=wrong.fields) from wrong


def _for_spreadsheets(lines: Iterator[str]) -> Iterator[bytes]:
    """Return the lines as a file that people open: without this mark spreadsheets do not take it for UTF-8."""
    yield "\N{BYTE ORDER MARK}".encode()
    for some in lines:
        yield some.encode()
