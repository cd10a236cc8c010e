"""What is personal of a payment is kept sealed: who the shopper is, and where the storefront wants them back.

What the gateway was asked is kept for the laws of money (1), members about the shopper among it. They stand in the
request by name only; their values are sealed together, bound to the transaction, so that they open for no other. An
address to which the shopper goes back can hold anything, an order's number or a card's, so it is sealed as well.
"""

from collections.abc import Mapping
from typing import Any

from sqlmodel import col

from app.db.sealed_column import SealedColumn
from app.db.tables import Operation, Payment
from app.db.vault import Vault
from app.exact_json import dumps, loads

SEALED = "(sealed)"
"""What stands in a request for the value of a personal member."""

_PREFIX, _NOT_PERSONAL = "customer_", frozenset({"customer_lang"})
_ALSO = frozenset({"browser_fingerprint", "properties"})  # whom a payout is for


def is_personal(member: str) -> bool:
    """Return True for a member of the gateway's request that says something of the shopper, or of who is paid."""
    return (member.startswith(_PREFIX) and member not in _NOT_PERSONAL) or member in _ALSO


class PersonalData:
    """Seals and opens what is personal of payments. Opening raises VaultError."""

    def __init__(self, vault: Vault) -> None:
        self._vault = vault

    def sealed(self, transaction_id: str, request: Mapping[str, Any]) -> tuple[dict[str, Any], str | None]:
        """Return a creation's request without its personal values, and those, sealed; None when there are none."""
        personal = {name: value for name, value in request.items() if is_personal(name)}
        if not personal:
            return dict(request), None
        told = {name: SEALED if name in personal else value for name, value in request.items()}
        return told, self._vault.seal(dumps(personal), _of_shopper(transaction_id))

    def opened(self, transaction_id: str, operation: Operation) -> dict[str, Any]:
        """Return the whole request of a creation; without what was erased of it (``retention``)."""
        if operation.personal_sealed is None:
            return {name: value for name, value in operation.request.items() if value != SEALED}
        personal: dict[str, Any] = loads(self._vault.open(operation.personal_sealed, _of_shopper(transaction_id)))
        return operation.request | personal

    def seal_return_url(self, transaction_id: str, url: str | None) -> str | None:
        """Return what a payment keeps of the address to which its shopper goes back."""
        return None if url is None else self._vault.seal(url, _of_return(transaction_id))

    def return_url(self, payment: Payment) -> str | None:
        """Return the address to which the shopper of a payment goes back."""
        kept = payment.return_url_sealed
        return None if kept is None else self._vault.open(kept, _of_return(payment.transaction_id))

    def seal_proposal(self, installation_id: int, proposal: Mapping[str, Any]) -> str:
        """Return a payout that somebody of a store has asked for and nobody has confirmed: a browser keeps it."""
        return self._vault.seal(dumps(proposal), _of_proposal(installation_id))

    def proposal(self, installation_id: int, sealed: str) -> dict[str, Any]:
        """Return what ``seal_proposal`` has sealed for that store."""
        proposal: dict[str, Any] = loads(self._vault.open(sealed, _of_proposal(installation_id)))
        return proposal


def _of_shopper(transaction_id: str) -> str:
    return f"transaction/{transaction_id}/shopper"


def _of_return(transaction_id: str) -> str:
    return f"transaction/{transaction_id}/return-url"


def _of_proposal(installation_id: int) -> str:
    return f"installation/{installation_id}/payout"


SEALED_COLUMNS = (
    SealedColumn(
        col(Payment.return_url_sealed), of=(col(Payment.transaction_id),), place=_of_return, payment=col(Payment.id)
    ),
    SealedColumn(
        col(Operation.personal_sealed),
        of=(col(Payment.transaction_id),),
        place=_of_shopper,
        payment=col(Operation.payment_id),
    ),
)
"""What of a payment is sealed. What ``seal_proposal`` has sealed is in a browser, for a moment."""
