"""Saleor's books of one transaction, kept by Saleor's own rules: what a story must end with on the other side.

Granted refunds, lost answers and the app's own questions go as in the played Saleor (``app.saleor.testing``): a test
plays the webhook itself, and says what becomes of the answer.
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
from app.exact_json import dumps, loads
from app.saleor.answers import Answer
from app.saleor.documents import Documents
from app.saleor.errors import SaleorError, SaleorNotAuthorisedError, SaleorRefusedError, SaleorUnreachableError
from app.saleor.graphql import AppIdentity, SaleorClient
from app.saleor.installation import Installed
from app.saleor.reports import EventReport, ReportOutcome
from app.saleor.testing import payload
from app.saleor.testing.api import Api
from app.saleor.testing.defaults import basket
from app.saleor.testing.ids import global_id
from app.saleor.testing.records import Amounts, App, Checkout, Event, GrantedRefund, Order, Transaction
from app.saleor.testing.rendering import show_granted
from app.saleor.testing.rules.grants import GrantRefusedError, settle_granted_refund
from app.saleor.testing.rules.problems import Problem, add_problem, dismiss_problems
from app.saleor.testing.rules.recording import open_request, record_action_answer, record_session_answer
from app.saleor.testing.rules.reports import Report, ReportRefusedError, record_report
from app.saleor.testing.rules.requests import request_granted_refund
from app.saleor.testing.saleor_state import SaleorState
from app.saleor.testing.settings import SaleorFaults, SaleorSettings
from app.saleor.testing.staff import Staff
from app.saleor.testing.storefront import Storefront
from app.saleor.testing.views import ActionView, ErrorView
from app.saleor.testing.vocabulary import HANDLE_PAYMENTS, Action, EventType
from app.saleor.versions import Version, read_version


class FakeSaleor(SaleorClient):
    """A Saleor that books what it is answered and what is reported to it, and fails when a test wants it to.

    ``requested`` are the requests that the app itself has made over the API: the webhook of each is to be played by the
    test. ``queried`` are the other documents that the app has sent; ``deaf`` says what becomes of the next of those.
    """

    def __init__(self, now: Callable[[], datetime]) -> None:
        self.state = SaleorState(SaleorSettings(), now)
        self.event_clock = self.state.event_clock
        self.transactions = self.state.transactions
        self.requested: list[Event] = []
        self.queried: list[tuple[str, dict[str, Any]]] = []
        self.deaf: deque[SaleorError | None] = deque()
        self._documents = Documents(MANIFEST / "operations")
        # Nobody is asked over HTTP here, so there is no storefront that could.
        self._api = Api(self.state, cast("Storefront", None), cast("Staff", self))
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
        self.asked: list[str] = []
        self.troubles: deque[SaleorError | None] = deque()
        self.news = asyncio.Event()
        self.silent = False

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

    def open(self, transaction: Transaction, kind: str, amount: Decimal, key: str) -> Event:
        """Write down that something is requested, as Saleor does before it sends the webhook."""
        return open_request(transaction, EventType(f"{kind}_REQUEST"), amount, self.event_clock, idempotency_key=key)

    def order(self, transaction: Transaction) -> Order:
        """Return the order of a transaction; its checkout is completed if there is none yet."""
        if transaction.checkout is not None:
            checkout = self.state.checkouts.pop(transaction.checkout.id)
            number = str(next(self.state.order_numbers))
            order = Order(str(uuid4()), number, checkout.basket, checkout.transactions)
            for each in order.transactions:
                each.checkout, each.order = None, order
            self.state.orders[order.id] = order
        assert transaction.order is not None
        return transaction.order

    def grant(self, transaction: Transaction, amount: Decimal) -> GrantedRefund:
        """Staff grant a refund on the order. Nobody is asked yet: see ``open_granted``."""
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

    def open_granted(self, granted: GrantedRefund, key: str | None = None) -> Event:
        """Write down that a granted refund is requested. Raises GrantRefusedError (REFUND_IS_PENDING and so on)."""
        assert granted.transaction is not None
        event = request_granted_refund(
            granted, granted.transaction, self.event_clock, idempotency_key=key or str(uuid4())
        )
        settle_granted_refund(granted)
        return event

    def refund_granted(self, granted_refund_id: str, transaction_id: str | None = None) -> ActionView:
        """The app asks for a granted refund itself; the webhook is the test's (``requested``)."""
        granted = self.state.granted_refund(granted_refund_id)
        assert granted.transaction is None or transaction_id in {None, granted.transaction.id}
        try:
            self.requested.append(self.open_granted(granted))
        except GrantRefusedError as refused:
            error = ErrorView(field=refused.field, code=refused.code, message=str(refused))
            return ActionView(errors=[error])
        return ActionView(granted_refund=show_granted(granted))

    def says(self, transaction: Transaction, request: Event) -> dict[str, Any]:
        """Return the members of the webhook of a request, as Saleor would build it at this moment."""
        told = payload.action_requested(transaction, request)
        if request.granted_refund is None:
            told["grantedRefund"] = None  # as what is selected of it makes of it
        fields: dict[str, Any] = loads(json.dumps(told, default=lambda _: None))
        return fields

    def book_session(self, transaction: Transaction, request: Event, answer: Answer) -> None:
        """Book the answer to a session webhook."""
        record_session_answer(transaction, request, loads(dumps(answer.dump())), self.event_clock)

    def book_action(self, transaction: Transaction, request: Event, action: str, answer: Answer | None) -> None:
        """Book the answer to what staff asked. None: it was lost on its way (a dropped connection, a time-out)."""
        said: Any = None if answer is None else loads(dumps(answer.dump()))
        record_action_answer(transaction, request, Action(action), said, self.event_clock)

    async def who_am_i(self, *_: object, **__: object) -> AppIdentity:
        """Say whose token it is; as long as the app is there and active, Saleor takes any that it gave out."""
        if not self.app.active or self.app.identifier not in self.state.apps:
            raise SaleorNotAuthorisedError("the app is not there")
        return AppIdentity(self.app.id, self.app.identifier)

    async def report(self, installed: Installed, event: EventReport) -> ReportOutcome:
        """Book a report, unless there is trouble. Without a proven token nothing can be reported."""
        assert installed.token
        if self.troubles and (trouble := self.troubles.popleft()) is not None:
            raise trouble
        self.reports.append(event)
        self.news.set()
        transaction = self.transactions[event.transaction_id]
        actions = None if event.available_actions is None else [each.value for each in event.available_actions]
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
        return ReportOutcome.of({"alreadyProcessed": repeated, **self._shown(transaction)})

    async def ask_with_others(
        self, installed: Installed, operation: str, variables: Mapping[str, Any], *, version: Version | None = None
    ) -> Any:
        """Answer alone what the client asks together with others."""
        return next(iter((await self.ask(installed, operation, variables, version=version)).values()))

    async def ask(
        self,
        installed: Installed,
        operation: str,
        variables: Mapping[str, Any],
        *,
        within: timedelta | None = None,
        version: Version | None = None,
    ) -> dict[str, Any]:
        """Say what order there is, and show an app's problems, as the real one does, unless there is trouble."""
        assert installed.token
        if operation == "order_of_transaction":
            assert within is None
            return self._order_of(variables["id"])
        if not operation.startswith("app_problem_"):
            return await self._execute_document(operation, variables, installed, version)
        assert within is None
        self.asked.append(operation)
        if self.troubles and (trouble := self.troubles.popleft()) is not None:
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
        self, operation: str, variables: Mapping[str, Any], installed: Installed, version: Version | None
    ) -> dict[str, Any]:
        """Answer any document of the manifest, with the permissions that the app has."""
        self.queried.append((operation, dict(variables)))
        if self.deaf and (trouble := self.deaf.popleft()) is not None:
            raise trouble
        if self.silent:
            raise SaleorUnreachableError("down")
        text = self._documents.text(operation, version or read_version(installed.schema_version))
        asked = loads(dumps({"query": text, "variables": dict(variables)}))
        _, body = await self._api.answer(asked, installed.token, SaleorFaults())
        if errors := body.get("errors"):
            message = "; ".join(each["message"] for each in errors)
            if errors[0]["extensions"]["exception"]["code"] == "PermissionDenied":
                raise SaleorNotAuthorisedError(message)
            raise SaleorRefusedError("GRAPHQL_ERROR", None, message)
        data: dict[str, Any] = loads(json.dumps(body["data"], default=str))
        return data

    def _order_of(self, transaction_id: str) -> dict[str, Any]:
        if self.silent:
            raise SaleorUnreachableError("down")
        return self._shown(self.transactions[transaction_id])

    @staticmethod
    def _shown(transaction: Transaction) -> dict[str, Any]:
        order = transaction.order
        return {"transaction": {"order": None if order is None else {"id": order.id, "number": order.number}}}

    @property
    def shown(self) -> list[str]:
        """The keys of the app's problems that the Dashboard shows, in order."""
        return [each.key for each in self.problems if not each.dismissed]

    @property
    def told(self) -> list[str]:
        """The types of all events that were reported, in order."""
        return [each.type.value for each in self.reports]


def amounts(**others: str) -> Amounts:
    """Return amounts of a transaction; what is not named is zero."""
    return Amounts(**{name: Decimal(value) for name, value in others.items()})
