"""Staff of the store, at the two doors at which they ask: Saleor's, and our own."""

from dataclasses import dataclass

from app.db.tables import Kind, Operation
from app.payments.core.references import order_id_of
from app.payments.core.refusal import RefusalError
from app.payments.staff.actions import StaffRequest
from app.payments.sync.on_demand import ask_now
from app.saleor.testing.ids import global_id
from app.saleor.testing.records import Checkout, Transaction
from app.saleor.testing.views import ActionView, AskedAction, GrantedLine
from app.saleor.testing.vocabulary import Action
from tests.chaos.harness import MOVED, SALEOR, Harness
from tests.chaos.story import AskAtOnce, Asks, Wants


@dataclass
class Staff:
    """``forms``: how many were filled in at our own door."""

    harness: Harness
    forms: int = 0

    async def ask(self, step: Asks, transaction: Transaction | None) -> str:
        """Ask in Saleor's Dashboard; return what Saleor has written down of it."""
        staff = self.harness.saleor.staff
        if transaction is None:
            return "there is no payment"
        if not step.granted or step.action != "REFUND":
            await self.harness.until_heard(
                lambda: staff.request_action(transaction.id, Action(step.action), step.amount)
            )
        else:
            if isinstance(transaction.source, Checkout):
                self.harness.saleor.storefront.complete(transaction.source.id)
            if transaction.order is None:
                return "it is no order yet"
            refund_id = self._grant(step, transaction)
            await self.harness.until_heard(lambda: staff.refund_granted(refund_id))
        return self._newest(transaction)

    async def ask_again(self, transaction: Transaction | None) -> str:
        """Ask for the refund that was granted last."""
        grants = transaction.order.granted_refunds if transaction and transaction.order else []
        if not grants or transaction is None:
            return "nothing was granted"
        answers: list[ActionView] = []
        await self.harness.until_heard(lambda: answers.append(self.harness.saleor.staff.refund_granted(grants[-1].id)))
        refused = [error.code for answer in answers for error in answer.errors]
        return ", ".join(refused) or self._newest(transaction)

    async def ask_at_once(self, step: AskAtOnce, transaction: Transaction | None, other: Transaction | None) -> str:
        """Ask for two things in the same moment."""
        if transaction is None or other is None:
            return "there is no payment"
        first = self._asked(step.first, transaction)
        second = first if step.same and first.granted_refund_id else self._asked(step.second, other)
        await self.harness.until_heard(lambda: self.harness.saleor.staff.request_at_once([first, second]))
        return f"{self._newest(transaction)}, {self._newest(other)}"

    def _asked(self, step: Asks, transaction: Transaction) -> AskedAction:
        action = Action(step.action)
        if step.granted and action is Action.REFUND:
            if isinstance(transaction.source, Checkout):
                self.harness.saleor.storefront.complete(transaction.source.id)
            if transaction.order is not None:
                return AskedAction(granted_refund_id=self._grant(step, transaction))
        return AskedAction(transaction_id=transaction.id, action=action, amount=step.amount)

    def _grant(self, step: Asks, transaction: Transaction) -> str:
        order = transaction.order
        assert order is not None
        lines = [GrantedLine(line_id=global_id("OrderLine", each.key)) for each in order.basket.lines[: step.lines]]
        granted = self.harness.saleor.staff.grant_refund(
            order.id, step.amount, transaction_id=transaction.id, lines=lines
        ).granted_refund
        return granted.id if granted else ""

    @staticmethod
    def _newest(transaction: Transaction) -> str:
        event = transaction.events[-1]
        return f"{event.type} {event.amount}: {event.message}"

    async def look(self, order_id: str) -> str:
        """Have the app ask the gateway how a payment stands; return why it cannot, if so."""
        try:
            return str(await ask_now(self.harness.app.services, order_id) or "done")
        except RefusalError as refusal:
            return str(refusal.message)

    async def want(self, step: Wants, transaction: Transaction | None) -> str:
        """Ask at our own door; return what has come of it. A refusal in words is a proper answer."""
        if transaction is None:
            return "there is no payment"
        self.forms += 1
        kind = Kind(step.kind)
        amount = step.amount if kind in {Kind.CAPTURE, Kind.REFUND} else None
        staff_request = StaffRequest(kind, by="Olena", key=f"form-{self.forms}", amount=amount)
        done: list[Operation] = []
        for again in range(2 if step.twice else 1):
            if again and self.harness.app.dead:
                await self.harness.app.start()
            try:
                operation = await self.harness.app.ask_for(self._order_id(transaction), staff_request)
            except RefusalError as refusal:
                if done:
                    self._law_4_is_broken(f"{step} was taken, and refused when it was sent again: {refusal.message}")
                return refusal.message
            done += [] if operation is None else [operation]
        if len({each.id for each in done}) > 1:
            self._law_4_is_broken(f"{step} was sent twice and is two operations")
        return f"{done[-1].state}: {done[-1].message}" if done else "the app is not there"

    def _order_id(self, transaction: Transaction) -> str:
        """Return what the gateway calls it: that depends on where Saleor was when it began."""
        names = [order_id_of(transaction.id, f"{each}/graphql/") for each in (SALEOR, MOVED)]
        known = {each.order_id for each in self.harness.sandbox.state.payments.values()}
        return next((each for each in names if each in known), names[0])

    def _law_4_is_broken(self, how: str) -> None:
        self.harness.gate.wrong.append(AssertionError(how))
