"""The page of one payment, read and written for one member of staff."""

from fastapi import HTTPException
from fastapi.responses import HTMLResponse

from app.dashboard.navigation import PAYMENTS, PAYOUTS
from app.dashboard.payments.actions import Flash
from app.dashboard.payments.page import page_of
from app.dashboard.renderer import Renderer
from app.dashboard.staff import Staff, refused
from app.db.aggregates import ByOrder, PaymentAggregate
from app.i18n.messages import gettext_noop
from app.payments.services import Services

_NO_PAYMENT = gettext_noop("This store has no such payment.")


class Shown:
    """Pages of payments."""

    def __init__(self, services: Services, renderer: Renderer) -> None:
        self._services = services
        self._renderer = renderer

    async def part(
        self,
        staff: Staff,
        order_id: str,
        flash: Flash | None = None,
        asked: object = None,
        *,
        at: str | None = None,
    ) -> HTMLResponse:
        """Return the page, with what has just become of something. Raises what ``payment`` raises.

        ``asked`` is what the gateway has just answered, to be shown as it is (``asking.Answer``). ``at``: the path of
        the page, when it is not the one that was asked for.
        """
        return await self.part_of(staff, await self.payment(staff, order_id), flash, asked, at=at)

    async def part_of(
        self,
        staff: Staff,
        aggregate: PaymentAggregate,
        flash: Flash | None = None,
        asked: object = None,
        *,
        at: str | None = None,
    ) -> HTMLResponse:
        """Return the page of a payment as it has just become: it is not read again."""
        page = await page_of(self._services, aggregate)
        address = f"{self._renderer.base}/payments/{page.payment.order_id}"
        about = {
            "payment": page.payment,
            "address": address,
            "saleor": staff.installation.saleor_api_url,
            "flash": flash,
            "asked": asked,
            "stamp": page.stamp,
            **vars(page),
        }
        here = PAYMENTS if page.payout is None else PAYOUTS
        return self._renderer.part("payments/page.html", staff, here=here, at=at, **about)

    async def payment(self, staff: Staff, order_id: str) -> PaymentAggregate:
        """Return a payment for reading only. Answers 404 when the store has no such payment."""
        aggregate = await self._services.payments.find(ByOrder(order_id, installation_id=staff.installation.id))
        if aggregate is None:
            raise no_payment(staff)
        return aggregate


def no_payment(staff: Staff) -> HTTPException:
    """Return the answer that the store has no such payment."""
    return refused(404, "UNKNOWN_PAYMENT", staff.translation, _NO_PAYMENT)
