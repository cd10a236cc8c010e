"""Loads and renders the page of one payment for one member of staff."""

from fastapi import HTTPException
from fastapi.responses import HTMLResponse

from app.core.payment import PaymentAggregate
from app.i18n.messages import gettext_noop
from app.services import Services
from app.store.aggregates import ByOrder
from app.web.dashboard.navigation import PAYMENTS, PAYOUTS
from app.web.dashboard.payments.actions import Flash
from app.web.dashboard.payments.page import load_page
from app.web.dashboard.renderer import Renderer
from app.web.dashboard.staff import Staff, http_error

_NO_PAYMENT = gettext_noop("This store has no such payment.")


class PaymentRenderer:
    """Renders pages of payments."""

    def __init__(self, services: Services, renderer: Renderer) -> None:
        self._services = services
        self._renderer = renderer

    async def render(
        self,
        staff: Staff,
        order_id: str,
        flash: Flash | None = None,
        looked_up: object = None,
        *,
        at: str | None = None,
    ) -> HTMLResponse:
        """Return the page, with the result of an action in ``flash``. Raises what ``load`` raises.

        ``looked_up`` is the gateway's response to a look-up, to be shown as it is (``look_up_routes.LookUpResult``).
        ``at``: the path of the page, when it is not the requested one.
        """
        return await self.render_aggregate(staff, await self.load(staff, order_id), flash, looked_up, at=at)

    async def render_aggregate(
        self,
        staff: Staff,
        aggregate: PaymentAggregate,
        flash: Flash | None = None,
        looked_up: object = None,
        *,
        at: str | None = None,
    ) -> HTMLResponse:
        """Return the page of a payment that is loaded already, such as one that was just changed."""
        page = await load_page(self._services, aggregate)
        address = f"{self._renderer.base}/payments/{page.payment.order_id}"
        about = {
            "payment": page.payment,
            "address": address,
            "saleor": staff.installation.saleor_api_url,
            "flash": flash,
            "asked": looked_up,
            "stamp": page.stamp,
            "keeps_rest": page.keeps_rest,
            "returned": page.returned,
            **vars(page),
        }
        here = PAYMENTS if page.payout is None else PAYOUTS
        return await self._renderer.part("payments/page.html", staff, here=here, at=at, **about)

    async def load(self, staff: Staff, order_id: str) -> PaymentAggregate:
        """Return a payment for reading only. Raises HTTPException 404 when the store has no such payment."""
        aggregate = await self._services.payments.find(ByOrder(order_id, installation_id=staff.installation.id))
        if aggregate is None:
            raise unknown_payment_error(staff)
        return aggregate


def unknown_payment_error(staff: Staff) -> HTTPException:
    """Return the error that the store has no such payment."""
    return http_error(404, "UNKNOWN_PAYMENT", staff.translation, _NO_PAYMENT)
