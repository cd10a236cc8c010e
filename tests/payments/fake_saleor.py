"""A Saleor that books transactions by Saleor's own rules: the state that a story must end with on the other side.

Granted refunds, lost answers and the app's own requests work as in the played Saleor (``saleor_app_sdk.testing``): a
test plays the webhook itself, and decides what happens to the answer.
"""

import asyncio
import json
from collections import deque
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, cast
from uuid import UUID, uuid4

from app.bootstrap import MANIFEST
from integration_base.exact_json import dumps, loads
from saleor_app_sdk.documents import Documents
from saleor_app_sdk.errors import SaleorError, SaleorNotAuthorisedError, SaleorRefusedError, SaleorUnreachableError
from saleor_app_sdk.graphql import AppIdentity, SaleorClient
from saleor_app_sdk.installation import Installation
from saleor_app_sdk.reports import EventReport, ReportOutcome
from saleor_app_sdk.responses import WebhookResponse
from saleor_app_sdk.testing import payload
from saleor_app_sdk.testing.api import Api
from saleor_app_sdk.testing.defaults import basket
from saleor_app_sdk.testing.ids import global_id
from saleor_app_sdk.testing.records import Amounts, App, Checkout, Event, GrantedRefund, Order, Transaction
from saleor_app_sdk.testing.rendering import granted_refund_view
from saleor_app_sdk.testing.rules.grants import GrantRefusedError, check_editable, update_granted_refund_status
from saleor_app_sdk.testing.rules.problems import Problem, add_problem, dismiss_problems
from saleor_app_sdk.testing.rules.recording import create_request_event, record_action_response, record_session_response
from saleor_app_sdk.testing.rules.reports import Report, ReportRefusedError, record_report
from saleor_app_sdk.testing.rules.requests import request_granted_refund
from saleor_app_sdk.testing.saleor_state import SaleorState
from saleor_app_sdk.testing.settings import SaleorFaults, SaleorSettings
from saleor_app_sdk.testing.staff import Staff
from saleor_app_sdk.testing.stored_methods import StoredMethods
from saleor_app_sdk.testing.storefront import Storefront
from saleor_app_sdk.testing.views import ActionView, ErrorView
from saleor_app_sdk.testing.vocabulary import HANDLE_PAYMENTS, Action, EventType
from saleor_app_sdk.versions import Version, parse_version

# What is selected of them with a report (transaction_event_report.graphql).
_SELECTED = {"order": ("id", "number", "status", "totalBalance", "totalAuthorized"), "checkout": ("id",)}


class FakeSaleor(SaleorClient):
    """A Saleor that books answers and reports, and fails when a test wants it to.

    ``requested`` are the requests that the app itself has made over the API: the test plays the webhook of each.
    ``executed_documents`` are the other documents that the app has sent; ``document_failures`` scripts the failures of
    the next of those. ``states_totals``: also what is owed, which has to fit the events that the test makes then.
    """

    def __init__(self, now: Callable[[], datetime]) -> None:
        self.state = SaleorState(SaleorSettings(), now)
        self.event_clock = self.state.event_clock
        self.transactions = self.state.transactions
        self.requested: list[Event] = []
        self.executed_documents: list[tuple[str, dict[str, Any]]] = []
        self.document_failures: deque[SaleorError | None] = deque()
        self._documents = Documents(MANIFEST / "operations")
        # There is no HTTP here, so there is no storefront to call the app.
        self._api = Api(self.state, cast("Storefront", None), cast("Staff", self), cast("StoredMethods", None))
        self.app = App(
            id="QXBwOjE=",
            identifier="gateway.payments.app",
            name="Payment gateway",
            version="1",
            token="the-app-token",
            permissions=(HANDLE_PAYMENTS,),
            active=True,
            hooks=[],
            manifest={},
        )
        self.state.apps[self.app.identifier] = self.app
        self.reports: list[EventReport] = []
        self.problems: list[Problem] = []
        self.problem_operations: list[str] = []
        self.failures: deque[SaleorError | None] = deque()
        self.report_received = asyncio.Event()
        self.is_down = False
        self.pause_while_down: float | None = None  # seconds for which it wants no requests
        self.states_totals = False

    def new_transaction(self, token: UUID | None = None) -> Transaction:
        """Return a transaction on a new checkout over 569.50 UAH."""
        now = self.event_clock.now()
        checkout = Checkout(token=str(uuid4()), basket=basket())
        transaction = Transaction(
            token=str(token or uuid4()),
            currency="UAH",
            app_identifier="gateway.payments.app",
            created_at=now,
            modified_at=now,
            idempotency_key="key",
            checkout=checkout,
        )
        checkout.transactions.append(transaction)
        self.state.checkouts[checkout.id] = checkout
        self.transactions[transaction.id] = transaction
        return transaction

    def open_request(self, transaction: Transaction, kind: str, amount: Decimal, key: str) -> Event:
        """Record a request, as Saleor does before it sends the webhook."""
        return create_request_event(
            transaction, EventType(f"{kind}_REQUEST"), amount, self.event_clock, idempotency_key=key
        )

    def order(self, transaction: Transaction) -> Order:
        """Return the order of a transaction; completes its checkout if there is none yet."""
        if transaction.checkout is not None:
            checkout = self.state.checkouts.pop(transaction.checkout.id)
            number = str(next(self.state.order_numbers))
            order = Order(str(uuid4()), number, checkout.basket, checkout.transactions)
            for moved in order.transactions:
                moved.checkout, moved.order = None, order
            self.state.orders[order.id] = order
        assert transaction.order is not None
        return transaction.order

    def grant_refund(self, transaction: Transaction, amount: Decimal) -> GrantedRefund:
        """Grant a refund on the order, as staff. It is not requested yet: see ``open_granted``."""
        order = self.order(transaction)
        granted = GrantedRefund(
            id=global_id("OrderGrantedRefund", next(self.state.refund_numbers)),
            order=order,
            amount=amount,
            reason="",
            shipping_costs_included=False,
            lines=[],
            transaction=transaction,
        )
        order.granted_refunds.append(granted)
        return granted

    def edit_granted_refund(
        self, granted: GrantedRefund, amount: Decimal, transaction: Transaction | None = None
    ) -> None:
        """Change the amount of a granted refund, or its transaction, as staff.

        Saleor refuses that while it is pending, or done.
        """
        check_editable(granted, amount)
        granted.amount, granted.transaction = amount, transaction or granted.transaction

    def open_granted_refund(self, granted: GrantedRefund, key: str | None = None) -> Event:
        """Record the request for a granted refund. Raises GrantRefusedError (REFUND_IS_PENDING and so on)."""
        assert granted.transaction is not None
        event = request_granted_refund(
            granted, granted.transaction, self.event_clock, idempotency_key=key or str(uuid4())
        )
        update_granted_refund_status(granted)
        return event

    def request_refund_for_granted_refund(
        self, granted_refund_id: str, transaction_id: str | None = None
    ) -> ActionView:
        """Request a granted refund as the app; the test plays its webhook (``requested``)."""
        granted = self.state.granted_refund(granted_refund_id)
        assert granted.transaction is None or transaction_id in {None, granted.transaction.id}
        try:
            self.requested.append(self.open_granted_refund(granted))
        except GrantRefusedError as refused:
            error = ErrorView(field=refused.field, code=refused.code, message=str(refused))
            return ActionView(errors=[error])
        return ActionView(granted_refund=granted_refund_view(granted))

    def webhook_members(self, transaction: Transaction, request: Event) -> dict[str, Any]:
        """Return the members of the webhook of a request, as Saleor would build it at this moment."""
        told = payload.action_requested(transaction, request)
        if request.granted_refund is None:
            told["grantedRefund"] = None  # as what is selected of it makes of it
        fields: dict[str, Any] = loads(json.dumps(told, default=lambda _: None))
        return fields

    def book_session(self, transaction: Transaction, request: Event, answer: WebhookResponse) -> None:
        """Book the answer to a session webhook."""
        record_session_response(transaction, request, loads(dumps(answer.dump())), self.event_clock)

    def book_action(
        self, transaction: Transaction, request: Event, action: str, answer: WebhookResponse | None
    ) -> None:
        """Book the answer to an action of staff. None: it was lost on its way (a dropped connection, a timeout)."""
        said: Any = None if answer is None else loads(dumps(answer.dump()))
        record_action_response(transaction, request, Action(action), said, self.event_clock)

    async def who_am_i(self, *_: object, **__: object) -> AppIdentity:
        """Return the app's identity; Saleor accepts any token it issued while the app is installed and active."""
        if not self.app.active or self.app.identifier not in self.state.apps:
            raise SaleorNotAuthorisedError("the app is not there")
        return AppIdentity(self.app.id, self.app.identifier)

    async def report(self, installed: Installation, event: EventReport) -> ReportOutcome:
        """Book a report, or fail as scripted. Without a proven token nothing can be reported."""
        assert installed.token
        if self.failures and (trouble := self.failures.popleft()) is not None:
            raise trouble
        self.reports.append(event)
        self.report_received.set()
        transaction = self.transactions[event.transaction_id]
        actions = (
            None
            if event.available_actions is None
            else [available_action.value for available_action in event.available_actions]
        )
        report = Report(
            type=EventType(event.type),
            psp_reference=event.psp_reference,
            amount=event.amount,
            message=event.message,
            actions=actions,
            external_url=event.external_url,
        )
        try:
            _, repeated = record_report(transaction, report, self.transactions.values(), self.event_clock)
        except ReportRefusedError as refusal:
            raise SaleorRefusedError(refusal.code, refusal.field, str(refusal)) from refusal
        shown = self._shown(transaction)["transaction"]
        selected = {
            name: shown[name] and {key: shown[name].get(key) for key in keys} for name, keys in _SELECTED.items()
        }
        return ReportOutcome.from_response({"alreadyProcessed": repeated, "transaction": selected})

    async def execute_batched(
        self, installed: Installation, operation: str, variables: Mapping[str, Any], *, version: Version | None = None
    ) -> Any:
        """Answer a single operation of a batch."""
        return next(iter((await self.execute(installed, operation, variables, version=version)).values()))

    async def execute(
        self,
        installed: Installation,
        operation: str,
        variables: Mapping[str, Any],
        *,
        timeout: timedelta | None = None,
        version: Version | None = None,
    ) -> dict[str, Any]:
        """Return a transaction's order, and create and dismiss problems, as the real one does, or fail as scripted."""
        assert installed.token
        if operation == "order_of_transaction":
            assert timeout is None
            return self._order_of(variables["id"])
        if not operation.startswith("app_problem_"):
            return await self._execute_document(operation, variables, installed, version)
        assert timeout is None
        self.problem_operations.append(operation)
        if self.failures and (trouble := self.failures.popleft()) is not None:
            raise trouble
        said = variables["input"]
        if operation == "app_problem_dismiss":
            dismiss_problems(self.problems, ids=None, keys=said["byApp"]["keys"])
            return {"appProblemDismiss": {"errors": []}}
        assert operation == "app_problem_create"
        add_problem(
            self.problems,
            new_id=str(len(self.problems)),
            key=said["key"],
            message=said["message"],
            threshold=said.get("criticalThreshold"),
            aggregation_minutes=said["aggregationPeriod"],
            now=self.event_clock.now(),
        )
        return {"appProblemCreate": {"errors": []}}

    async def _execute_document(
        self, operation: str, variables: Mapping[str, Any], installed: Installation, version: Version | None
    ) -> dict[str, Any]:
        """Execute any document of the manifest, with the app's permissions."""
        self.executed_documents.append((operation, dict(variables)))
        if self.document_failures and (trouble := self.document_failures.popleft()) is not None:
            raise trouble
        if self.is_down:
            raise self._down()
        text = self._documents.text(operation, version or parse_version(installed.schema_version))
        asked = loads(dumps({"query": text, "variables": dict(variables)}))
        _, body = await self._api.handle(asked, installed.token, SaleorFaults())
        if errors := body.get("errors"):
            message = "; ".join(error["message"] for error in errors)
            if errors[0]["extensions"]["exception"]["code"] == "PermissionDenied":
                raise SaleorNotAuthorisedError(message)
            raise SaleorRefusedError("GRAPHQL_ERROR", None, message)
        data: dict[str, Any] = loads(json.dumps(body["data"], default=str))
        return data

    def _down(self) -> SaleorUnreachableError:
        error = SaleorUnreachableError("down")
        error.pause = self.pause_while_down
        return error

    def _order_of(self, transaction_id: str) -> dict[str, Any]:
        if self.is_down:
            raise self._down()
        return self._shown(self.transactions[transaction_id])

    def _shown(self, transaction: Transaction) -> dict[str, Any]:
        sources = {"order": transaction.order, "checkout": transaction.checkout}
        shown = {name: source and payload.source(source) for name, source in sources.items()}
        for source in shown.values():
            if source and not self.states_totals:
                del source["totalBalance"]
        fields: dict[str, Any] = loads(json.dumps({"transaction": shown}, default=lambda _: None))
        return fields

    @property
    def shown_problem_keys(self) -> list[str]:
        """The keys of the app's problems that the Dashboard shows, in order."""
        return [problem.key for problem in self.problems if not problem.dismissed]

    @property
    def reported_types(self) -> list[str]:
        """The types of all reported events, in order."""
        return [report.type.value for report in self.reports]


def amounts(**others: str) -> Amounts:
    """Return amounts of a transaction; what is not named is zero."""
    return Amounts(**{name: Decimal(value) for name, value in others.items()})
