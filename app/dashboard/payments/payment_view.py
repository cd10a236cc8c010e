"""The page of one payment, read and written for one member of staff."""

from fastapi import HTTPException
from fastapi.responses import HTMLResponse

from app.dashboard.navigation import PAYMENTS
from app.dashboard.payments.actions import Flash
from app.dashboard.payments.page import page_of
from app.dashboard.renderer import Renderer
from app.dashboard.staff import Staff, refused
from app.db.aggregates import PaymentAggregate
from app.db.repository import ByOrder
from app.i18n.messages import gettext_noop
from app.payments.services import Services

_NO_PAYMENT = gettext_noop("This store has no such payment.")


class Shown:
    """Pages of payments."""

    def __init__(self, services: Services, renderer: Renderer) -> None:
        self._services = services
        self._renderer = renderer

    async def part(self, staff: Staff, order_id: str, flash: Flash | None = None) -> HTMLResponse:
        """Return the page, with what has just become of something. Raises what ``payment`` raises."""
        return await self.part_of(staff, await self.payment(staff, order_id), flash)

    async def part_of(self, staff: Staff, aggregate: PaymentAggregate, flash: Flash | None = None) -> HTMLResponse:
        """Return the page of a payment as it has just become: it is not read again."""
        page = await page_of(self._services, aggregate)
        address = f"{self._renderer.base}/payments/{page.payment.order_id}"
        about = {"payment": page.payment, "address": address, "flash": flash, **vars(page)}
        return self._renderer.part("payments/page.html", staff, here=PAYMENTS, **about)

    async def payment(self, staff: Staff, order_id: str) -> PaymentAggregate:
        """Return a payment for reading only. Answers 404 when the store has no such payment."""
        aggregate = await self._services.payments.find(ByOrder(order_id, installation_id=staff.installation.id))
        if aggregate is None:
            raise no_payment(staff)
        return aggregate


def no_payment(staff: Staff) -> HTTPException:
    """Return the answer that the store has no such payment."""
    return refused(404, "UNKNOWN_PAYMENT", staff.translation, _NO_PAYMENT)
