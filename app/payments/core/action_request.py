"""What somebody asks to be done with a payment: Saleor by a webhook, or staff at a door of our own."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from app.db.tables import Kind, Operation
from app.payments.core.reading import ACTIONS
from app.saleor.answers import AvailableAction
from app.saleor.events import GrantedRefund
from app.saleor.source import Order

_WISHES = {
    Kind.CAPTURE: "charge {sum}",
    Kind.VOID: "release the reservation of {sum}",
    Kind.REFUND: "refund {sum}",
    Kind.CANCEL: "cancel the payment",
}


@dataclass(frozen=True, slots=True)
class ActionRequest:
    """One question. ``keys`` tell it from every other one (laws of money, 4).

    There is one key, unless Saleor has asked for several things at the same moment: then it is about one of them, and
    the newest comes first. ``digest`` is that of Saleor's webhook: the same delivery is the same question. ``currency``
    None: that of the payment. ``by`` is who of the staff asks at our own door, as Saleor or the terminal names the
    person; None: Saleor asks. A cancelation of Saleor means whatever can be cancelled; staff of ours mean ``strictly``
    a void or a cancel. ``granted`` and ``order`` are those of a granted refund, ``taken_from`` are the shares of a
    refund, if somebody has said them. ``charge_id`` is the later charge of a subscription that a refund gives back;
    None: the payment itself. ``reasons``: why, by key, in the words of whoever asks; the gateway keeps it.
    """

    action: AvailableAction
    amount: Decimal
    currency: str | None
    keys: tuple[str, ...]
    digest: str = ""
    by: str | None = None
    strictly: Kind | None = None
    granted: GrantedRefund | None = None
    order: Order | None = None
    taken_from: Mapping[str, Decimal] | None = None
    charge_id: str | None = None
    reasons: Mapping[str, str] = field(default_factory=dict)

    @property
    def chosen(self) -> dict[str, str] | None:
        """The shares as they are kept; None when nobody has said any."""
        return None if self.taken_from is None else {who: str(part) for who, part in sorted(self.taken_from.items())}

    def is_repeated_by(self, recorded: Operation) -> bool:
        """Return whether an operation with the same key was asked for in the same words.

        Saleor gives each question a key of its own, but does not say which of several it is about. A form of ours could
        have been filled in anew.
        """
        said: dict[str, Any] = recorded.request
        same = self.action is AvailableAction.CANCEL or Decimal(said["amount"]) == self.amount
        if self.by is None:
            return ACTIONS[recorded.kind] is self.action and same
        chosen = self.chosen is None or self.chosen == said.get("chosen")
        return recorded.kind is self.strictly and same and chosen and recorded.charge_id == self.charge_id


def staff_request(operation: Operation) -> str:
    """Return in words what is asked for by an operation: "refund 100.00 UAH"."""
    return _WISHES[operation.kind].format(sum=f"{operation.amount} {operation.currency}")
