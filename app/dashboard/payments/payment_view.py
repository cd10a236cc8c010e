"""The page of one payment, read and written for one member of staff."""

from fastapi.responses import HTMLResponse

from app.dashboard.navigation import PAYMENTS
from app.dashboard.payments.actions import Flash
from app.dashboard.payments.page import PaymentPage, read_page
from app.dashboard.renderer import Paper
from app.dashboard.staff import Staff, refused
from app.dashboard.translation import gettext_noop
from app.payments.services import Services

NO_PAYMENT = gettext_noop("This store has no such payment.")


class Shown:
    """Pages of payments."""

    def __init__(self, services: Services, paper: Paper) -> None:
        self._services = services
        self._paper = paper

    async def part(self, staff: Staff, order_id: str, news: Flash | None = None) -> HTMLResponse:
        """Return the page, with what has just become of something. Raises what ``page`` raises."""
        page = await self.page(staff, order_id)
        address = f"{self._paper.base}/payments/{page.payment.order_id}"
        about = {"payment": page.payment, "address": address, "news": news, **vars(page)}
        return self._paper.part("payments/page.html", staff, here=PAYMENTS, **about)

    async def page(self, staff: Staff, order_id: str) -> PaymentPage:
        """Return what is known of a payment. Answers 404 when the store has no such payment."""
        page = await read_page(self._services, staff.installation.id, order_id)
        if page is None:
            raise refused(404, "UNKNOWN_PAYMENT", staff.translation, NO_PAYMENT)
        return page
