"""The routes of sales channels: the account that takes the money of each, and what is missing."""

from collections.abc import Mapping

import structlog
from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from app.flows.accounts.channels import (
    ChannelMap,
    assign_channel,
    find_project_moves,
    is_slug,
    read_channels,
    successors,
)
from app.flows.accounts.shop_name import name_shops
from app.i18n.messages import Joined, LazyMessage, gettext_noop
from app.services import Services
from app.web.dashboard.form import read_form_fields
from app.web.dashboard.set_up.forms import group_fields, is_changed_in
from app.web.dashboard.set_up.setup_page import CHANNELS, Flash, SetUpRenderer
from app.web.dashboard.staff import AnyStaff, Staff, http_error
from saleor_app_sdk.graphql import SaleorClient

log = structlog.get_logger(__name__)

_ACCOUNT_OF = "account."
_MOVE_OF = "move."  # confirms that a channel moves to an account of another kind of project
_SAVED = LazyMessage("The channels were saved.")
_SAVED_UNSEEN = LazyMessage(
    "The channels were saved. Saleor does not list its channels right now, so they were not checked."
)
_UNUSABLE = gettext_noop("The channels were saved, but shoppers cannot pay in %(channels)s: see below what is missing.")
_OTHER_CHANNELS = LazyMessage("Nothing was saved: the channels have changed in Saleor. Check them, and save again.")
_NO_SLUG = gettext_noop("This is not a channel slug. Enter it like default-channel, as the Dashboard shows it.")
_NO_ACCOUNT = gettext_noop("This store has no such merchant account.")


class ChannelParts:
    """The routes of sales channels."""

    def __init__(self, services: Services, saleor: SaleorClient, renderer: SetUpRenderer) -> None:
        self._services = services
        self._saleor = saleor
        self._renderer = renderer

    def add_to(self, router: APIRouter) -> None:
        """Add the routes to a router whose guard requires the permissions for setup."""
        router.add_api_route("/set-up/channels", self.list, methods=["GET"])
        router.add_api_route("/set-up/channels", self._map, methods=["POST"])

    async def list(self, staff: AnyStaff) -> HTMLResponse:
        """Return the channels of the store."""
        return await self._show(staff, await read_channels(self._services, self._saleor, staff.installation))

    async def _show(self, staff: Staff, found: ChannelMap, flash: Flash | None = None) -> HTMLResponse:
        accounts = await self._services.accounts.all(staff.installation.id)
        return await self._renderer.part(
            "channels.html",
            staff,
            step=CHANNELS,
            flash=flash,
            found=found,
            accounts=accounts,
            renamed=successors(found),
        )

    async def _map(self, request: Request, staff: AnyStaff) -> HTMLResponse:
        form = dict(fields := await read_form_fields(request))
        present = {
            route.channel: route.account_id for route in await self._services.accounts.routes(staff.installation.id)
        }
        wanted = self._parse_mapping(staff, form)
        for name in form:
            channel = name.removeprefix(_ACCOUNT_OF)
            if channel != name and not is_changed_in(group_fields(fields), name):
                wanted[channel] = present.get(channel, "")  # somebody else may have changed it meanwhile
        accounts = {account.id: account for account in await self._services.accounts.all(staff.installation.id)}
        if {account for account in wanted.values() if account} - {*accounts}:
            raise http_error(404, "UNKNOWN_ACCOUNT", staff.translation, _NO_ACCOUNT)
        found = await read_channels(self._services, self._saleor, staff.installation)
        if {*wanted} - {status.slug for status in found.channels} and not found.unreachable:
            # The form was opened before a channel was renamed or deleted: its slug may be another channel's now.
            return await self._show(staff, found, Flash(_OTHER_CHANNELS, good=False))
        moves = find_project_moves(found, {channel: accounts.get(account) for channel, account in wanted.items()})
        if any(form.get(f"{_MOVE_OF}{move.channel}") != move.after.id for move in moves):
            return await self._renderer.part(
                "move_channels.html", staff, step=CHANNELS, at=CHANNELS, moves=moves, wanted=wanted
            )
        for channel, account in wanted.items():
            if present.get(channel, "") == account:
                continue
            if account:
                await assign_channel(self._services, channel, accounts[account])
            else:
                await self._services.accounts.unmap_channel(staff.installation.id, channel)
            log.info("channel.mapped", channel=channel, account=account or None, staff=staff.id)
        taking = [accounts[account] for account in dict.fromkeys(wanted.values()) if account]
        await name_shops(self._services, self._saleor, staff.installation, taking)
        found = await read_channels(self._services, self._saleor, staff.installation)
        return await self._show(staff, found, _flash_for(found, wanted))

    def _parse_mapping(self, staff: Staff, params: Mapping[str, str]) -> dict[str, str]:
        """Return the account's id of each channel in the form; empty for none. Raises HTTPException 422."""
        wanted = {
            name.removeprefix(_ACCOUNT_OF): account for name, account in params.items() if name.startswith(_ACCOUNT_OF)
        }
        typed = params.get("slug", "").strip()
        if typed:
            wanted[typed] = params.get("account_of_slug", "")
        if not all(map(is_slug, wanted)):
            raise http_error(422, "INVALID_SLUG", staff.translation, _NO_SLUG, fields={"slug": _NO_SLUG})
        return wanted


def _flash_for(found: ChannelMap, wanted: Mapping[str, str]) -> Flash:
    """Return the message about channels that were saved: one, also where a channel cannot be used yet."""
    if found.unreachable:
        return Flash(_SAVED_UNSEEN)
    unusable = [status for status in found.channels if wanted.get(status.slug) and not status.works]
    if not unusable:
        return Flash(_SAVED)
    names = Joined(tuple(status.name or status.slug for status in unusable))
    return Flash(LazyMessage(_UNUSABLE, channels=names), good=False)
