"""The Dashboard's pages: extensions and orders, an app in its frame, an order with its payments."""

from decimal import Decimal, InvalidOperation
from functools import cache
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Form, HTTPException, Request
from fastapi.responses import FileResponse, HTMLResponse, JSONResponse, RedirectResponse, Response
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from saleor_app_sdk.testing.dashboard.mounts import order_widgets
from saleor_app_sdk.testing.dashboard.tokens import access_token
from saleor_app_sdk.testing.engine import Saleor
from saleor_app_sdk.testing.records import Member
from saleor_app_sdk.testing.rendering import order_view, transaction_view
from saleor_app_sdk.testing.views import ErrorView, GrantedLine
from saleor_app_sdk.testing.vocabulary import Action

_HERE = Path(__file__).parent
_STATIC = {"dashboard.css": "text/css", "dashboard.js": "text/javascript"}
# Apps can have any origin, and so can the targets of forms that are posted into their widgets.
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
        "frame-src http: https:; form-action http: https:; base-uri 'none'; frame-ancestors 'none'"
    ),
    "Cache-Control": "no-store",
}
_ACTION_LABELS = {Action.CHARGE: "Charge", Action.REFUND: "Refund", Action.CANCEL: "Cancel"}
_Field = Annotated[str, Form()]
_Fields = Annotated[list[str], Form()]


@cache
def dashboard_routes() -> APIRouter:
    """Return the routes of the Dashboard, shared by all Saleors in this process."""
    routes = APIRouter(prefix="/dashboard", include_in_schema=False)
    pages = _Pages()
    for path, page in (
        ("", _redirect_to_front),
        ("/", pages.front),
        ("/extensions/app/{app_id}", pages.app),
        ("/extensions/app/{app_id}/{path:path}", pages.app),
        ("/orders/{order_id}", pages.order),
        ("/apps/{app_id}/token", _token),
        ("/static/{name}", _static),
    ):
        routes.add_api_route(path, page, methods=["GET"])
    for path, action in (
        ("/orders/{order_id}", pages.request_action),
        ("/orders/{order_id}/refund", pages.refund_lines),
        ("/sign-in", _sign_in),
    ):
        routes.add_api_route(path, action, methods=["POST"], dependencies=[Depends(_require_same_origin)])
    return routes


class _Pages:
    def __init__(self) -> None:
        self._templates = Environment(
            loader=FileSystemLoader(_HERE / "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )

    async def front(self, request: Request) -> Response:
        """Show the installed apps with their problems, and the orders, newest first."""
        saleor = _saleor(request)
        orders = [order_view(order) for order in reversed(saleor.state.orders.values())]
        return self._render_page(request, "front.html", title="Home", orders=orders)

    async def app(self, request: Request, app_id: str) -> Response:
        """Show an app in its frame."""
        app = _saleor(request).state.app_by_id(app_id)
        if not app.manifest.get("appUrl"):
            raise HTTPException(404, f"{app.name} has no page")
        return self._render_page(request, "app.html", title=app.name, app=app)

    async def order(self, request: Request, order_id: str) -> Response:
        """Show an order with its payments and the widgets of apps."""
        return self._render_order(request, order_id)

    async def request_action(
        self, request: Request, order_id: str, transaction: _Field, action: _Field, amount: _Field = ""
    ) -> Response:
        """Charge, refund or cancel; respond when the app has responded."""
        saleor = _saleor(request)
        try:
            requested_action, requested_amount = Action(action), _parse_amount(amount)
        except (ValueError, InvalidOperation):
            error = ErrorView(field="amount", code="INVALID", message=f"{amount} is no amount.")
            return self._render_order(request, order_id, error)
        result = saleor.staff.request_action(transaction, requested_action, requested_amount)
        await saleor.state.wait_for_background()
        if result.errors:
            return self._render_order(request, order_id, *result.errors)
        return RedirectResponse(f"/dashboard/orders/{order_id}#{saleor.state.transaction(transaction).token}", 303)

    async def refund_lines(
        self, request: Request, order_id: str, transaction: _Field, line: _Fields, quantity: _Fields
    ) -> Response:
        """Grant a refund of these quantities of the order's lines, and request it from the app."""
        saleor = _saleor(request)
        try:
            numbers = [int(text or 0) for text in quantity]
        except ValueError:
            return self._render_order(
                request, order_id, ErrorView(field="lines", code="INVALID", message="Enter whole numbers.")
            )
        lines = [GrantedLine(line_id=key, quantity=number) for key, number in zip(line, numbers, strict=True) if number]
        prices = {sold.id: sold.unit_price for sold in order_view(saleor.state.order(order_id)).lines}
        amount = sum((prices[refunded.line_id] * refunded.quantity for refunded in lines), Decimal())
        result = saleor.staff.grant_refund(order_id, amount, transaction_id=transaction, lines=lines)
        if result.granted_refund is not None:
            result = saleor.staff.request_refund_for_granted_refund(result.granted_refund.id)
            await saleor.state.wait_for_background()
        if result.errors:
            return self._render_order(request, order_id, *result.errors)
        return RedirectResponse(f"/dashboard/orders/{order_id}#{saleor.state.transaction(transaction).token}", 303)

    def _render_order(self, request: Request, order_id: str, *errors: ErrorView) -> Response:
        state = _saleor(request).state
        order = state.order(order_id)
        member = state.signed_in
        return self._render_page(
            request,
            "order.html",
            422 if errors else 200,
            title=f"Order {order.number}",
            order=order_view(order),
            transactions=[transaction_view(transaction) for transaction in reversed(order.transactions)],
            widgets=order_widgets(state, member, order) if member else [],
            action_labels={action.value: label for action, label in _ACTION_LABELS.items()},
            errors=errors,
        )

    def _render_page(self, request: Request, template: str, status: int = 200, **values: Any) -> HTMLResponse:
        state = _saleor(request).state
        html = self._templates.get_template(template).render(
            settings=state.settings,
            members=list(state.members.values()),
            member=state.signed_in,
            apps=list(state.apps.values()),
            **values,
        )
        return HTMLResponse(html, status, headers=_HEADERS)


async def _redirect_to_front() -> Response:
    return RedirectResponse("/dashboard/")


async def _sign_in(request: Request, email: _Field, back: _Field = "/dashboard/") -> Response:
    _saleor(request).state.sign_in(email)
    return RedirectResponse(back if back.startswith("/dashboard/") else "/dashboard/", 303)


async def _token(request: Request, app_id: str, extension: str | None = None) -> Response:
    """Return ``app(id) {accessToken}``, or an extension's."""
    state = _saleor(request).state
    token = access_token(state, state.app_by_id(app_id), _require_member(state.signed_in), extension)
    return JSONResponse({"token": token}, headers={"Cache-Control": "no-store"})


async def _static(name: str) -> Response:
    if name not in _STATIC:
        raise HTTPException(404)
    return FileResponse(_HERE / "static" / name, media_type=_STATIC[name], headers={"Cache-Control": "no-cache"})


async def _require_same_origin(request: Request) -> None:
    """Reject requests that, according to the browser, come from another site or from an app in a frame."""
    if request.headers.get("sec-fetch-site", "same-origin") not in {"same-origin", "none"}:
        raise HTTPException(403, "Not from another site.")


def _require_member(member: Member | None) -> Member:
    if member is None:
        raise HTTPException(403, "Nobody is signed in.")
    return member


def _saleor(request: Request) -> Saleor:
    saleor: Saleor = request.app.state.saleor
    return saleor


def _parse_amount(text: str) -> Decimal | None:
    """Return the entered amount; None, if empty, means everything. Raises InvalidOperation or ValueError."""
    if not text.strip():
        return None
    amount = Decimal(text.strip().replace(",", "."))
    if not amount.is_finite() or amount <= 0:
        raise ValueError(text)
    return amount
