"""The setup routes: merchant accounts, channels, a trial payment, the Dashboard's address, and the health check.

Every part shows the steps at its top, and none shows a secret.
"""

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from app.ops.doctor.deployment import Deployment
from app.services import Services
from app.web.dashboard.renderer import Renderer
from app.web.dashboard.set_up.accounts import AccountParts
from app.web.dashboard.set_up.channels import ChannelParts
from app.web.dashboard.set_up.dashboard_link import DashboardLinkParts
from app.web.dashboard.set_up.health import HealthParts
from app.web.dashboard.set_up.setup_page import SetUpRenderer
from app.web.dashboard.set_up.trials import TrialParts
from app.web.dashboard.staff import Staff
from saleor_app_sdk.graphql import SaleorClient
from saleor_app_sdk.migration import ManifestFor


class SetUpParts:
    """The setup routes."""

    def __init__(
        self,
        services: Services,
        saleor: SaleorClient,
        shared: Renderer,
        deployment: Deployment,
        manifest_for: ManifestFor,
    ) -> None:
        renderer = SetUpRenderer(services, shared)
        self._services = services
        self._accounts = AccountParts(services, saleor, renderer)
        self._channels = ChannelParts(services, saleor, renderer)
        self._trials = TrialParts(services, renderer)
        self._link = DashboardLinkParts(services, renderer)
        self._health = HealthParts(services, deployment, manifest_for, renderer)

    def add_to(self, router: APIRouter) -> None:
        """Add the routes to a router whose guard requires the permissions for setup."""
        self._accounts.add_to(router)
        self._channels.add_to(router)
        self._trials.add_to(router)
        self._link.add_to(router)
        self._health.add_to(router)

    async def begin(self, staff: Staff) -> HTMLResponse:
        """Return the form of the first account, or the channels once there is an account."""
        if await self._services.accounts.all(staff.installation.id):
            return await self._channels.list(staff)
        return await self._accounts.list(staff)
