"""The balances page: the balances of each merchant account of a store at the gateway, and the age of the figures."""

import asyncio
from datetime import timedelta

import structlog
from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from app.flows.accounts.balances import read_balances
from app.flows.accounts.gateway_access import CONSEQUENCES
from app.i18n.messages import gettext_noop
from app.services import Services
from app.web.dashboard.renderer import BALANCES, SET_UP, Renderer
from app.web.dashboard.staff import AnyStaff, Staff, http_error

log = structlog.get_logger(__name__)

_NO_ACCOUNT = gettext_noop("This store has no such merchant account.")


class BalanceParts:
    """The routes of the balances page."""

    def __init__(self, services: Services, renderer: Renderer) -> None:
        self._services = services
        self._renderer = renderer

    def add_to(self, router: APIRouter) -> None:
        """Add the routes to a router whose guard requires the permission to handle payments."""
        router.add_api_route(BALANCES.path, self._page, methods=["GET"])
        router.add_api_route(f"{BALANCES.path}/{{account_id}}/refresh", self._refresh, methods=["POST"])

    async def _page(self, staff: AnyStaff) -> HTMLResponse:
        return await self._render(staff)

    async def _refresh(self, account_id: str, staff: AnyStaff) -> HTMLResponse:
        accounts = await self._services.accounts.all(staff.installation.id)
        if all(account.id != account_id for account in accounts):
            raise http_error(404, "UNKNOWN_ACCOUNT", staff.translation, _NO_ACCOUNT)
        return await self._render(staff, refresh=account_id)

    async def _render(self, staff: Staff, refresh: str | None = None) -> HTMLResponse:
        accounts = await self._services.accounts.all(staff.installation.id)
        found = await asyncio.gather(
            *(read_balances(self._services, account, refresh=account.id == refresh) for account in accounts)
        )
        for result in found:
            if result.trouble is not None:
                log.warning("balances.not_read", account=result.account.id, error=str(result.trouble.why))
        now = self._services.now()
        ages = {result.account.id: max(now - result.as_of, timedelta()) for result in found if result.as_of is not None}
        return await self._renderer.part(
            "gateway/balances.html",
            staff,
            here=BALANCES,
            at=None if refresh is None else BALANCES.path,
            found=found,
            ages=ages,
            refreshed=refresh,
            lost=CONSEQUENCES,
            sets_up=staff.permissions >= SET_UP.permissions,
        )
