"""What the pages in the Dashboard show and do, each part for one member of one store's staff.

A page at `/payments/7` fetches `/parts/payments/7`. Nothing here knows a cookie: the token in the request's header says
who asks, and only that store's payments exist for them.
"""

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse

from app.dashboard.attention.routes import AttentionParts
from app.dashboard.gateway.balances import BalanceParts
from app.dashboard.gateway.register import RegisterParts
from app.dashboard.money.routes import MoneyParts
from app.dashboard.navigation import SET_UP, OpenTasks
from app.dashboard.overview.routes import OverviewParts
from app.dashboard.payments.list_parts import PaymentListParts
from app.dashboard.payments.routes import PaymentParts
from app.dashboard.payouts.routes import PayoutParts
from app.dashboard.renderer import Renderer
from app.dashboard.set_up.routes import SetUpParts
from app.dashboard.staff import HANDLE_PAYMENTS, MANAGE_APPS, AnyStaff, guard
from app.doctor.deployment import Deployment
from app.payments.services import Services
from app.saleor.dashboard_token import DashboardTokens
from app.saleor.graphql import SaleorClient
from app.saleor.migration import ManifestFor


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
    """Return all parts: a router for each set of permissions that they need, with the guard that asks for it.

    No part can be added that forgets its guard. ``base`` is the path below which browsers reach the app,
    ``manifest_for`` what this release brings to a Saleor. ``address_header``: in which a trusted proxy tells where a
    request comes from.
    """
    renderer = Renderer(app_name, base)
    payment_list, payment = PaymentListParts(services, renderer), PaymentParts(services, renderer)
    overview = OverviewParts(services, renderer)
    open_tasks = OpenTasks(services)
    set_up = SetUpParts(services, saleor, renderer, deployment, manifest_for)

    async def home(request: Request, staff: AnyStaff) -> HTMLResponse:
        """Return the overview; before any channel has an account, what is left to do until there can be payments."""
        if await services.accounts.routes(staff.installation.id):
            return await overview.overview(request, staff)
        if staff.permissions >= SET_UP.permissions:
            return await set_up.begin(staff)
        return renderer.part("set_up/others.html", staff, here=None)

    def for_those_who_may(*permissions: str) -> APIRouter:
        guarded = Depends(guard(tokens, *permissions, counting=open_tasks.of))
        return APIRouter(prefix="/parts", include_in_schema=False, dependencies=[guarded])

    handling_payments = for_those_who_may(HANDLE_PAYMENTS)
    handling_payments.add_api_route("/", home, methods=["GET"])
    payment_list.add_to(handling_payments)
    payment.add_to(handling_payments)
    MoneyParts(services, renderer).add_to(handling_payments)
    AttentionParts(services, renderer, open_tasks).add_to(handling_payments)
    BalanceParts(services, renderer).add_to(handling_payments)
    PayoutParts(services, renderer, address_header).add_to(handling_payments)
    RegisterParts(services, renderer).add_to(handling_payments)
    setting_up = for_those_who_may(HANDLE_PAYMENTS, MANAGE_APPS)
    set_up.add_to(setting_up)
    return (handling_payments, setting_up)
