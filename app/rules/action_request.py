"""A request for an action on a payment: from Saleor by a webhook, or from staff in the app."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from app.core.ids import GatewayOperationId
from app.core.payment import Operation
from app.core.vocabulary import Kind
from app.i18n.messages import Money
from app.rules.answer_status import ACTIONS
from saleor_app_sdk.events import GrantedRefund
from saleor_app_sdk.responses import AvailableAction
from saleor_app_sdk.source import Order

_DESCRIPTIONS = {
    Kind.CAPTURE: "charge {sum}",
    Kind.VOID: "release the authorization of {sum}",
    Kind.REFUND: "refund {sum}",
    Kind.CANCEL: "cancel the payment",
}


@dataclass(frozen=True, slots=True)
class ActionRequest:
    """One request. ``keys`` are its idempotency keys (laws of money, 4).

    There is one key, unless Saleor has made several requests at the same moment: then this is one of them, and the
    newest key comes first. ``digest`` is that of Saleor's webhook: the same delivery is the same request. ``currency``
    None: that of the payment. ``by`` is the staff member who requests it in the app, as Saleor or the terminal names
    the person; None: Saleor requests it. A cancelation by Saleor means whatever can be cancelled; staff request a void
    or a cancel explicitly (``required_kind``). ``granted`` and ``order`` are those of a granted refund, ``taken_from``
    are the shares of a refund, if they were specified. ``charge_id`` is the later charge of a subscription that is
    refunded; None: the payment itself. ``reasons``: the requester's reason, by key; the gateway stores it. ``is_rest``:
    no amount was named, and ``amount`` is all that was possible when it was requested first.
    """

    action: AvailableAction
    amount: Decimal
    currency: str | None
    keys: tuple[str, ...]
    digest: str = ""
    by: str | None = None
    required_kind: Kind | None = None
    granted: GrantedRefund | None = None
    order: Order | None = None
    taken_from: Mapping[str, Decimal] | None = None
    charge_id: GatewayOperationId | None = None
    reasons: Mapping[str, str] = field(default_factory=dict)
    is_rest: bool = False

    def is_repeated_by(self, recorded: Operation) -> bool:
        """Return True when an operation with the same key was requested with the same parameters.

        Saleor gives each request a key of its own, but does not state which of several a webhook is about. A form of
        the app could have been filled in again.
        """
        requested = recorded.requested
        same_amount = requested.is_rest if self.is_rest else requested.amount == self.amount
        same = self.action is AvailableAction.CANCEL or same_amount
        if self.by is None:
            return ACTIONS[recorded.kind] is self.action and same
        chosen = self.taken_from is None or self.taken_from == requested.chosen_shares
        return recorded.kind is self.required_kind and same and chosen and recorded.charge_id == self.charge_id


def describe_request(operation: Operation) -> str:
    """Return a short text for the requested operation: "refund 100.00 UAH"."""
    return _DESCRIPTIONS[operation.kind].format(sum=Money(operation.amount, operation.currency))
