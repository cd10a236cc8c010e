"""The parts about one merchant account: what it is, what it lacks, and everything that can be changed of it."""

from collections.abc import Sequence

import structlog
from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from app.dashboard.form import fields_of
from app.dashboard.set_up.account_page import read_account_page
from app.dashboard.set_up.forms import (
    GRACES,
    FormFields,
    keys_typed,
    new_keys_in,
    options_changed,
    place_changed,
    require_public_addresses,
    said_in,
    text_of,
)
from app.dashboard.set_up.refusals import not_saved, refusals_told
from app.dashboard.set_up.setup_page import Flash, SetUpRenderer
from app.dashboard.set_up.steps import ACCOUNT
from app.dashboard.staff import AnyStaff, Staff, refused
from app.db.tables import MerchantAccount
from app.gateway.hosts import PRESETS
from app.i18n.messages import Joined, LazyMessage, gettext_noop
from app.payments.accounts.areas import LOST, Access, Area, AreaFinding, try_areas
from app.payments.accounts.check import try_out
from app.payments.accounts.keeping import Change, change_account, changes_address
from app.payments.accounts.option_values import read_options
from app.payments.reconciliation.run import let_worker_compare
from app.payments.services import Services
from app.payments.split.rules import RulesError, SplitRules, rules_in

log = structlog.get_logger(__name__)

_NO_ACCOUNT = gettext_noop("This store has no such merchant account.")
_CHANGED = LazyMessage("The account is changed.")
_AS_IT_WAS = LazyMessage("Nothing was changed: everything was like that already.")
_WORKS = LazyMessage("The gateway takes the keys of this account.")
_COMPARING = LazyMessage("The books are being compared. What differs is repaired, or listed under “What needs you”.")
_RULES_ARE_RIGHT = LazyMessage("The rules are right. Nothing was saved; below is what they mean.")


class OneAccountParts:
    """The parts about one merchant account."""

    def __init__(self, services: Services, renderer: SetUpRenderer) -> None:
        self._services = services
        self._renderer = renderer

    def add_to(self, router: APIRouter) -> None:
        """Add the routes to a router, whose guard lets in only whoever may set the app up."""
        path = "/set-up/accounts/{account_id}"
        router.add_api_route(path, self._look, methods=["GET"])
        router.add_api_route(f"{path}/check", self._check, methods=["POST"])
        router.add_api_route(f"{path}/compare", self._compare, methods=["POST"])
        router.add_api_route(f"{path}/options", self._set_options, methods=["POST"])
        router.add_api_route(f"{path}/keys", self._replace_keys, methods=["POST"])
        router.add_api_route(f"{path}/end-grace", self._end_grace, methods=["POST"])
        router.add_api_route(f"{path}/gateway", self._move, methods=["POST"])
        router.add_api_route(f"{path}/switch", self._switch, methods=["POST"])
        router.add_api_route(f"{path}/split", self._split, methods=["POST"])

    async def found(self, staff: Staff, account_id: str) -> MerchantAccount:
        """Return an account of that store. Raises HTTPException."""
        for each in await self._services.accounts.all(staff.installation.id):
            if each.id == account_id:
                return each
        raise refused(404, "UNKNOWN_ACCOUNT", staff.translation, _NO_ACCOUNT)

    async def shown(
        self,
        staff: Staff,
        account: MerchantAccount,
        flash: Flash | None = None,
        *,
        tried: SplitRules | None = None,
        areas: Sequence[AreaFinding] = (),
    ) -> HTMLResponse:
        """Return the page of an account; ``tried`` are rules that are to be shown instead of the kept ones.

        ``areas``: how those of the gateway were found to stand, just now.
        """
        page = await read_account_page(self._services, account, tried)
        address = f"/set-up/accounts/{account.id}"
        return await self._renderer.part(
            "account.html",
            staff,
            step=ACCOUNT,
            flash=flash,
            at=address,
            address=address,
            presets=PRESETS,
            graces=GRACES,
            areas=areas,
            lost=LOST,
            **vars(page),
        )

    async def _look(self, account_id: str, staff: AnyStaff) -> HTMLResponse:
        return await self.shown(staff, await self.found(staff, account_id))

    async def _check(self, account_id: str, staff: AnyStaff) -> HTMLResponse:
        account = await self.found(staff, account_id)
        with refusals_told(staff):
            wrong = await try_out(self._services.gateways.client(account), account.base_url)
        if wrong is None:
            works = AreaFinding(Area.PAYMENTS, Access.WORKS)
            areas = (works, *await try_areas(self._services.gateways.client(account), account))
            return await self.shown(staff, account, Flash(_WORKS), areas=areas)
        works_not = LazyMessage("This account does not work: %(why)s", why=wrong.words)
        return await self.shown(staff, account, Flash(works_not, good=False))

    async def _compare(self, account_id: str, staff: AnyStaff) -> HTMLResponse:
        account = await self.found(staff, account_id)
        begun = await let_worker_compare(self._services, account)
        log.info("books of a merchant account compared", account=account.id, staff=staff.id, begun=begun)
        return await self.shown(staff, account, Flash(_COMPARING))

    async def _set_options(self, request: Request, account_id: str, staff: AnyStaff) -> HTMLResponse:
        account, said = await self.found(staff, account_id), await _said(request)
        with refusals_told(staff):
            columns = read_options(options_changed(account, said), self._services.now())
            require_public_addresses(self._services, columns)
        change = Change(columns)
        if changes_address(account, change):
            change = Change(columns, keys=keys_typed(said))
        return await self._change(staff, account, change)

    async def _replace_keys(self, request: Request, account_id: str, staff: AnyStaff) -> HTMLResponse:
        account, said = await self.found(staff, account_id), await _said(request)
        with refusals_told(staff):
            change = new_keys_in(said)
        return await self._change(staff, account, change)

    async def _end_grace(self, account_id: str, staff: AnyStaff) -> HTMLResponse:
        account = await self.found(staff, account_id)
        account = await self._services.accounts.forget_previous_secret(account.id)
        log.info("old secret of a merchant account forgotten", account=account.id, staff=staff.id)
        return await self.shown(staff, account, Flash(_CHANGED))

    async def _move(self, request: Request, account_id: str, staff: AnyStaff) -> HTMLResponse:
        account, said = await self.found(staff, account_id), await _said(request)
        with refusals_told(staff):
            place = place_changed(account, said)
            if place.base_url != account.base_url:
                require_public_addresses(self._services, place.columns)
        return await self._change(staff, account, Change(place=place, keys=keys_typed(said)))

    async def _switch(self, request: Request, account_id: str, staff: AnyStaff) -> HTMLResponse:
        account, said = await self.found(staff, account_id), await _said(request)
        return await self._change(staff, account, Change({"enabled": text_of(said, "enabled") == "yes"}))

    async def _split(self, request: Request, account_id: str, staff: AnyStaff) -> HTMLResponse:
        account, said = await self.found(staff, account_id), await _said(request)
        try:
            rules = rules_in(text_of(said, "rules"))
        except RulesError as error:
            why = Joined(tuple(error.reasons), by="; ")
            raise not_saved(staff, "INVALID_RULES", why, field="rules") from error
        if text_of(said, "do") == "check":
            return await self.shown(staff, account, Flash(_RULES_ARE_RIGHT), tried=rules)
        kept = rules.model_dump(mode="json") if rules.on else None
        return await self._change(staff, account, Change({"split_rules": kept}))

    async def _change(self, staff: Staff, account: MerchantAccount, change: Change) -> HTMLResponse:
        if not change.columns and change.place is None and not change.keys:
            return await self.shown(staff, account, Flash(_AS_IT_WAS))
        with refusals_told(staff):
            changed = await change_account(self._services, account, change, tried=True)
        what = sorted([*change.columns, *change.keys, *(["gateway"] if change.place else [])])
        log.info("merchant account changed", account=account.id, changed=what, staff=staff.id)
        return await self.shown(staff, changed, Flash(_CHANGED))


async def _said(request: Request) -> FormFields:
    return said_in(await fields_of(request))
