"""The third setup step: a small payment at the gateway's page, whose arrival is shown here."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal

import structlog
from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from app.core.payment import PaymentAggregate
from app.core.vocabulary import State
from app.flows.trial_payment import SUGGESTED_AMOUNT, Trial, begin_trial, check_trial
from app.i18n.currencies import read_amount_in
from app.i18n.messages import LazyMessage, StoredMessage, gettext_noop
from app.reports.status import Standing, standings
from app.rules.refusal import RefusalCode, RefusalError, Refusals
from app.services import Services
from app.store.aggregates import find_by_order
from app.store.tables import MerchantAccount
from app.web.dashboard.form import read_form_fields, refused_form_error
from app.web.dashboard.set_up.forms import FormFields, group_fields, text_of
from app.web.dashboard.set_up.refusals import refusals_as_http_errors
from app.web.dashboard.set_up.setup_page import TRIAL, SetUpRenderer
from app.web.dashboard.staff import AnyStaff, Staff, http_error
from gateway_client.models import Sector
from integration_base.amounts import NotAnAmountError

log = structlog.get_logger(__name__)

_NO_ACCOUNT = gettext_noop("This store has no such merchant account.")
_NO_TRIAL = gettext_noop("This store has no such trial.")
_NOT_AN_AMOUNT = LazyMessage("Enter amounts like 1234.50.")
_NOT_A_DAY = LazyMessage("Enter the date of birth like 1991-08-24.")
_INVALID_FORM = gettext_noop("This form cannot be submitted. Reload the page.")
_FAILED = (State.FAILURE, State.UNKNOWN)


@dataclass(frozen=True)
class TrialPage:
    """A trial. ``notified_at`` is the time of the gateway's first notification; ``final``: no more is expected."""

    order_id: str
    amount: Decimal
    currency: str
    test_project: bool
    checkout_url: str | None
    expires_at: datetime | None
    standings: Sequence[Standing]
    paid: bool
    final: bool
    why: StoredMessage | None
    notified_at: datetime | None


class TrialParts:
    """The routes of trials."""

    def __init__(self, services: Services, renderer: SetUpRenderer) -> None:
        self._services = services
        self._renderer = renderer

    def add_to(self, router: APIRouter) -> None:
        """Add the routes to a router whose guard requires the permissions for setup."""
        router.add_api_route(TRIAL, self._form, methods=["GET"])
        router.add_api_route(TRIAL, self._begin, methods=["POST"])
        router.add_api_route(f"{TRIAL}/{{order_id}}", self._trial, methods=["GET"])
        router.add_api_route(f"{TRIAL}/{{order_id}}/standing", self._standing, methods=["GET"])

    async def _form(self, staff: AnyStaff) -> HTMLResponse:
        accounts = [account for account in await self._services.accounts.all(staff.installation.id) if account.enabled]
        needs = {account.id: _needed_fields(account) for account in accounts}
        return await self._renderer.part(
            "try.html",
            staff,
            step=TRIAL,
            accounts=accounts,
            currencies=list(dict.fromkeys(code for account in accounts for code in account.currencies)),
            needs=needs,
            asked=list(dict.fromkeys(name for names in needs.values() for name in names)),
            smallest=SUGGESTED_AMOUNT,
            email=staff.email,
            key=uuid.uuid4().hex,
        )

    async def _begin(self, request: Request, staff: AnyStaff) -> HTMLResponse:
        form = group_fields(await read_form_fields(request))
        account = await self._account(staff, text_of(form, "account"))
        with refusals_as_http_errors(staff):
            try:
                aggregate = await begin_trial(self._services, account, _parse_form(staff, account, form))
            except RefusalError as refusal:
                raise refused_form_error(staff, refusal, _field_of) from refusal
        order_id = aggregate.payment.order_id
        log.info("trial_payment.started", payment=order_id, account=account.id, staff=staff.id)
        return await self._render(staff, order_id, at=f"{TRIAL}/{order_id}")

    async def _trial(self, order_id: str, staff: AnyStaff) -> HTMLResponse:
        return await self._render(staff, order_id)

    async def _standing(self, order_id: str, staff: AnyStaff) -> HTMLResponse:
        page = await self._load_page(staff, order_id)
        return await self._renderer.renderer.part("set_up/trial_standing.html", staff, here=None, **vars(page))

    async def _render(self, staff: Staff, order_id: str, at: str | None = None) -> HTMLResponse:
        page = await self._load_page(staff, order_id)
        return await self._renderer.part("trial.html", staff, step=TRIAL, at=at, **vars(page))

    async def _load_page(self, staff: Staff, order_id: str) -> TrialPage:
        async with self._services.database.transaction() as session:
            aggregate = await find_by_order(session, order_id, installation_id=staff.installation.id)
        if aggregate is None or not aggregate.payment.trial:
            raise http_error(404, "UNKNOWN_PAYMENT", staff.translation, _NO_TRIAL)
        account = await self._account(staff, aggregate.payment.account_id)
        notifications = await self._services.inbox.find_for_order(account.id, aggregate.payment.order_id)
        return _build_page(aggregate, account, notifications[0].received_at if notifications else None)

    async def _account(self, staff: Staff, account_id: str) -> MerchantAccount:
        for account in await self._services.accounts.all(staff.installation.id):
            if account.id == account_id:
                return account
        raise http_error(404, "UNKNOWN_ACCOUNT", staff.translation, _NO_ACCOUNT)


def _needed_fields(account: MerchantAccount) -> list[str]:
    """Return the fields about the shopper that this account needs besides those that every account needs."""
    names = ["first_name", "last_name"] if account.names_required or account.sector != Sector.GENERAL else []
    return [*names, "birthday"] if account.sector == Sector.MICROFINANCE else names


_FIELDS = {
    "amount": "amount",
    "customer_email": "email",
    "customer_phone": "phone",
    "customer_fname": "first_name",
    "customer_lname": "last_name",
    "customer_birthday": "birthday",
}


def _field_of(reason: RefusalError) -> str | None:
    """Return the form field that a refusal concerns, if there is one."""
    if reason.code is RefusalCode.CURRENCY_NOT_SUPPORTED:
        return "currency"
    return _FIELDS.get(reason.field or "")


def _parse_form(staff: Staff, account: MerchantAccount, form: FormFields) -> Trial:
    """Parse the form of a trial. Raises RefusalError for all invalid fields, and HTTPException for a form not ours."""
    try:
        key = uuid.UUID(text_of(form, "key")).hex
    except ValueError as error:
        raise http_error(422, "INVALID_DATA", staff.translation, _INVALID_FORM) from error
    refusals = Refusals()
    currency = text_of(form, "currency")
    amount = refusals.collect(_read_amount, currency, text_of(form, "amount"))
    birthday = refusals.collect(_read_day, text_of(form, "birthday"))
    trial = Trial(
        key=key,
        by=staff.name,
        amount=SUGGESTED_AMOUNT if amount is None else amount,  # what cannot be read is refused already
        currency=currency,
        email=text_of(form, "email"),
        phone=text_of(form, "phone"),
        first_name=text_of(form, "first_name"),
        last_name=text_of(form, "last_name"),
        birthday=birthday,
        language=staff.translation.language,
    )
    refusals.collect(check_trial, account, trial)
    refusals.raise_if_any()
    return trial


def _read_amount(currency: str, text: str) -> Decimal:
    try:
        return read_amount_in(currency, text)
    except NotAnAmountError:
        raise RefusalError(RefusalCode.INVALID_AMOUNT, _NOT_AN_AMOUNT, "amount") from None


def _read_day(text: str) -> date | None:
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:
        raise RefusalError(RefusalCode.INVALID_DATA, _NOT_A_DAY, "customer_birthday") from None


def _build_page(aggregate: PaymentAggregate, account: MerchantAccount, notified_at: datetime | None) -> TrialPage:
    payment, create = aggregate.payment, aggregate.create
    return TrialPage(
        order_id=payment.order_id,
        amount=payment.amount,
        currency=payment.currency,
        test_project=account.test_project,
        checkout_url=payment.checkout_url if create.state is State.INIT else None,
        expires_at=payment.expires_at,
        standings=standings(aggregate),
        paid=create.state is State.SUCCESS,
        final=create.state.final,
        why=StoredMessage(create.message) if create.message and create.state in _FAILED else None,
        notified_at=notified_at,
    )
