"""The widget on an order's page in the Dashboard: an empty frame, into which its script fetches what there is to show.

Whatever it does is a form that the script posts, with the Dashboard's token in it and no cookie. So nobody's browser
can be made to do anything here by another site, and sending the same form twice does nothing twice.
"""

from collections.abc import Awaitable, Callable
from typing import Any

import structlog
from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import HTMLResponse

from app.amounts import NotAnAmountError, read_amount
from app.dashboard.order.view import view_of
from app.dashboard.order.widget_auth import UNREADABLE, Visitor, let_in
from app.dashboard.payments.actions import FAILED, Flash, NotOurFormError, flash_of, read_staff_request
from app.dashboard.renderer import TEMPLATES, THEMES
from app.dashboard.staff import HANDLE_PAYMENTS
from app.db.tables import Kind
from app.i18n.messages import gettext_noop
from app.i18n.translation import Translation, translation_for
from app.payments.core.refusal import RefusalError
from app.payments.services import Services
from app.payments.staff.actions import ask_for
from app.payments.staff.order_payments import payment_link, payments_of_order
from app.saleor.dashboard_token import DashboardTokens
from app.saleor.extension import Widget
from app.saleor.graphql import SaleorClient
from app.security_headers import PageKind, routes_of

log = structlog.get_logger(__name__)

ORDER_WIDGET = Widget(
    label="Payments through the gateway",
    mount="ORDER_DETAILS_WIDGETS",
    path="/widgets/order",
    permissions=(HANDLE_PAYMENTS,),
)

_LONGEST_ATTEMPT = 64
_NOT_AN_AMOUNT = gettext_noop("Write amounts like 1234.50.")
_MADE = gettext_noop("The link is ready: send it to the customer.")

Act = Callable[[Visitor], Awaitable[HTMLResponse]]


class OrderWidget:
    """The routes. ``base`` is the path below which browsers reach the app."""

    def __init__(
        self,
        services: Services,
        client: SaleorClient,
        tokens: DashboardTokens,
        *,
        app_name: str,
        base: str = "",
    ) -> None:
        self._services = services
        self._client = client
        self._tokens = tokens
        self._app_name = app_name
        self._base = base

    def router(self) -> APIRouter:
        """Return the routes. There is no way to one of them but through the door."""
        router = APIRouter(include_in_schema=False, route_class=routes_of(PageKind.WIDGET))
        router.add_api_route(ORDER_WIDGET.path, self._shell, methods=["GET"])
        router.add_api_route(ORDER_WIDGET.path, self._authenticated(self._shown), methods=["POST"])
        router.add_api_route(f"{ORDER_WIDGET.path}/link", self._authenticated(self._link), methods=["POST"])
        router.add_api_route(f"{ORDER_WIDGET.path}/close", self._authenticated(self._close), methods=["POST"])
        return router

    async def _shell(self, request: Request) -> HTMLResponse:
        """Return the empty frame, in the theme that the Dashboard names in the address; it holds nothing of anybody."""
        theme = request.query_params.get("theme", "")
        language = translation_for(request.headers.get("accept-language", ""))
        return self._page("order/shell.html", language, theme=theme if theme in THEMES else "")

    def _authenticated(self, act: Act) -> Callable[[Request], Awaitable[HTMLResponse]]:
        async def answer(request: Request) -> HTMLResponse:
            language = translation_for(request.headers.get("accept-language", ""))
            try:
                visitor = await let_in(self._tokens, request, language)
            except HTTPException as refusal:
                detail: Any = refusal.detail
                return self._page("order/refused.html", language, refusal.status_code, why=detail["message"])
            return await act(visitor)

        return answer

    async def _link(self, visitor: Visitor) -> HTMLResponse:
        staff, form = visitor.staff, visitor.form
        try:
            amount = read_amount(form.get("amount", ""))
            aggregate = await payment_link(
                self._services,
                self._client,
                staff.installation,
                visitor.order_id,
                amount=amount,
                attempt=form.get("attempt", "")[:_LONGEST_ATTEMPT],
            )
        except NotAnAmountError:
            return await self._shown(visitor, Flash(_NOT_AN_AMOUNT, "error"))
        except RefusalError as refusal:
            return await self._shown(visitor, Flash(FAILED, "error", refusal.message))
        log.info("payment link given", payment=aggregate.payment.order_id, staff=staff.id)
        return await self._shown(visitor, Flash(_MADE))

    async def _close(self, visitor: Visitor) -> HTMLResponse:
        staff, order_id = visitor.staff, visitor.form.get("payment", "")
        try:
            staff_request = read_staff_request(Kind.CANCEL, staff.name, list(visitor.form.items()))
            _, operation = await ask_for(self._services, order_id, staff_request, installation_id=staff.installation.id)
        except NotOurFormError:
            return await self._shown(visitor, Flash(UNREADABLE, "error"))
        except RefusalError as refusal:
            return await self._shown(visitor, Flash(FAILED, "error", refusal.message))
        log.info("payment link closed", payment=order_id, staff=staff.id)
        return await self._shown(visitor, flash_of(operation))

    async def _shown(self, visitor: Visitor, flash: Flash | None = None) -> HTMLResponse:
        known = await payments_of_order(self._services, self._client, visitor.staff.installation, visitor.order_id)
        installation = visitor.staff.installation
        accounts = await self._services.accounts.all(installation.id)
        view = view_of(known, self._services.now())
        return self._page(
            "order/widget.html",
            visitor.staff.translation,
            422 if flash and flash.status == "error" else 200,
            hidden=visitor.hidden,
            pay_page=self._services.addresses.pay_page,
            saleor=installation.saleor_api_url,
            # Where there is but one account, its name tells nothing.
            account_names={each.id: each.name for each in accounts} if len(accounts) > 1 else {},
            here=f"{self._base}{ORDER_WIDGET.path}",
            flash=flash,
            **vars(view),
        )

    def _page(self, template: str, language: Translation, status: int = 200, **values: object) -> HTMLResponse:
        html = TEMPLATES.render(template, language, app_name=self._app_name, base=self._base, **values)
        return HTMLResponse(html, status, headers={"Content-Language": language.language})
