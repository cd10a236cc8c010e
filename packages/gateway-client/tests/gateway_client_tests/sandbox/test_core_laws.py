"""The laws of the gateway's own books, whatever anybody does in whatever order."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from gateway_client.sandbox.core import attempts, secondary, shares
from gateway_client.sandbox.core.bodies import HostedPayment, read_body
from gateway_client.sandbox.core.cards import coded_card
from gateway_client.sandbox.core.codes import Status
from gateway_client.sandbox.core.creation import create_hosted_payment, get_or_create_card
from gateway_client.sandbox.core.gateway_state import GatewayState
from gateway_client.sandbox.core.records import Payment, Share
from gateway_client.sandbox.core.refusals import RefusalError
from gateway_client.sandbox.core.timers import tick

POS = UUID(int=1)
SUB_MERCHANTS = [UUID(int=number) for number in (11, 12, 13)]
# Few amounts that add up to each other, so that limits are met; two whose cents choose the end.
AMOUNTS = st.sampled_from([Decimal(a) for a in ("0.01", "10.00", "20.00", "30.00", "20.09", "20.19", "33.33")])
WHICH = st.integers(0, 2)
MOST_PAYMENTS = 3
GOOD_CARD = "4242424242424242"
CARDS = st.sampled_from([GOOD_CARD] * 6 + [coded_card(code) for code in ("2122", "2119", "2013", "4009", "4010")])
CODES = st.sampled_from(["1000", "4009", "2119", "2122", "5001"])
RANK = {Status.INIT: 0, Status.PENDING: 1, Status.SUCCESS: 2, Status.FAILURE: 2}


class Gateway(RuleBasedStateMachine):
    """Payers, shops, banks and clocks do what they like; what is refused changes nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.state = GatewayState(seed="laws")
        self.now = datetime(2026, 11, 21, tzinfo=UTC)
        self.seen: dict[UUID, Status] = {}
        self.numbers = 0

    @precondition(lambda self: self.numbers < MOST_PAYMENTS)
    @rule(
        amount=AMOUNTS,
        method=st.sampled_from(["purchase", "auth"]),
        makers=st.sampled_from([0, 0, 2, 3]),
        card=st.none() | CARDS,
    )
    def open_payment(self, amount: Decimal, method: str, makers: int, card: str | None) -> None:
        self.numbers += 1
        split = self._split(amount, makers)
        body: dict[str, Any] = {
            "pos_id": str(POS),
            "mode": "hosted",
            "method": method,
            "amount": amount,
            "currency": "UAH",
            "description": "d",
            "order_id": f"order{self.numbers}",
            "order_3ds_bypass": "always",
            "customer_email": "a@example.com",
            "customer_phone": "1",
            "split": [share.model_dump() for share in split] or None,
        }
        payment = create_hosted_payment(self.state, POS, read_body(HostedPayment, body), "", self.now)
        if card is not None:
            attempts.attempt(self.state, payment, get_or_create_card(self.state, POS, card, self.now), self.now)

    @rule(which=WHICH, card=CARDS)
    def pay(self, which: int, card: str) -> None:
        self._try(
            which,
            lambda p: attempts.attempt(self.state, p, get_or_create_card(self.state, POS, card, self.now), self.now),
        )

    @rule(which=WHICH, passed=st.booleans())
    def answer_challenge(self, which: int, passed: bool) -> None:
        self._try(which, lambda p: attempts.answer_challenge(self.state, p, self.now, passed=passed))

    @rule(which=WHICH)
    def cancel(self, which: int) -> None:
        self._try(which, lambda p: attempts.cancel(self.state, p, self.now))

    @rule(which=WHICH, code=CODES)
    def decide(self, which: int, code: str) -> None:
        self._try(which, lambda p: attempts.settle(self.state, p, code, self.now))

    @rule(which=WHICH, code=CODES)
    def decide_operation(self, which: int, code: str) -> None:
        operations = list(self.state.operations.values())
        if operations:
            operation = operations[which % len(operations)]
            self._try(0, lambda _: secondary.settle(self.state, operation, code, self.now))

    @rule(which=WHICH, amount=st.none() | AMOUNTS, makers=st.sampled_from([0, 0, 2, 3]))
    def capture(self, which: int, amount: Decimal | None, makers: int) -> None:
        def act(payment: Payment) -> None:
            split = self._split(amount or payment.amount, makers)
            secondary.capture(self.state, payment, secondary.OperationRequest(amount, split=split), self.now)

        self._try(which, act)

    @rule(which=WHICH)
    def void(self, which: int) -> None:
        self._try(which, lambda p: secondary.void(self.state, p, secondary.OperationRequest(), self.now))

    @rule(which=WHICH, amount=st.none() | AMOUNTS, makers=st.integers(1, 3))
    def refund(self, which: int, amount: Decimal | None, makers: int) -> None:
        def act(payment: Payment) -> None:
            split = self._split(amount or payment.amount, makers) if shares.received_shares(self.state, payment) else []
            order = secondary.OperationRequest(amount, split=split, through_split=bool(split))
            secondary.refund(self.state, payment, order, self.now)

        self._try(which, act)

    @rule(minutes=st.integers(1, 90))
    def wait(self, minutes: int) -> None:
        self.now += timedelta(minutes=minutes)
        tick(self.state, self.now)

    def _split(self, amount: Decimal, makers: int) -> list[Share]:
        if makers == 0:
            return []
        each = (amount / makers).quantize(Decimal("0.01"), "ROUND_DOWN")
        rest = amount - each * (makers - 1)
        parts = [each] * (makers - 1) + [rest]
        if min(parts) <= 0:
            return []
        return [Share(sub_merchant_id=who, amount=part) for who, part in zip(SUB_MERCHANTS, parts, strict=False)]

    def _try(self, which: int, act: Any) -> None:
        payments = list(self.state.payments.values())
        if not payments:
            return
        before = self.state.model_dump_json()
        try:
            act(payments[which % len(payments)])
        except RefusalError:
            after = self.state.model_dump_json()
            assert _without_cards(after) == _without_cards(before)

    @invariant()
    def statuses_only_move_forward(self) -> None:
        entries = self.state.payments | self.state.operations
        for identifier, entry in entries.items():
            before = self.seen.get(identifier, Status.INIT)
            assert RANK[entry.status] >= RANK[before]
            if RANK[before] == 2:
                assert entry.status is before
            self.seen[identifier] = entry.status

    @invariant()
    def no_money_comes_from_nowhere(self) -> None:
        expected = self.state.behaviour(POS).opening_balance
        for payment in self.state.payments.values():
            taken = secondary.taken_amount(self.state, payment)
            given = [e for e in self.state.active_operations(payment, "refund") if e.status is Status.SUCCESS]
            fees = (
                [payment.fee]
                if payment.method == "purchase"
                else [e.fee for e in self.state.active_operations(payment, "capture")]
            )
            expected += taken - sum(e.amount for e in given) - sum(fee.total for fee in fees if fee)
        held = sum(sub_account.balance for sub_account in self.state.sub_accounts.get(POS, {}).values())
        assert self.state.account(POS, "UAH").available + held == expected

    @invariant()
    def every_sub_merchant_has_what_the_records_say(self) -> None:
        expected = dict.fromkeys(SUB_MERCHANTS, Decimal(0))
        for payment in self.state.payments.values():
            done = [e for e in self.state.operations_of(payment) if e.status is Status.SUCCESS]
            paid = payment.status is Status.SUCCESS and payment.method == "purchase"
            parts = [(1, payment.shares if paid else [])]
            parts += [(-1 if e.method == "refund" else 1, e.shares if e.method != "void" else []) for e in done]
            for sign, given in parts:
                for share in given:
                    expected[share.sub_merchant_id] += sign * share.amount
        for who, amount in expected.items():
            assert self.state.sub_account(POS, who, "UAH").balance == amount >= 0

    @invariant()
    def nothing_is_taken_or_given_twice(self) -> None:
        for payment in self.state.payments.values():
            captures, voids = (
                self.state.active_operations(payment, "capture"),
                self.state.active_operations(payment, "void"),
            )
            assert len(captures) + len(voids) <= 1
            assert sum(entry.amount for entry in captures) <= payment.amount
            assert secondary.refunded_amount(self.state, payment) <= secondary.taken_amount(self.state, payment)
            assert all(left >= 0 for left in shares.refundable_amounts(self.state, payment).values())

    @invariant()
    def the_shop_hears_of_every_change(self) -> None:
        told = {}
        for entry in self.state.changes:
            told[getattr(entry, "operation_id", entry.payment_id)] = entry.status
        entries = self.state.payments | self.state.operations
        moved = {identifier: entry.status for identifier, entry in entries.items() if entry.status is not Status.INIT}
        assert told == moved


def _without_cards(book: str) -> Any:
    """A refused attempt may have met a new card, which took identifiers; nothing else may change."""
    read = GatewayState.model_validate_json(book)
    return read.model_dump(exclude={"cards", "counter"})


Gateway.TestCase.settings = settings(max_examples=200, stateful_step_count=30, deadline=None)
TestGateway = Gateway.TestCase
