"""The widget on an order's page in the Dashboard: an empty frame, into which its script fetches the content.

Every action is a form that the script posts, with the Dashboard's token in it and no cookie. So another site cannot
make a browser act here, and submitting the same form twice has no second effect.
"""

from collections.abc import Awaitable, Callable
from typing import Any

import structlog
from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import HTMLResponse

from app.core.vocabulary import Kind
from app.flows.staff.actions import request_action
from app.i18n.messages import gettext_noop
from app.i18n.translation import Translation, translation_for
from app.reports.order_payments import get_or_create_payment_link, payments_of_order
from app.rules.refusal import RefusalError
from app.rules.requests.languages import read_page_language
from app.services import Services
from app.web.dashboard.order.view import build_view
from app.web.dashboard.order.widget_auth import UNREADABLE, Submission, read_submission
from app.web.dashboard.payments.actions import (
    FAILED,
    NOT_AN_AMOUNT,
    Flash,
    InvalidFormError,
    flash_for,
    read_staff_request,
)
from app.web.dashboard.projects import test_ids
from app.web.dashboard.renderer import TEMPLATES, THEMES
from app.web.dashboard.staff import HANDLE_PAYMENTS
from app.web.security_headers import PageKind, route_class_for
from integration_base.amounts import NotAnAmountError
from saleor_app_sdk.dashboard_token import DashboardTokens
from saleor_app_sdk.extension import Widget
from saleor_app_sdk.graphql import SaleorClient

log = structlog.get_logger(__name__)

ORDER_WIDGET = Widget(
    label="Payments through the gateway",
    mount="ORDER_DETAILS_WIDGETS",
    path="/widgets/order",
    permissions=(HANDLE_PAYMENTS,),
)

_LONGEST_ATTEMPT = 64
_LINK_READY = gettext_noop("The link is ready: send it to the customer.")

Action = Callable[[Submission], Awaitable[HTMLResponse]]


class OrderWidget:
    """The routes of the widget. ``base`` is the path below which browsers reach the app."""

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
        """Return the routes. All of them but the empty frame require authentication."""
        router = APIRouter(include_in_schema=False, route_class=route_class_for(PageKind.WIDGET))
        router.add_api_route(ORDER_WIDGET.path, self._shell, methods=["GET"])
        router.add_api_route(ORDER_WIDGET.path, self._authenticated(self._render), methods=["POST"])
        router.add_api_route(f"{ORDER_WIDGET.path}/link", self._authenticated(self._create_link), methods=["POST"])
        router.add_api_route(f"{ORDER_WIDGET.path}/close", self._authenticated(self._close_link), methods=["POST"])
        return router

    async def _shell(self, request: Request) -> HTMLResponse:
        """Return the empty frame, in the theme that the Dashboard names in the address; it contains no data."""
        theme = request.query_params.get("theme", "")
        language = translation_for(request.headers.get("accept-language", ""))
        return self._page("order/shell.html", language, theme=theme if theme in THEMES else "")

    def _authenticated(self, act: Action) -> Callable[[Request], Awaitable[HTMLResponse]]:
        async def respond(request: Request) -> HTMLResponse:
            language = translation_for(request.headers.get("accept-language", ""))
            try:
                submission = await read_submission(self._tokens, request, language)
            except HTTPException as refusal:
                detail: Any = refusal.detail
                return self._page("order/refused.html", language, refusal.status_code, why=detail["message"])
            return await act(submission)

        return respond

    async def _create_link(self, submission: Submission) -> HTMLResponse:
        staff, form = submission.staff, submission.form
        try:
            aggregate = await get_or_create_payment_link(
                self._services,
                self._client,
                staff.installation,
                submission.order_id,
                amount=form.get("amount", ""),
                attempt=form.get("attempt", "")[:_LONGEST_ATTEMPT],
                language=read_page_language(form.get("language", "")),
            )
        except NotAnAmountError:
            return await self._render(submission, Flash(NOT_AN_AMOUNT, "error", field="amount"))
        except RefusalError as refusal:
            field = "amount" if refusal.field == "amount" else None
            return await self._render(submission, Flash(FAILED, "error", refusal.message, field))
        log.info("payment_link.created", payment=aggregate.payment.order_id, staff=staff.id)
        return await self._render(submission, Flash(_LINK_READY))

    async def _close_link(self, submission: Submission) -> HTMLResponse:
        staff, order_id = submission.staff, submission.form.get("payment", "")
        try:
            staff_request = read_staff_request(Kind.CANCEL, staff.name, list(submission.form.items()))
            _, operation = await request_action(
                self._services, order_id, staff_request, installation_id=staff.installation.id
            )
        except InvalidFormError:
            return await self._render(submission, Flash(UNREADABLE, "error"))
        except RefusalError as refusal:
            return await self._render(submission, Flash(FAILED, "error", refusal.message))
        log.info("payment_link.closed", payment=order_id, staff=staff.id)
        return await self._render(submission, flash_for(operation))

    async def _render(self, submission: Submission, flash: Flash | None = None) -> HTMLResponse:
        known = await payments_of_order(
            self._services, self._client, submission.staff.installation, submission.order_id
        )
        installation = submission.staff.installation
        accounts = await self._services.accounts.all(installation.id)
        view = build_view(known, self._services.now())
        return self._page(
            "order/widget.html",
            submission.staff.translation,
            422 if flash and flash.status == "error" else 200,
            hidden=submission.hidden,
            pay_page=self._services.addresses.pay_page,
            saleor=installation.saleor_api_url,
            # With a single account its name adds no information.
            account_names={account.id: account.name for account in accounts} if len(accounts) > 1 else {},
            tests=test_ids(accounts),
            here=f"{self._base}{ORDER_WIDGET.path}",
            flash=flash,
            **vars(view),
        )

    def _page(self, template: str, language: Translation, status: int = 200, **values: object) -> HTMLResponse:
        html = TEMPLATES.render(template, language, app_name=self._app_name, base=self._base, **values)
        return HTMLResponse(html, status, headers={"Content-Language": language.language})
