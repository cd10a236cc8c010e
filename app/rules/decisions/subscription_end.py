"""What follows when staff cancel the subscription that a payment has begun, or Saleor deletes its customer. Pure."""

from dataclasses import dataclass

from app.core.fact import Fact
from app.core.payment import PaymentAggregate
from app.rules.decision_context import DecisionContext, enqueue_note, raise_problem
from app.rules.external_operations import clear_charged_on
from app.rules.issues import Issue, IssueCode
from app.rules.problems import CHARGED_ON
from app.rules.references import reference_of_subscription_end
from app.rules.subscription import Subscription, has_running_subscription, update_subscription


@dataclass(frozen=True, slots=True)
class SubscriptionCancelled(Fact[PaymentAggregate]):
    """The gateway has cancelled a subscription, requested by the member of staff ``by``. Returns the payment."""

    subscription: Subscription
    by: str
    context: DecisionContext

    def decide(self, aggregate: PaymentAggregate) -> PaymentAggregate:
        """Store its status, and tell Saleor who has ended it, once."""
        payment = aggregate.payment
        ended_here = has_running_subscription(payment)
        update_subscription(payment, self.subscription)
        if ended_here:
            payment.updated_at = self.context.now
            message = f"Staff cancelled the subscription in the app ({self.by})"
            reference = reference_of_subscription_end(payment.order_id)
            enqueue_note(aggregate, message, self.context, reference=reference)
            clear_charged_on(payment, self.context.now)
        return aggregate


@dataclass(frozen=True, slots=True)
class CustomerWasDeleted(Fact[None]):
    """Saleor has deleted the customer who pays for the subscription. Whether they want to keep it, only staff know."""

    context: DecisionContext

    def decide(self, aggregate: PaymentAggregate) -> None:
        """Show staff that the gateway goes on charging it."""
        if has_running_subscription(aggregate.payment):
            issue = Issue(IssueCode.CUSTOMER_DELETED)
            raise_problem(aggregate, issue, self.context.now, cause=CHARGED_ON)
