"""Which members of a request are personal, and that their values stand in it no more. Pure."""

import pytest

from app.store.personal import SEALED, PersonalData, is_personal
from app.store.vault import Vault, VaultError

REQUEST = {
    "order_id": "0364aa9a31eb",
    "amount": "569.50",
    "customer_lang": "UK",
    "customer_email": "taras@example.com",
    "customer_ip": "203.0.113.7",
    "browser_fingerprint": {"browserUserAgent": "Mozilla/5.0"},
    "products": [{"name": "Juice"}],
}


@pytest.mark.threat("stolen-database")
def test_what_says_something_of_the_shopper_is_sealed_and_the_rest_stays_readable(vault: Vault) -> None:
    told, sealed = PersonalData(vault).seal_request("transaction", REQUEST)
    personal = {name for name in REQUEST if is_personal(name)}
    assert personal == {"customer_email", "customer_ip", "browser_fingerprint"}
    assert told == {name: SEALED if name in personal else value for name, value in REQUEST.items()}
    assert sealed is not None
    assert "taras" not in sealed


@pytest.mark.threat("staff-of-another-store")
def test_a_proposal_opens_in_its_own_store_only(vault: Vault) -> None:
    personal, proposal = PersonalData(vault), {"key": "0364aa9a31eb", "said": {"amount": "100.00"}}
    sealed = personal.seal_proposal(1, proposal)
    assert personal.open_proposal(1, sealed) == proposal
    for store in (2, 11):
        with pytest.raises(VaultError):
            personal.open_proposal(store, sealed)


@pytest.mark.threat("stolen-database")
def test_what_is_sealed_for_one_thing_opens_as_no_other(vault: Vault) -> None:
    """The same number or id stands for a store here, and for a transaction there."""
    personal = PersonalData(vault)
    sealed = personal.seal_return_url("1", "https://shop.example.com/thanks")
    assert sealed is not None
    with pytest.raises(VaultError):
        personal.open_proposal(1, sealed)
