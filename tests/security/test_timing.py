"""How long a comparison takes tells a stranger nothing of the secret that theirs is compared with."""

import hmac
from typing import Any

import pytest

from app.store.database import Database
from app.store.installations import InstallationRepository
from app.store.vault import Vault
from gateway_client import signature
from integration_base_tests.clock import Clock

pytestmark = pytest.mark.threat("timing")
SALEOR = "https://shop.example.com/graphql/"
DATA = "eyJhbW91bnQiOiAxfQ=="
SECRETS = ["present", "before", "older"]


@pytest.mark.parametrize("given", [*SECRETS, "nobody's"])
def test_a_notifications_signature_is_compared_with_every_secrets_whichever_fits(
    monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    theirs = signature.sign(DATA, given)
    compared: list[bytes] = []
    compare = hmac.compare_digest

    def counted(ours: bytes, them: bytes) -> bool:
        compared.append(ours)
        return compare(ours, them)

    monkeypatch.setattr(hmac, "compare_digest", counted)
    assert signature.verify(DATA, theirs, SECRETS) is (given in SECRETS)
    assert compared == [signature.sign(DATA, secret).encode() for secret in SECRETS]


class Unequalled(str):
    """A text that nobody compares by ``==``, which ends at the first letter that differs."""

    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        raise AssertionError("compared by ==")


async def test_a_token_that_somebody_brings_is_compared_with_all_of_it(
    database: Database, vault: Vault, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    installations = InstallationRepository(database, vault, clock)
    came: dict[str, Any] = {"saleor_domain": "shop.example.com", "schema_version": "3.22"}
    opened = Vault.open
    monkeypatch.setattr(Vault, "open", lambda *sealed: Unequalled(opened(*sealed)))
    for token in ("one-token", "another-token", "one-token"):
        assert await installations.save_pending(saleor_api_url=SALEOR, token=token, **came)
    await installations.delete_pending(SALEOR, "another-token")
    monkeypatch.undo()
    left = await installations.find(SALEOR)
    assert left is not None
    assert list(left.pending_tokens) == ["one-token"]
