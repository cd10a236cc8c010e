"""The gateway's side of a story: shoppers pay on its page, the merchant acts in its portal, the bank decides."""

from dataclasses import dataclass, field

from gateway_client.sandbox.core import attempts, secondary
from gateway_client.sandbox.core.cards import coded_card
from gateway_client.sandbox.core.codes import Status
from gateway_client.sandbox.core.creation import get_or_create_card
from gateway_client.sandbox.core.gateway_state import Script
from gateway_client.sandbox.core.records import Operation, Payment
from gateway_client.sandbox.core.refusals import RefusalError
from tests.chaos.harness import Harness
from tests.chaos.shares import portal_shares
from tests.chaos.story import ActInPortal, Confirm3DSecure, Dispute, Pay


def card_of(code: str) -> str:
    """Return the number of a card that the bank answers with ``code``."""
    return "4242424242424242" if code == "1000" else coded_card(code)


@dataclass
class GatewaySide:
    """``unannounced``: the orders about which the app gets no further notification."""

    harness: Harness
    unannounced: set[str] = field(default_factory=set)

    def pay(self, step: Pay | Confirm3DSecure, payment: Payment | None) -> str:
        """Try a card on the page, or answer 3-D Secure; return what came of it."""
        sandbox = self.harness.sandbox
        sandbox.catch_up()
        if payment is None:
            return "there is no page"
        now = sandbox.now()
        if isinstance(step, Confirm3DSecure):
            if not payment.waits_for_payer:
                return "nobody asked"
            attempts.answer_challenge(sandbox.state, payment, now, passed=step.passed)
        else:
            if not attempts.takes_card(sandbox.state, payment, now):
                return f"the page says {payment.status}"
            if payment.status is Status.FAILURE:
                self.unannounced.add(payment.order_id)  # the app has its final word, and waits for no other
            card = get_or_create_card(sandbox.state, payment.pos_id, card_of(step.code), now)
            attempts.attempt(sandbox.state, payment, card, now)
        sandbox.publish_changes()
        return f"{payment.status} {payment.status_code}"

    def act_in_portal(self, step: ActInPortal, payment: Payment | None) -> str:
        """Act in the merchant portal; return what came of it."""
        sandbox = self.harness.sandbox
        sandbox.catch_up()
        if payment is None:
            return "there is no payment"
        split = portal_shares(sandbox.state, payment, step.method, step.amount)
        order = secondary.OperationRequest(
            amount=step.amount, split=split, through_split=bool(split), server_url=payment.server_url
        )
        sandbox.publish_changes()  # earlier changes are notified
        try:
            operation = secondary.operate(sandbox.state, payment, step.method, order, sandbox.now())
        except RefusalError as refusal:
            return refusal.message
        finally:
            if step.silent:
                self.unannounced.add(payment.order_id)
                sandbox.save_without_webhooks()
            sandbox.publish_changes()
        return f"{operation.status} {operation.status_code}"

    def dispute(self, step: Dispute, payment: Payment | None) -> str:
        """Let the payer's bank take money back; return what came of it."""
        sandbox = self.harness.sandbox
        sandbox.catch_up()
        if payment is None:
            return "there is no payment"
        order = secondary.OperationRequest(amount=step.amount, server_url=payment.server_url)
        sandbox.state.scripts.insert(0, Script(status_code=step.code, method="dispute"))
        try:
            operation = secondary.operate(sandbox.state, payment, "dispute", order, sandbox.now())
        except RefusalError as refusal:
            sandbox.state.scripts.pop(0)
            return refusal.message
        sandbox.publish_changes()
        return f"{operation.status} {operation.status_code}"

    def pending(self) -> list[Payment | Operation]:
        """Return what the bank has not decided yet."""
        book = self.harness.sandbox.state
        entries: list[Payment | Operation] = [*book.payments.values(), *book.operations.values()]
        return [entry for entry in entries if entry.status is Status.PENDING]

    def decided_disputes(self) -> list[Operation]:
        """Return the disputes that the bank has decided, and may decide anew."""
        operations = self.harness.sandbox.state.operations.values()
        return [operation for operation in operations if operation.method == "dispute" and operation.final]

    def decide(self, entries: list[Payment | Operation], *, success: bool) -> str:
        """Let the bank decide; return how much."""
        sandbox = self.harness.sandbox
        code, now = ("1000" if success else "4009"), sandbox.now()
        for entry in entries:
            if isinstance(entry, Payment):
                attempts.settle(sandbox.state, entry, code, now)
            elif not entry.final or (entry.status is Status.SUCCESS) is not success:
                secondary.settle(sandbox.state, entry, code, now)
        sandbox.publish_changes()
        return f"{len(entries)} decided"
