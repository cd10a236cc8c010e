"""Staff of the store, who request actions in Saleor's Dashboard and on the app's own pages."""

from dataclasses import dataclass
from decimal import Decimal

from app.core.payment import Operation
from app.core.vocabulary import Kind
from app.flows.on_demand import look_up_now
from app.flows.staff.actions import StaffRequest
from app.rules.references import order_id_of
from app.rules.refusal import RefusalError
from gateway_client.sandbox.core.codes import Status
from saleor_app_sdk.testing.ids import channel_id, global_id
from saleor_app_sdk.testing.records import Checkout, Transaction
from saleor_app_sdk.testing.views import ActionView, GrantedLine, RequestedAction
from saleor_app_sdk.testing.vocabulary import Action
from tests.chaos.harness import MOVED, SALEOR, Harness
from tests.chaos.story import RequestConcurrently, RequestInApp, RequestInSaleor


@dataclass
class Staff:
    """``forms``: how many forms were submitted on the app's own pages."""

    harness: Harness
    forms: int = 0

    async def request(self, step: RequestInSaleor, transaction: Transaction | None) -> str:
        """Request an action in Saleor's Dashboard; return the event that Saleor recorded."""
        staff = self.harness.saleor.staff
        if transaction is None:
            return "there is no payment"
        if not step.granted or step.action != "REFUND":
            await self.harness.run_until_delivered(
                lambda: staff.request_action(transaction.id, Action(step.action), step.amount)
            )
        else:
            if isinstance(transaction.source, Checkout):
                self.harness.saleor.storefront.complete(transaction.source.id)
            if transaction.order is None:
                return "it is no order yet"
            refund_id = self._grant(step, transaction)
            await self.harness.run_until_delivered(lambda: staff.request_refund_for_granted_refund(refund_id))
        return self._describe_newest_event(transaction)

    def end_order(self, transaction: Transaction | None, how: str) -> str:
        """End the order of a payment; its checkout becomes one first."""
        if transaction is None:
            return "there is no payment"
        if isinstance(transaction.source, Checkout):
            self.harness.saleor.storefront.complete(transaction.source.id)
        if transaction.order is None:
            return "it is no order yet"
        staff = self.harness.saleor.staff
        ends = {"CANCELED": staff.cancel_order, "EXPIRED": staff.expire_order, "RETURNED": staff.return_order}
        return ends[how](transaction.order.id).status

    def change_total(self, source_id: str, total: Decimal) -> str:
        """Change the prices of a checkout or an order, so that it comes to ``total``."""
        self.harness.saleor.staff.change_total(source_id, total)
        return self._record_total(source_id)

    def add_gift_card(self, source_id: str, amount: Decimal) -> str:
        """Let a gift card pay for a part of a checkout."""
        checkout = self.harness.saleor.state.checkouts.get(source_id)
        if checkout is None:
            return "it is an order"
        checkout.basket.gift_cards += amount
        return self._record_total(source_id)

    def _record_total(self, source_id: str) -> str:
        total = self.harness.saleor.state.source(source_id).basket.total
        self.harness.totals.append(total)
        self.harness.total_changed_at = self.harness.clock.now
        payments = self.harness.sandbox.state.payments.values()
        self.harness.paid_before = {payment.payment_id for payment in payments if payment.status is Status.SUCCESS}
        return f"{total} is to be paid"

    def rename_channel(self) -> str:
        """Give the channel of everything that is sold another slug; Saleor names it from the next webhook on."""
        state = self.harness.saleor.state
        baskets = [checkout.basket for checkout in state.checkouts.values()]
        baskets += [order.basket for order in state.orders.values()]
        for basket in baskets:
            basket.channel_id = basket.channel_id or channel_id(basket.channel_slug)
            basket.channel_slug += "-new"
        return f"{len(baskets)} baskets"

    async def request_grant_again(self, transaction: Transaction | None) -> str:
        """Request the refund that was granted last."""
        grants = transaction.order.granted_refunds if transaction and transaction.order else []
        if not grants or transaction is None:
            return "nothing was granted"
        answers: list[ActionView] = []
        await self.harness.run_until_delivered(
            lambda: answers.append(self.harness.saleor.staff.request_refund_for_granted_refund(grants[-1].id))
        )
        refused = [error.code for answer in answers for error in answer.errors]
        return ", ".join(refused) or self._describe_newest_event(transaction)

    async def request_concurrently(
        self, step: RequestConcurrently, transaction: Transaction | None, other: Transaction | None
    ) -> str:
        """Request two actions at the same moment."""
        if transaction is None or other is None:
            return "there is no payment"
        first = self._build_request(step.first, transaction)
        second = first if step.same and first.granted_refund_id else self._build_request(step.second, other)
        await self.harness.run_until_delivered(lambda: self.harness.saleor.staff.request_actions([first, second]))
        return f"{self._describe_newest_event(transaction)}, {self._describe_newest_event(other)}"

    def _build_request(self, step: RequestInSaleor, transaction: Transaction) -> RequestedAction:
        action = Action(step.action)
        if step.granted and action is Action.REFUND:
            if isinstance(transaction.source, Checkout):
                self.harness.saleor.storefront.complete(transaction.source.id)
            if transaction.order is not None:
                return RequestedAction(granted_refund_id=self._grant(step, transaction))
        return RequestedAction(transaction_id=transaction.id, action=action, amount=step.amount)

    def _grant(self, step: RequestInSaleor, transaction: Transaction) -> str:
        order = transaction.order
        assert order is not None
        lines = [GrantedLine(line_id=global_id("OrderLine", line.key)) for line in order.basket.lines[: step.lines]]
        granted = self.harness.saleor.staff.grant_refund(
            order.id, step.amount, transaction_id=transaction.id, lines=lines
        ).granted_refund
        return granted.id if granted else ""

    @staticmethod
    def _describe_newest_event(transaction: Transaction) -> str:
        event = transaction.events[-1]
        return f"{event.type} {event.amount}: {event.message}"

    async def look_up(self, order_id: str) -> str:
        """Have the app look a payment up at the gateway; return the reason when it cannot."""
        try:
            return str(await look_up_now(self.harness.app.services, order_id) or "done")
        except RefusalError as refusal:
            return str(refusal.message)

    async def request_in_app(self, step: RequestInApp, transaction: Transaction | None) -> str:
        """Request an action on the app's own pages; return the outcome. A refusal with a message is a valid answer."""
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
                operation = await self.harness.app.request_action_of_staff(self._order_id(transaction), staff_request)
            except RefusalError as refusal:
                if done:
                    self._report_law_4_violation(
                        f"{step} was taken, and refused when it was sent again: {refusal.message}"
                    )
                return refusal.message
            done += [] if operation is None else [operation]
        if len({operation.id for operation in done}) > 1:
            self._report_law_4_violation(f"{step} was sent twice and is two operations")
        return f"{done[-1].state}: {done[-1].message}" if done else "the app is not there"

    def _order_id(self, transaction: Transaction) -> str:
        """Return the gateway's order id, which depends on Saleor's address when the payment began."""
        names = [order_id_of(transaction.id, f"{address}/graphql/") for address in (SALEOR, MOVED)]
        known = {payment.order_id for payment in self.harness.sandbox.state.payments.values()}
        return next((name for name in names if name in known), names[0])

    def _report_law_4_violation(self, how: str) -> None:
        self.harness.gate.violations.append(AssertionError(how))
