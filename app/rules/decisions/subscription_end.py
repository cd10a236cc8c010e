"""What follows when staff have cancelled the subscription that a payment has begun. Pure."""

from dataclasses import dataclass

from app.core.fact import Fact
from app.core.payment import PaymentAggregate
from app.rules.decision_context import DecisionContext, enqueue_note
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
        return aggregate
