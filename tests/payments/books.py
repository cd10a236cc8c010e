"""Saleor's books of one transaction, kept by Saleor's own rules: what a story must end with on the other side."""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID, uuid4

from app.saleor.answers import Answer
from app.saleor.errors import SaleorError, SaleorRefused, SaleorUnreachable
from app.saleor.graphql import SaleorClient
from app.saleor.installation import Installed
from app.saleor.reports import EventReport, ReportOutcome
from app.saleor.testing.defaults import basket
from app.saleor.testing.rules.booking import book_action_answer, book_session_answer, open_request
from app.saleor.testing.rules.problems import Problem, add_problem, dismiss_problems
from app.saleor.testing.rules.reports import Report, ReportRefused, book_report
from app.saleor.testing.state import Amounts, Checkout, Event, Scribe, Transaction
from app.saleor.testing.vocabulary import Action, EventType
from app.saleor.wire import read_json, write_json


class Books(SaleorClient):
    """A Saleor that books what it is answered and what is reported to it, and fails when a test wants it to."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        self.scribe = Scribe(now)
        self.transactions: dict[str, Transaction] = {}
        self.reports: list[EventReport] = []
        self.problems: list[Problem] = []
        self.asked: list[str] = []
        self.troubles: deque[SaleorError | None] = deque()
        self.news = asyncio.Event()
        self.silent = False

    def new_transaction(self, token: UUID | None = None) -> Transaction:
        """Return a transaction on a new checkout over 569.50 UAH."""
        now = self.scribe.now()
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
        self.transactions[transaction.id] = transaction
        return transaction

    def open(self, transaction: Transaction, kind: str, amount: Decimal, key: str) -> Event:
        """Write down that something is requested, as Saleor does before it sends the webhook."""
        return open_request(transaction, EventType(f"{kind}_REQUEST"), amount, self.scribe, idempotency_key=key)

    def book_session(self, transaction: Transaction, request: Event, answer: Answer) -> None:
        """Book the answer to a session webhook."""
        book_session_answer(transaction, request, read_json(write_json(answer.dump())), self.scribe)

    def book_action(self, transaction: Transaction, request: Event, action: str, answer: Answer) -> None:
        """Book the answer to what staff asked."""
        said: dict[str, Any] = read_json(write_json(answer.dump()))
        book_action_answer(transaction, request, Action(action), said, self.scribe)

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
            _, repeated = book_report(transaction, report, self.transactions.values(), self.scribe)
        except ReportRefused as refusal:
            raise SaleorRefused(refusal.code, refusal.field, str(refusal)) from refusal
        return ReportOutcome(already_processed=repeated)

    async def ask(
        self, installed: Installed, operation: str, variables: Mapping[str, Any], *, within: timedelta | None = None
    ) -> dict[str, Any]:
        """Say what order there is, and show an app's problems, as the real one does, unless there is trouble."""
        assert installed.token
        assert within is None
        if operation == "order_of_transaction":
            return self._order_of(variables["id"])
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
            now=self.scribe.now(),
        )
        return {"appProblemCreate": {"errors": []}}

    def _order_of(self, transaction_id: str) -> dict[str, Any]:
        if self.silent:
            raise SaleorUnreachable("down")
        order = self.transactions[transaction_id].order
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
