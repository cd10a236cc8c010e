"""A gateway with records of its own: it follows the interface's rules, and answers according to its mood."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import uuid4

from integration_base_tests.loopback import Behaviour, HangUp, ReceivedRequest, Reply, json_reply
from tests.payments.fake_gateway import FakeGateway, action_of, operation, payment, refusal_reply


class Mood(Enum):
    """How a call goes. The part after ``and`` happens once the bank has executed it."""

    ANSWERS = "does it and answers"
    IS_SLOW = "begins it and answers"  # pending; it ends later
    DECLINES = "answers that the operation has failed"
    REFUSES = "answers with an error and does nothing"
    DOES_AND_HANGS_UP = "does it and hangs up"
    DOES_AND_BREAKS = "does it and answers with a 500"
    HANGS_UP = "hangs up and does nothing"
    DOES_AND_WE_CRASH = "does it and our process dies"
    WE_CRASH = "our process dies before it does anything"


_DONE = {"init", "pending", "success"}
_FINAL = {"success", "failure"}


@dataclass
class RecordKeepingGateway(FakeGateway):
    """``history`` holds every state of every record: what notifications can report. ``crash`` ends our process."""

    moods: deque[Mood] = field(default_factory=deque)
    history: list[dict[str, Any]] = field(default_factory=list)
    outside_ids: list[str] = field(default_factory=list)  # ids of operations that others did
    crash: Callable[[], None] = lambda: None

    def answer(self, request: ReceivedRequest) -> Behaviour:
        """Execute the call or not, and answer or not."""
        if request.method == "GET":
            return super().answer(request)
        mood = self.moods.popleft() if self.moods else Mood.ANSWERS
        if mood in {Mood.HANGS_UP, Mood.WE_CRASH, Mood.REFUSES}:
            if mood is Mood.WE_CRASH:
                self.crash()
            return refusal_reply("We would rather not", "P-400") if mood is Mood.REFUSES else HangUp()
        reply = self._do(request, {Mood.IS_SLOW: "pending", Mood.DECLINES: "failure"}.get(mood, "success"))
        match mood:
            case Mood.DOES_AND_HANGS_UP:
                return HangUp()
            case Mood.DOES_AND_BREAKS:
                return Reply(500)
            case Mood.DOES_AND_WE_CRASH:
                self.crash()
                return HangUp()
            case _:
                return reply

    def _do(self, request: ReceivedRequest, status: str) -> Reply:
        body = request.json or {}
        if action_of(request) == "cancel":
            return self._cancel(request.path.split("/")[-2])
        order_id = body["order_id"]
        if action_of(request) == "payment":
            return self._create(order_id, body, "failure" if status == "failure" else "init")
        amounts = {"capture": body.get("charge_amount"), "refund": body.get("refund_amount")}
        amount = amounts.get(action_of(request)) or self.payment_of(order_id)["amount"]
        return self._operate(action_of(request), order_id, amount, status)

    def _create(self, order_id: str, body: dict[str, Any], status: str) -> Reply:
        if order_id in self.book:
            return refusal_reply("Order exists", "P-409", 409)
        record = payment(order_id, status, amount=body["amount"], method=body["method"])
        self._write(order_id, record)
        return json_reply(record) if status == "failure" else self.page(order_id)

    def _cancel(self, order_id: str) -> Reply:
        record = self.payment_of(order_id)
        if record["status"] != "init":
            return refusal_reply("Invalid operation", "4150")
        self._change(record, "failure", "6007")
        return json_reply([record])

    def _operate(self, method: str, order_id: str, amount: Decimal, status: str) -> Reply:
        if not self.allows(method, order_id, amount):
            return refusal_reply("Invalid operation", "4150")
        record = operation(method, order_id, amount, status)
        self._write(order_id, record)
        return json_reply(record)

    def allows(self, method: str, order_id: str, amount: Decimal) -> bool:
        """Return whether the interface allows the operation (States and transitions)."""
        create = self.payment_of(order_id)
        if create["status"] != "success":
            return False
        if method in {"capture", "void"}:
            used = any(record["status"] in _DONE for record in self._all(order_id, "capture", "void"))
            return create["method"] == "auth" and not used and amount <= create["amount"]
        captured = sum(record["amount"] for record in self._all(order_id, "capture") if record["status"] == "success")
        taken = create["amount"] if create["method"] == "purchase" else captured
        refunds = sum(record["amount"] for record in self._all(order_id, "refund") if record["status"] in _DONE)
        return bool(refunds + amount <= taken)

    def shopper(self, order_id: str, status: str) -> None:
        """Act on the payment page as the shopper, if there is one."""
        create = self.payment_of(order_id)
        if create["status"] in {"init", "pending"} and (status in _FINAL or create["status"] == "init"):
            self._change(create, status, {"success": "1000", "failure": "4009"}.get(status, "2001"))

    def portal(self, method: str, order_id: str, amount: Decimal) -> None:
        """Do an operation in the merchant portal."""
        if self.allows(method, order_id, amount):
            record = operation(method, order_id, amount, operation_id=f"portal-{uuid4()}")
            self.outside_ids.append(record["operation_id"])
            self._write(order_id, record)

    def finish(self, order_id: str, status: str) -> None:
        """End everything that is pending."""
        for record in self.book.get(order_id, []):
            if record["status"] == "pending":
                self._change(record, status, "1000" if status == "success" else "4150")

    def payment_of(self, order_id: str) -> dict[str, Any]:
        """Return the record of the payment; of one that was never created, a failed one."""
        return next((record for record in self._all(order_id, "purchase", "auth")), payment(order_id, "failure"))

    def done(self, order_id: str, method: str) -> Decimal:
        """Return how much was captured, voided or refunded."""
        return sum(
            (record["amount"] for record in self._all(order_id, method) if record["status"] == "success"), Decimal(0)
        )

    def _all(self, order_id: str, *methods: str) -> list[dict[str, Any]]:
        return [record for record in self.book.get(order_id, []) if record["method"] in methods]

    def _write(self, order_id: str, record: dict[str, Any]) -> None:
        self.book.setdefault(order_id, []).append(record)
        self.history.append(dict(record))

    def _change(self, record: dict[str, Any], status: str, code: str) -> None:
        record |= {"status": status, "status_code": code}
        self.history.append(dict(record))
