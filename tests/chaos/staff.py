"""Staff of the store, at the two doors at which they ask: Saleor's, and our own."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from app.ledger.tables import Kind, Operation
from app.payments.change.by_staff import Wish
from app.payments.outcome.references import order_id_of
from app.payments.refusal import Refusal
from app.saleor.testing.state import Checkout, Transaction
from app.saleor.testing.vocabulary import Action
from tests.chaos.stage import Stage
from tests.chaos.story import Asks, Wants


@dataclass
class Staff:
    """``forms``: how many were filled in at our own door."""

    stage: Stage
    forms: int = 0

    async def ask(self, step: Asks, transaction: Transaction | None) -> str:
        """Ask in Saleor's Dashboard; return what Saleor has written down of it."""
        staff = self.stage.saleor.staff
        if transaction is None:
            return "there is no payment"
        if not step.granted or step.action != "REFUND":
            await self._until_heard(lambda: staff.request_action(transaction.id, Action(step.action), step.amount))
        else:
            if isinstance(transaction.source, Checkout):
                self.stage.saleor.storefront.complete(transaction.source.id)
            if transaction.order is None:
                return "it is no order yet"
            granted = staff.grant_refund(transaction.order.id, step.amount, transaction_id=transaction.id)
            refund_id = granted.granted_refund.id if granted.granted_refund else ""
            await self._until_heard(lambda: staff.refund_granted(refund_id))
        event = transaction.events[-1]
        return f"{event.type} {event.amount}: {event.message}"

    async def _until_heard(self, act: Callable[[], object]) -> None:
        """Do something that Saleor tells the app of in the background, and wait for that and nothing else."""
        background = self.stage.saleor.world._background
        before = set(background)
        act()
        await asyncio.gather(*(background - before))

    async def want(self, step: Wants, transaction: Transaction | None) -> str:
        """Ask at our own door; return what has come of it. A refusal in words is a proper answer."""
        if transaction is None:
            return "there is no payment"
        self.forms += 1
        kind = Kind(step.kind)
        amount = step.amount if kind in {Kind.CAPTURE, Kind.REFUND} else None
        wish = Wish(kind, by="Olena", key=f"form-{self.forms}", amount=amount)
        done: list[Operation] = []
        for again in range(2 if step.twice else 1):
            if again and self.stage.house.dead:
                await self.stage.house.start()
            try:
                operation = await self.stage.house.ask_for(order_id_of(transaction.id), wish)
            except Refusal as refusal:
                if done:
                    self._law_4_is_broken(f"{step} was taken, and refused when it was sent again: {refusal.message}")
                return refusal.message
            done += [] if operation is None else [operation]
        if len({each.id for each in done}) > 1:
            self._law_4_is_broken(f"{step} was sent twice and is two operations")
        return f"{done[-1].state}: {done[-1].message}" if done else "the app is not there"

    def _law_4_is_broken(self, how: str) -> None:
        self.stage.gate.wrong.append(AssertionError(how))
