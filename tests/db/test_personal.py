"""Which members of a request are personal, and that their values stand in it no more. Pure."""

import pytest

from app.db.personal import SEALED, PersonalData, is_personal
from app.db.vault import Vault

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
