"""The pages: extensions and orders, an app in its frame, an order with its payments."""

from decimal import Decimal, InvalidOperation
from functools import cache
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Form, HTTPException, Request
from fastapi.responses import FileResponse, HTMLResponse, JSONResponse, RedirectResponse, Response
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from app.saleor.testing.dashboard.mounts import order_widgets
from app.saleor.testing.dashboard.tokens import access_token
from app.saleor.testing.engine import Saleor
from app.saleor.testing.records import Member
from app.saleor.testing.rendering import show_order, show_transaction
from app.saleor.testing.views import ErrorView
from app.saleor.testing.vocabulary import Action

_HERE = Path(__file__).parent
_STATIC = {"dashboard.css": "text/css", "dashboard.js": "text/javascript"}
# Apps are anywhere, and so are the forms that are posted into their widgets.
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
        "frame-src http: https:; form-action http: https:; base-uri 'none'; frame-ancestors 'none'"
    ),
    "Cache-Control": "no-store",
}
_ACTION_LABELS = {Action.CHARGE: "Charge", Action.REFUND: "Refund", Action.CANCEL: "Cancel"}
_Field = Annotated[str, Form()]


@cache
def dashboard_routes() -> APIRouter:
    """Return the routes of the Dashboard, the same for every Saleor that is played in this process."""
    routes = APIRouter(prefix="/dashboard", include_in_schema=False)
    pages = _Pages()
    for path, show in (
        ("", _to_the_front),
        ("/", pages.front),
        ("/extensions/app/{app_id}", pages.app),
        ("/extensions/app/{app_id}/{path:path}", pages.app),
        ("/orders/{order_id}", pages.order),
        ("/apps/{app_id}/token", _token),
        ("/static/{name}", _static),
    ):
        routes.add_api_route(path, show, methods=["GET"])
    for path, act in (("/orders/{order_id}", pages.act), ("/sign-in", _sign_in)):
        routes.add_api_route(path, act, methods=["POST"], dependencies=[Depends(_only_from_here)])
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
        orders = [show_order(order) for order in reversed(saleor.state.orders.values())]
        return self._page(request, "front.html", title="Home", orders=orders)

    async def app(self, request: Request, app_id: str) -> Response:
        """Show an app in its frame."""
        app = _saleor(request).state.app_by_id(app_id)
        if not app.manifest.get("appUrl"):
            raise HTTPException(404, f"{app.name} has no page")
        return self._page(request, "app.html", title=app.name, app=app)

    async def order(self, request: Request, order_id: str) -> Response:
        """Show an order with its payments, and what apps have to say about it."""
        return self._order(request, order_id)

    async def act(
        self, request: Request, order_id: str, transaction: _Field, action: _Field, amount: _Field = ""
    ) -> Response:
        """Charge, refund or cancel; shown when the app has answered."""
        saleor = _saleor(request)
        try:
            wanted, sum_ = Action(action), _amount(amount)
        except (ValueError, InvalidOperation):
            error = ErrorView(field="amount", code="INVALID", message=f"{amount} is no amount.")
            return self._order(request, order_id, error)
        asked = saleor.staff.request_action(transaction, wanted, sum_)
        await saleor.state.background_done()
        if asked.errors:
            return self._order(request, order_id, *asked.errors)
        return RedirectResponse(f"/dashboard/orders/{order_id}#{saleor.state.transaction(transaction).token}", 303)

    def _order(self, request: Request, order_id: str, *errors: ErrorView) -> Response:
        state = _saleor(request).state
        order = state.order(order_id)
        member = state.signed_in
        return self._page(
            request,
            "order.html",
            422 if errors else 200,
            title=f"Order {order.number}",
            order=show_order(order),
            transactions=[show_transaction(each) for each in reversed(order.transactions)],
            widgets=order_widgets(state, member, order) if member else [],
            action_labels={action.value: label for action, label in _ACTION_LABELS.items()},
            errors=errors,
        )

    def _page(self, request: Request, template: str, status: int = 200, **values: Any) -> HTMLResponse:
        state = _saleor(request).state
        html = self._templates.get_template(template).render(
            settings=state.settings,
            members=list(state.members.values()),
            member=state.signed_in,
            apps=list(state.apps.values()),
            **values,
        )
        return HTMLResponse(html, status, headers=_HEADERS)


async def _to_the_front() -> Response:
    return RedirectResponse("/dashboard/")


async def _sign_in(request: Request, email: _Field, back: _Field = "/dashboard/") -> Response:
    _saleor(request).state.sign_in(email)
    return RedirectResponse(back if back.startswith("/dashboard/") else "/dashboard/", 303)


async def _token(request: Request, app_id: str, extension: str | None = None) -> Response:
    """``app(id) {accessToken}``, or an extension's."""
    state = _saleor(request).state
    token = access_token(state, state.app_by_id(app_id), _signed_in(state.signed_in), extension)
    return JSONResponse({"token": token}, headers={"Cache-Control": "no-store"})


async def _static(name: str) -> Response:
    if name not in _STATIC:
        raise HTTPException(404)
    return FileResponse(_HERE / "static" / name, media_type=_STATIC[name], headers={"Cache-Control": "no-cache"})


async def _only_from_here(request: Request) -> None:
    """Refuse what a browser says was asked for by another site, or by an app in a frame."""
    if request.headers.get("sec-fetch-site", "same-origin") not in {"same-origin", "none"}:
        raise HTTPException(403, "Not from another site.")


def _signed_in(member: Member | None) -> Member:
    if member is None:
        raise HTTPException(403, "Nobody is signed in.")
    return member


def _saleor(request: Request) -> Saleor:
    saleor: Saleor = request.app.state.saleor
    return saleor


def _amount(text: str) -> Decimal | None:
    """Return what was typed; None for everything there is. Raises InvalidOperation or ValueError."""
    if not text.strip():
        return None
    amount = Decimal(text.strip().replace(",", "."))
    if not amount.is_finite() or amount <= 0:
        raise ValueError(text)
    return amount
