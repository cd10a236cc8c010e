"""The parts about sales channels: which account takes the money of each, and what is missing."""

from collections.abc import Mapping

import structlog
from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from app.dashboard.form import fields_of
from app.dashboard.set_up.setup_page import Flash, SetUpRenderer
from app.dashboard.set_up.steps import CHANNELS
from app.dashboard.staff import AnyStaff, Staff, refused
from app.i18n.messages import LazyMessage, gettext_noop
from app.payments.accounts.channels import is_slug, read_channels
from app.payments.services import Services
from app.saleor.graphql import SaleorClient

log = structlog.get_logger(__name__)

_ACCOUNT_OF = "account."
_KEPT = LazyMessage("The channels are kept.")
_NO_SLUG = gettext_noop("This is no slug of a channel. Write it like default-channel, as the Dashboard shows it.")
_NO_ACCOUNT = gettext_noop("This store has no such merchant account.")


class ChannelParts:
    """The parts about sales channels."""

    def __init__(self, services: Services, saleor: SaleorClient, renderer: SetUpRenderer) -> None:
        self._services = services
        self._saleor = saleor
        self._renderer = renderer

    def add_to(self, router: APIRouter) -> None:
        """Add the routes to a router, whose guard lets in only whoever may set the app up."""
        router.add_api_route("/set-up/channels", self.list, methods=["GET"])
        router.add_api_route("/set-up/channels", self._map, methods=["POST"])

    async def list(self, staff: AnyStaff) -> HTMLResponse:
        """Return the channels of the store."""
        return await self._listed(staff)

    async def _listed(self, staff: Staff, flash: Flash | None = None) -> HTMLResponse:
        found = await read_channels(self._services, self._saleor, staff.installation)
        accounts = await self._services.accounts.all(staff.installation.id)
        return await self._renderer.part(
            "channels.html", staff, step=CHANNELS, flash=flash, found=found, accounts=accounts
        )

    async def _map(self, request: Request, staff: AnyStaff) -> HTMLResponse:
        wanted = self._wanted(staff, dict(await fields_of(request)))
        known = {each.id for each in await self._services.accounts.all(staff.installation.id)}
        if {account for account in wanted.values() if account} - known:
            raise refused(404, "UNKNOWN_ACCOUNT", staff.translation, _NO_ACCOUNT)
        present = {
            each.channel: each.account_id for each in await self._services.accounts.routes(staff.installation.id)
        }
        for channel, account in wanted.items():
            if present.get(channel, "") == account:
                continue
            if account:
                await self._services.accounts.map_channel(channel, account)
            else:
                await self._services.accounts.unmap_channel(staff.installation.id, channel)
            log.info("channel mapped", channel=channel, account=account or None, staff=staff.id)
        return await self._listed(staff, Flash(_KEPT))

    def _wanted(self, staff: Staff, said: Mapping[str, str]) -> dict[str, str]:
        """Return the account's id of each channel that the form names; empty for none."""
        wanted = {
            name.removeprefix(_ACCOUNT_OF): account for name, account in said.items() if name.startswith(_ACCOUNT_OF)
        }
        typed = said.get("slug", "").strip()
        if typed:
            wanted[typed] = said.get("account_of_slug", "")
        if not all(map(is_slug, wanted)):
            raise refused(422, "INVALID_SLUG", staff.translation, _NO_SLUG, fields={"slug": _NO_SLUG})
        return wanted
