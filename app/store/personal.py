"""The personal data of a payment is stored sealed: who the shopper is, and where the storefront wants them to return.

Requests to the gateway are stored for the laws of money (1), including members about the shopper. In the stored request
these appear by name only; their values are sealed together, bound to the transaction, so that they open for no other. A
return address can contain anything, an order's number or a card's, so it is sealed as well.

For search, payments store a keyed digest of the shopper's e-mail address (``BlindIndex``).
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, Protocol
from unicodedata import normalize

from sqlmodel import col

from app.store.sealed_column import SealedColumn
from app.store.tables import Operation, Payment
from app.store.vault import Vault
from integration_base.exact_json import dumps, loads

SEALED = "(sealed)"
"""Replaces the value of a personal member in a stored request."""

_PREFIX, _NOT_PERSONAL = "customer_", frozenset({"customer_lang"})
# The recipient of a payout; and a store's own attributes, which may have been metadata about a person.
_OTHER_PERSONAL = frozenset({"browser_fingerprint", "properties", "attributes"})


def is_personal(member: str) -> bool:
    """Return True for a member of a gateway request that describes the shopper, or the recipient of a payout."""
    return (member.startswith(_PREFIX) and member not in _NOT_PERSONAL) or member in _OTHER_PERSONAL


class SealedRequest(Protocol):
    """A creation's request as it is stored: an operation, or its row."""

    request: dict[str, Any]
    personal_sealed: str | None


class SealedReturn(Protocol):
    """Where a payment's shopper returns, as it is stored."""

    transaction_id: str
    return_url_sealed: str | None


class PersonalData:
    """Seals and opens the personal data of payments. Opening raises VaultError."""

    def __init__(self, vault: Vault) -> None:
        self._vault = vault

    def seal_request(self, transaction_id: str, request: Mapping[str, Any]) -> tuple[dict[str, Any], str | None]:
        """Return a creation's request without its personal values, and these, sealed; None when there are none."""
        personal = {name: value for name, value in request.items() if is_personal(name)}
        if not personal:
            return dict(request), None
        stored = {name: SEALED if name in personal else value for name, value in request.items()}
        return stored, self._vault.seal(dumps(personal), _shopper_place(transaction_id))

    def open_request(self, transaction_id: str, operation: SealedRequest) -> dict[str, Any]:
        """Return the whole request of a creation, without erased members (``retention``)."""
        if operation.personal_sealed is None:
            return {name: value for name, value in operation.request.items() if value != SEALED}
        personal: dict[str, Any] = loads(self._vault.open(operation.personal_sealed, _shopper_place(transaction_id)))
        return operation.request | personal

    def seal_return_url(self, transaction_id: str, url: str | None) -> str | None:
        """Return the sealed return address of a payment's shopper, as the payment stores it."""
        return None if url is None else self._vault.seal(url, _return_url_place(transaction_id))

    def open_return_url(self, payment: SealedReturn) -> str | None:
        """Return the address to which the shopper of a payment returns."""
        sealed = payment.return_url_sealed
        return None if sealed is None else self._vault.open(sealed, _return_url_place(payment.transaction_id))

    def seal_proposal(self, installation_id: int, proposal: Mapping[str, Any]) -> str:
        """Return, sealed, a payout that a store's staff requested and did not confirm yet: a browser keeps it."""
        return self._vault.seal(dumps(proposal), _proposal_place(installation_id))

    def open_proposal(self, installation_id: int, sealed: str) -> dict[str, Any]:
        """Return the payout that ``seal_proposal`` sealed for that store."""
        proposal: dict[str, Any] = loads(self._vault.open(sealed, _proposal_place(installation_id)))
        return proposal


class BlindIndex:
    """Finds payments by shoppers' e-mail addresses without storing the addresses for it.

    A keyed digest is stored instead (``vault``), a different one in each store: nothing in the database shows who paid
    in two of them. The digests are computed with the secret keys. Case and surrounding spaces of an address do not
    matter, and a search finds a domain in Unicode also as ``xn--``, and the other way round.
    """

    def __init__(self, vault: Vault) -> None:
        self._vault = vault

    def digest_to_store(self, installation_id: int, address: str) -> str:
        """Return the digest that a payment of that store stores: 32 hexadecimal digits."""
        return self._all(installation_id, address)[0]

    def digests_to_search(self, installation_ids: Iterable[int], address: str) -> tuple[str, ...]:
        """Return every digest that payments of those stores may have stored, also under earlier secret keys."""
        spellings = _spellings_of(address)
        return tuple(
            digest
            for store_id in installation_ids
            for spelling in spellings
            for digest in self._all(store_id, spelling)
        )

    def _all(self, installation_id: int, address: str) -> tuple[str, ...]:
        return self._vault.digests(address.strip().lower(), f"installation/{installation_id}/email")


def _spellings_of(address: str) -> tuple[str, ...]:
    """Return the ways in which a shopper, a browser or Saleor may have written this address, without repetitions.

    Mail programs write a domain with letters of its language in ASCII; Macs write some letters in two parts.
    """
    address = address.strip().lower()
    name, _, domain = address.rpartition("@")
    domains = {domain}
    with suppress(UnicodeError):  # not a domain
        domains.add(domain.encode("idna").decode())
    with suppress(UnicodeError):
        domains.add(domain.encode().decode("idna"))
    written = [address, *(f"{name}@{one}" for one in sorted(domains))]
    return tuple(dict.fromkeys(normalize(form, one) for one in written for form in ("NFC", "NFD")))


def _shopper_place(transaction_id: str) -> str:
    return f"transaction/{transaction_id}/shopper"


def _return_url_place(transaction_id: str) -> str:
    return f"transaction/{transaction_id}/return-url"


def _proposal_place(installation_id: int) -> str:
    return f"installation/{installation_id}/payout"


SEALED_COLUMNS = (
    SealedColumn(
        col(Payment.return_url_sealed),
        place_columns=(col(Payment.transaction_id),),
        place=_return_url_place,
        payment=col(Payment.id),
    ),
    SealedColumn(
        col(Operation.personal_sealed),
        place_columns=(col(Payment.transaction_id),),
        place=_shopper_place,
        payment=col(Operation.payment_id),
    ),
)
"""The sealed columns of a payment. What ``seal_proposal`` seals is only in a browser, for a short time."""
