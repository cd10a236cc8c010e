"""The routes of the store's merchant accounts: the list, a new account, and removal."""

import structlog
from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from app.flows.accounts.changes import add_account
from app.flows.accounts.channels import load_views
from app.flows.accounts.gateway_endpoint import DEFAULT_SCHEME_WORD
from app.flows.accounts.shop_name import name_shops
from app.i18n.messages import LazyMessage
from app.rules.accounts.options import DEFAULT_CURRENCIES, OPTIONS
from app.services import Services
from app.web.dashboard.form import read_form_fields
from app.web.dashboard.set_up.account_page import can_open_keys
from app.web.dashboard.set_up.forms import group_fields, is_saved_anyway, read_new_account
from app.web.dashboard.set_up.one_account import OneAccountParts
from app.web.dashboard.set_up.operator_notices import operator_notices, owner_limitations
from app.web.dashboard.set_up.refusals import refusals_as_http_errors
from app.web.dashboard.set_up.setup_page import ACCOUNT, Flash, SetUpRenderer
from app.web.dashboard.staff import AnyStaff, Staff
from gateway_client.hosts import KNOWN_GATEWAYS
from saleor_app_sdk.graphql import SaleorClient

log = structlog.get_logger(__name__)

_ADDED = LazyMessage("The gateway accepted these keys, and the account was saved. Next, choose which channels use it.")
_ADDED_UNTESTED = LazyMessage(
    "The account was saved without a test of its keys. If they are wrong, nobody can pay: make a trial payment before "
    "you choose which channels use it."
)
_DELETED = LazyMessage("The account and its keys were deleted.")
_SWITCHED_OFF = LazyMessage("The account was switched off. It is kept for the payments that refer to it.")


class AccountParts:
    """The routes of merchant accounts."""

    def __init__(self, services: Services, saleor: SaleorClient, renderer: SetUpRenderer) -> None:
        self._services = services
        self._saleor = saleor
        self._renderer = renderer
        self._one = OneAccountParts(services, renderer)

    def add_to(self, router: APIRouter) -> None:
        """Add the routes to a router whose guard requires the permissions for setup."""
        router.add_api_route("/set-up", self.list, methods=["GET"])
        router.add_api_route("/set-up/accounts/new", self._new, methods=["GET"])
        router.add_api_route("/set-up/accounts", self._add, methods=["POST"])
        router.add_api_route("/set-up/accounts/{account_id}/remove", self._remove, methods=["POST"])
        self._one.add_to(router)

    async def list(self, staff: AnyStaff) -> HTMLResponse:
        """Return the list of accounts, or the form for the first one if there is none."""
        return await self._render_list(staff)

    async def _render_list(self, staff: Staff, flash: Flash | None = None) -> HTMLResponse:
        at = ACCOUNT if flash else None
        accounts = await load_views(self._services, installation_id=staff.installation.id)
        if not accounts:
            return await self._form(staff, first=True, flash=flash, at=at)
        listed = [
            (
                account,
                owner_limitations(account),
                operator_notices(account, opens=can_open_keys(self._services, account.account)),
            )
            for account in accounts
        ]
        return await self._renderer.part("accounts.html", staff, step=ACCOUNT, accounts=listed, flash=flash, at=at)

    async def _new(self, staff: AnyStaff) -> HTMLResponse:
        return await self._form(staff, first=False)

    async def _form(
        self, staff: Staff, *, first: bool, flash: Flash | None = None, at: str | None = None
    ) -> HTMLResponse:
        return await self._renderer.part(
            "new_account.html",
            staff,
            step=ACCOUNT,
            flash=flash,
            at=at,
            first=first,
            presets=KNOWN_GATEWAYS,
            options=OPTIONS,
            currencies=" ".join(DEFAULT_CURRENCIES),
            scheme_word=DEFAULT_SCHEME_WORD,
        )

    async def _add(self, request: Request, staff: AnyStaff) -> HTMLResponse:
        fields, services = group_fields(await read_form_fields(request)), self._services
        with refusals_as_http_errors(staff):
            new, anyway = read_new_account(fields, services, staff.installation.id), is_saved_anyway(fields)
            account = await add_account(services, new, verify=not anyway)
        await name_shops(services, self._saleor, staff.installation, [account])
        account = await self._one.find_account(staff, account.id)
        log.info("account.added", account=account.id, staff=staff.id, tested=not anyway)
        return await self._one.render(staff, account, Flash(_ADDED_UNTESTED, good=False) if anyway else Flash(_ADDED))

    async def _remove(self, account_id: str, staff: AnyStaff) -> HTMLResponse:
        account = await self._one.find_account(staff, account_id)
        deleted = await self._services.accounts.remove(account.id)
        log.info("account.removed", account=account.id, deleted=deleted, staff=staff.id)
        return await self._render_list(staff, Flash(_DELETED if deleted else _SWITCHED_OFF))
