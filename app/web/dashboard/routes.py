"""The contents and the actions of the pages in the Dashboard, each part for one member of one store's staff.

A page at `/payments/7` fetches `/parts/payments/7`. Nothing here uses a cookie: the token in the request's header
identifies the user, who can access only that store's payments.
"""

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse

from app.ops.doctor.deployment import Deployment
from app.services import Services
from app.web.dashboard.attention.routes import AttentionParts
from app.web.dashboard.gateway.balances import BalanceParts
from app.web.dashboard.gateway.register import RegisterParts
from app.web.dashboard.money.routes import MoneyParts
from app.web.dashboard.overview.routes import OverviewParts
from app.web.dashboard.payments.list_routes import PaymentListParts
from app.web.dashboard.payments.routes import PaymentParts
from app.web.dashboard.payouts.routes import PayoutParts
from app.web.dashboard.renderer import SET_UP, Renderer
from app.web.dashboard.set_up.routes import SetUpParts
from app.web.dashboard.staff import HANDLE_PAYMENTS, MANAGE_APPS, AnyStaff, guard
from saleor_app_sdk.dashboard_token import DashboardTokens
from saleor_app_sdk.graphql import SaleorClient
from saleor_app_sdk.migration import ManifestFor


def create_parts(
    services: Services,
    tokens: DashboardTokens,
    saleor: SaleorClient,
    *,
    deployment: Deployment,
    manifest_for: ManifestFor,
    app_name: str,
    base: str = "",
    address_header: str | None = None,
) -> tuple[APIRouter, ...]:
    """Return all parts: a router for each set of permissions that they need, with the guard that checks them.

    No part can be added without a guard. ``base`` is the path below which browsers reach the app, ``manifest_for``
    builds what this release brings to a Saleor. ``address_header`` is the header in which a trusted proxy states the
    client's address.
    """

    renderer = Renderer(services, app_name, base)
    payment_list, payment = PaymentListParts(services, renderer), PaymentParts(services, renderer)
    overview = OverviewParts(services, renderer)
    set_up = SetUpParts(services, saleor, renderer, deployment, manifest_for)

    async def home(request: Request, staff: AnyStaff) -> HTMLResponse:
        """Return the overview; before any channel has an account, the setup steps that are left before payments."""
        if await services.accounts.routes(staff.installation.id):
            return await overview.overview(request, staff)
        if staff.permissions >= SET_UP.permissions:
            return await set_up.begin(staff)
        return await renderer.part("set_up/others.html", staff, here=None)

    def guarded_router(*permissions: str) -> APIRouter:
        guarded = Depends(guard(tokens, *permissions))
        return APIRouter(prefix="/parts", include_in_schema=False, dependencies=[guarded])

    handling_payments = guarded_router(HANDLE_PAYMENTS)
    handling_payments.add_api_route("/", home, methods=["GET"])
    payment_list.add_to(handling_payments)
    payment.add_to(handling_payments)
    MoneyParts(services, renderer).add_to(handling_payments)
    AttentionParts(services, renderer).add_to(handling_payments)
    BalanceParts(services, renderer).add_to(handling_payments)
    PayoutParts(services, renderer, address_header).add_to(handling_payments)
    RegisterParts(services, renderer).add_to(handling_payments)
    setting_up = guarded_router(HANDLE_PAYMENTS, MANAGE_APPS)
    set_up.add_to(setting_up)
    return (handling_payments, setting_up)
