"""The page of one payment, read and written for one member of staff."""

from fastapi.responses import HTMLResponse

from app.dashboard.navigation import PAYMENTS
from app.dashboard.paper import Paper
from app.dashboard.payments.actions import News
from app.dashboard.payments.page import PaymentPage, read_page
from app.dashboard.staff import Staff, refused
from app.dashboard.translation import marked
from app.payments.desk import Desk

NO_PAYMENT = marked("This store has no such payment.")


class Shown:
    """Pages of payments."""

    def __init__(self, desk: Desk, paper: Paper) -> None:
        self._desk = desk
        self._paper = paper

    async def part(self, staff: Staff, order_id: str, news: News | None = None) -> HTMLResponse:
        """Return the page, with what has just become of something. Raises what ``page`` raises."""
        page = await self.page(staff, order_id)
        address = f"{self._paper.base}/payments/{page.payment.order_id}"
        about = {"payment": page.payment, "address": address, "news": news, **vars(page)}
        return self._paper.part("payments/page.html", staff, here=PAYMENTS, **about)

    async def page(self, staff: Staff, order_id: str) -> PaymentPage:
        """Return what is known of a payment. Answers 404 when the store has no such payment."""
        page = await read_page(self._desk, staff.installation.id, order_id)
        if page is None:
            raise refused(404, "UNKNOWN_PAYMENT", staff.translation, NO_PAYMENT)
        return page
