"""The routes of one merchant account: its page with what it lacks, and all changes of it."""

from collections.abc import Sequence

import structlog
from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from app.flows.accounts.changes import AccountChange, change_account, changes_address
from app.flows.accounts.channels import load_view
from app.flows.accounts.check import check_merchant_account
from app.flows.accounts.dialect_findings import PROPOSED_OPTIONS, DialectFinding
from app.flows.accounts.gateway_access import CONSEQUENCES, Access, Area, AreaFinding
from app.flows.reconciliation.run import schedule_comparison
from app.i18n.messages import Joined, LazyMessage, gettext_noop
from app.rules.accounts.option_values import read_options
from app.rules.accounts.options import OPTIONS
from app.rules.requests.payout import currency_of
from app.rules.split.rules import RulesError, SplitRules, parse_rules
from app.services import Services
from app.store.accounts import ChangedMeanwhileError
from app.store.tables import MerchantAccount
from app.web.dashboard.form import read_form_fields
from app.web.dashboard.set_up.account_page import read_account_page, stored_rules
from app.web.dashboard.set_up.forms import (
    ANYWAY,
    GRACES,
    FormFields,
    changed_options,
    group_fields,
    is_saved_anyway,
    read_changed_endpoint,
    read_new_keys,
    require_public_addresses,
    text_of,
    typed_keys,
)
from app.web.dashboard.set_up.refusals import NOT_SAVED, not_saved_error, refusals_as_http_errors
from app.web.dashboard.set_up.setup_page import ACCOUNT, Flash, SetUpRenderer
from app.web.dashboard.set_up.split_table import MODES, SellerRow, SplitTableError, read_table
from app.web.dashboard.staff import AnyStaff, Staff, http_error
from gateway_client.hosts import KNOWN_GATEWAYS

log = structlog.get_logger(__name__)

_NO_ACCOUNT = gettext_noop("This store has no such merchant account.")
_CHANGED_UNTESTED = LazyMessage(
    "Saved without a test of the keys. If they are wrong, nobody can pay: make a trial payment."
)
_CHANGED = LazyMessage("The account was updated.")
_UNCHANGED = LazyMessage("Nothing was changed: the account already had these values.")
_WORKS = LazyMessage("The gateway accepts the keys of this account.")
_COMPARING = LazyMessage("The records are being compared. Differences are repaired or listed under “Needs attention”.")
_VERSION = "version"  # of the split rules that the form was opened with
_RULES_CHANGED = LazyMessage(
    "Nothing was saved: somebody else has saved other rules since you opened this page. What you have entered is still "
    "here. Open the page once more in another tab to compare."
)
_RULES_VALID = LazyMessage("The rules are valid. Nothing was saved; see below what they mean.")


class OneAccountParts:
    """The routes of one merchant account."""

    def __init__(self, services: Services, renderer: SetUpRenderer) -> None:
        self._services = services
        self._renderer = renderer

    def add_to(self, router: APIRouter) -> None:
        """Add the routes to a router whose guard requires the permissions for setup."""
        path = "/set-up/accounts/{account_id}"
        router.add_api_route(path, self._page, methods=["GET"])
        router.add_api_route(f"{path}/check", self._check, methods=["POST"])
        router.add_api_route(f"{path}/adopt", self._adopt, methods=["POST"])
        router.add_api_route(f"{path}/compare", self._compare, methods=["POST"])
        router.add_api_route(f"{path}/options", self._set_options, methods=["POST"])
        router.add_api_route(f"{path}/keys", self._replace_keys, methods=["POST"])
        router.add_api_route(f"{path}/end-grace", self._end_grace, methods=["POST"])
        router.add_api_route(f"{path}/gateway", self._move, methods=["POST"])
        router.add_api_route(f"{path}/switch", self._switch, methods=["POST"])
        router.add_api_route(f"{path}/split", self._split, methods=["POST"])

    async def find_account(self, staff: Staff, account_id: str) -> MerchantAccount:
        """Return an account of that store. Raises HTTPException 404 when it has no such account."""
        for account in await self._services.accounts.all(staff.installation.id):
            if account.id == account_id:
                return account
        raise http_error(404, "UNKNOWN_ACCOUNT", staff.translation, _NO_ACCOUNT)

    async def render(
        self,
        staff: Staff,
        account: MerchantAccount,
        flash: Flash | None = None,
        *,
        tried: SplitRules | None = None,
        tried_as_text: bool = False,
        tried_at: str = "",
        areas: Sequence[AreaFinding] = (),
        dialect: Sequence[DialectFinding] = (),
    ) -> HTMLResponse:
        """Return the page of an account; ``tried`` are split rules to show instead of the stored ones.

        ``tried_as_text``: they came from the form with text instead of from that with the table, and are not saved.
        ``tried_at`` is the version of the stored ones when their form was opened.
        ``areas`` and ``dialect``: the findings of a check of the gateway that was just made.
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
            presets=KNOWN_GATEWAYS,
            graces=GRACES,
            areas=areas,
            dialect=dialect,
            options=OPTIONS,
            lost=CONSEQUENCES,
            split_modes=MODES,
            no_seller=SellerRow(),
            tried_at=tried_at,
            tried_form=None if tried is None else "text" if tried_as_text else "table",
            **vars(page),
        )

    async def _page(self, account_id: str, staff: AnyStaff) -> HTMLResponse:
        return await self.render(staff, await self.find_account(staff, account_id))

    async def _check(self, account_id: str, staff: AnyStaff) -> HTMLResponse:
        account = await self.find_account(staff, account_id)
        with refusals_as_http_errors(staff):
            found = await check_merchant_account(self._services, await load_view(self._services, account))
        if found.failure is None:
            areas = (AreaFinding(Area.PAYMENTS, Access.WORKS), *found.areas)
            return await self.render(staff, account, Flash(_WORKS), areas=areas, dialect=found.dialect)
        works_not = LazyMessage("This account does not work: %(why)s", why=found.failure.message)
        return await self.render(staff, account, Flash(works_not, good=False))

    async def _adopt(self, request: Request, account_id: str, staff: AnyStaff) -> HTMLResponse:
        """Change the options that a check has proposed, and no others."""
        account, fields = await self.find_account(staff, account_id), await _read_fields(request)
        given = {name: text_of(fields, name) or None for name in PROPOSED_OPTIONS}
        with refusals_as_http_errors(staff):
            columns = read_options(given, self._services.now(), currency_of(account))
        return await self._change(staff, account, AccountChange(columns))

    async def _compare(self, account_id: str, staff: AnyStaff) -> HTMLResponse:
        account = await self.find_account(staff, account_id)
        started = await schedule_comparison(self._services, account)
        log.info("comparison.requested", account=account.id, staff=staff.id, begun=started)
        return await self.render(staff, account, Flash(_COMPARING))

    async def _set_options(self, request: Request, account_id: str, staff: AnyStaff) -> HTMLResponse:
        account, fields = await self.find_account(staff, account_id), await _read_fields(request)
        with refusals_as_http_errors(staff):
            changed = changed_options(account, fields, self._services)
            columns = read_options(changed, self._services.now(), currency_of(account))
        change = AccountChange(columns)
        if changes_address(account, change):
            change = AccountChange(columns, keys=typed_keys(fields))
        return await self._change(staff, account, change)

    async def _replace_keys(self, request: Request, account_id: str, staff: AnyStaff) -> HTMLResponse:
        account, fields = await self.find_account(staff, account_id), await _read_fields(request)
        with refusals_as_http_errors(staff):
            change = read_new_keys(fields)
        return await self._change(staff, account, change, verify=not is_saved_anyway(fields))

    async def _end_grace(self, account_id: str, staff: AnyStaff) -> HTMLResponse:
        account = await self.find_account(staff, account_id)
        account = await self._services.accounts.revoke_previous_secret(account.id)
        log.info("replaced_secret.deleted", account=account.id, staff=staff.id)
        return await self.render(staff, account, Flash(_CHANGED))

    async def _move(self, request: Request, account_id: str, staff: AnyStaff) -> HTMLResponse:
        account, fields = await self.find_account(staff, account_id), await _read_fields(request)
        with refusals_as_http_errors(staff):
            endpoint = read_changed_endpoint(account, fields)
            if endpoint.base_url != account.base_url:
                require_public_addresses(self._services, endpoint.columns)
        change = AccountChange(endpoint=endpoint, keys=typed_keys(fields))
        return await self._change(staff, account, change, verify=not is_saved_anyway(fields))

    async def _switch(self, request: Request, account_id: str, staff: AnyStaff) -> HTMLResponse:
        account, fields = await self.find_account(staff, account_id), await _read_fields(request)
        return await self._change(staff, account, AccountChange({"enabled": text_of(fields, "enabled") == "yes"}))

    async def _split(self, request: Request, account_id: str, staff: AnyStaff) -> HTMLResponse:
        account, fields = await self.find_account(staff, account_id), await _read_fields(request)
        rules = _read_split_rules(staff, account, fields)
        if text_of(fields, "do") == "check":
            return await self.render(
                staff,
                account,
                Flash(_RULES_VALID),
                tried=rules,
                tried_as_text="rules" in fields,
                tried_at=text_of(fields, _VERSION),
            )
        stored = rules.model_dump(mode="json") if rules.on else None
        # One value, in which changed fields cannot be told apart as those of the options can.
        version = text_of(fields, _VERSION)
        seen = {"split_rules": version} if version and not is_saved_anyway(fields) else {}
        try:
            return await self._change(staff, account, AccountChange({"split_rules": stored}, seen=seen))
        except ChangedMeanwhileError as error:
            said = {ANYWAY: _RULES_CHANGED}
            raise http_error(409, "RULES_CHANGED", staff.translation, _RULES_CHANGED, fields=said) from error

    async def _change(
        self, staff: Staff, account: MerchantAccount, change: AccountChange, *, verify: bool = True
    ) -> HTMLResponse:
        if not change.columns and change.endpoint is None and not change.keys:
            return await self.render(staff, account, Flash(_UNCHANGED))
        with refusals_as_http_errors(staff):
            changed = await change_account(self._services, account, change, verify=verify)
        names = sorted([*change.columns, *change.keys, *(["gateway"] if change.endpoint else [])])
        log.info("account.changed", account=account.id, changed=names, staff=staff.id, tested=verify)
        return await self.render(staff, changed, Flash(_CHANGED) if verify else Flash(_CHANGED_UNTESTED, good=False))


def _read_split_rules(staff: Staff, account: MerchantAccount, fields: FormFields) -> SplitRules:
    """Return the rules of the form with the table, or of the one with text. Raises HTTPException 422."""
    as_text = "rules" in fields
    try:
        return parse_rules(text_of(fields, "rules")) if as_text else read_table(fields, stored_rules(account))
    except RulesError as error:
        why = Joined(tuple(error.reasons), by="; ")
        raise not_saved_error(staff, "INVALID_RULES", why, field="rules" if as_text else "mode") from error
    except SplitTableError as error:
        raise http_error(422, "INVALID_RULES", staff.translation, NOT_SAVED, fields=error.fields) from error


async def _read_fields(request: Request) -> FormFields:
    return group_fields(await read_form_fields(request))
