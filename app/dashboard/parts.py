"""What the pages in the Dashboard show and do, each part for one member of one store's staff.

A page at `/payments/7` fetches `/parts/payments/7`. Nothing here knows a cookie: the token in the request's header says
who asks, and only that store's payments exist for them.
"""

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse

from app.dashboard.attention.count import OpenTasks
from app.dashboard.attention.parts import AttentionParts
from app.dashboard.paper import Paper
from app.dashboard.payments.list_parts import PaymentListParts
from app.dashboard.payments.parts import PaymentParts
from app.dashboard.set_up.first_steps import FIRST_STEPS, addressed_to
from app.dashboard.staff import HANDLE_PAYMENTS, AnyStaff, guard
from app.gateway.hosts import PRESETS
from app.payments.desk import Desk
from app.saleor.dashboard_token import DashboardTokens


def create_parts(desk: Desk, tokens: DashboardTokens, *, app_name: str, base: str = "") -> tuple[APIRouter, ...]:
    """Return all parts: a router for each permission that they need, with the guard that asks for it.

    No part can be added that forgets its guard. ``base`` is the path below which browsers reach the app.
    """
    paper = Paper(app_name, base)
    payment_list, payment = PaymentListParts(desk, paper), PaymentParts(desk, paper)
    open_tasks = OpenTasks(desk)

    async def home(request: Request, staff: AnyStaff) -> HTMLResponse:
        routes = await desk.accounts.routes()
        if any(each.installation_id == staff.installation.id for each in routes):
            return await payment_list.list(request, staff)
        steps = addressed_to(staff.installation.saleor_api_url, FIRST_STEPS)
        return paper.part("set_up/first_steps.html", staff, here=None, steps=steps, gateways=", ".join(PRESETS))

    def for_those_who_may(permission: str) -> APIRouter:
        guarded = Depends(guard(tokens, permission, counting=open_tasks.of))
        return APIRouter(prefix="/parts", include_in_schema=False, dependencies=[guarded])

    handling_payments = for_those_who_may(HANDLE_PAYMENTS)
    handling_payments.add_api_route("/", home, methods=["GET"])
    payment_list.add_to(handling_payments)
    payment.add_to(handling_payments)
    AttentionParts(desk, paper, open_tasks).add_to(handling_payments)
    return (handling_payments,)
