"""What every store of installations must do, whoever wrote it."""

import asyncio
from datetime import timedelta
from typing import Any

from integration_base_tests.clock import Clock
from saleor_app_sdk.installation import Installation, InstallationStore
from saleor_app_sdk.pending_tokens import MAX_PENDING_TOKENS

URL = "https://shop.example.com/graphql/"
OTHER = "https://other.example.com/graphql/"
TOKEN = "good"
KEYS = {"keys": [{"kid": "first"}, {"kid": "before", "replaced_at": "2026-11-21T11:55:00+00:00"}]}


async def install(store: InstallationStore, token: str = TOKEN, url: str = URL, **changed: Any) -> None:
    given: dict[str, Any] = {"schema_version": "3.22", "app_id": "QXBwOjE=", "jwks": KEYS} | changed
    await store.save(saleor_api_url=url, saleor_domain="shop.example.com", token=token, **given)


async def bring(store: InstallationStore, token: str, url: str = URL) -> bool:
    return await store.save_pending(
        saleor_api_url=url, saleor_domain="shop.example.com", schema_version="3.22", token=token
    )


async def find(store: InstallationStore, url: str = URL) -> Installation:
    found = await store.find(url)
    assert found is not None
    return found


class InstallationStoreCases:
    """Tests of the store that the fixture ``store`` of a subclass gives."""

    async def test_installation_is_found_by_its_address_only(self, store: InstallationStore, clock: Clock) -> None:
        await install(store)
        found = await find(store)
        assert (found.saleor_api_url, found.app_id, found.token, found.verified) == (URL, "QXBwOjE=", "good", True)
        assert (found.schema_version, found.jwks, found.jwks_fetched_at) == ("3.22", KEYS, clock.now)
        assert tuple(found.pending_tokens) == ()
        assert await store.find(OTHER) is None
        assert "good" not in repr(found)

    async def test_reinstallation_replaces_token_and_app_and_ends_pending_tokens(
        self, store: InstallationStore, clock: Clock
    ) -> None:
        await install(store)
        await install(store, url=OTHER)
        await bring(store, "pending")
        await bring(store, "pending", OTHER)
        clock.forward(days=1)
        await install(store, "new", app_id="QXBwOjI=", schema_version="3.23", jwks={"keys": []})
        found = await find(store)
        assert (found.app_id, found.token, tuple(found.pending_tokens)) == ("QXBwOjI=", "new", ())
        assert (found.schema_version, found.jwks, found.jwks_fetched_at) == ("3.23", {"keys": []}, clock.now)
        assert ((await find(store, OTHER)).token, (await find(store, OTHER)).pending_tokens) == ("good", ("pending",))

    async def test_token_that_comes_without_keys_leaves_the_stored_ones(
        self, store: InstallationStore, clock: Clock
    ) -> None:
        await install(store)
        fetched_at = clock.now
        clock.forward(days=1)
        await install(store, "new", jwks=None)
        found = await find(store)
        assert (found.token, found.jwks, found.jwks_fetched_at) == ("new", KEYS, fetched_at)

    async def test_first_token_without_keys_has_none_and_no_time_of_them(self, store: InstallationStore) -> None:
        await install(store, jwks=None)
        found = await find(store)
        assert (found.jwks, found.jwks_fetched_at) == (None, None)

    async def test_pending_token_stands_beside_the_proven_one(self, store: InstallationStore) -> None:
        await install(store)
        assert await bring(store, "first")
        assert await bring(store, "second")
        assert await bring(store, "second"), "Saleor tries again with the same"
        found = await find(store)
        assert (found.token, found.app_id, tuple(found.pending_tokens)) == ("good", "QXBwOjE=", ("second", "first"))
        await store.delete_pending(URL, "first")
        assert tuple((await find(store)).pending_tokens) == ("second",)

    async def test_installation_with_pending_tokens_only_is_not_verified(self, store: InstallationStore) -> None:
        assert await bring(store, "first")
        found = await find(store)
        assert (found.verified, found.token, found.app_id, found.jwks) == (False, "", None, None)
        assert found.schema_version == "3.22"

    async def test_flood_of_pending_tokens_leaves_what_came_before_and_after_it(
        self, store: InstallationStore, clock: Clock
    ) -> None:
        await bring(store, "genuine")
        clock.forward(days=1)
        for number in range(120):
            clock.forward(seconds=1)
            assert await bring(store, f"garbage-{number}")
        clock.forward(hours=1)
        await bring(store, "later")
        tokens = (await find(store)).pending_tokens
        assert {"genuine", "later"} <= set(tokens)
        assert len(tokens) <= MAX_PENDING_TOKENS

    async def test_contact_stores_the_release_that_saleor_reports(self, store: InstallationStore) -> None:
        await install(store)
        for reported, expected in (("3.22.67", "3.22.67"), (None, "3.22.67"), ("3.21.4", "3.21.4")):
            await store.record_contact(await find(store), reported)
            assert (await find(store)).schema_version == expected

    async def test_new_keys_are_stored_with_their_time(self, store: InstallationStore, clock: Clock) -> None:
        await install(store)
        later = clock.now + timedelta(hours=2)
        await store.save_jwks(URL, {"keys": []}, later)
        found = await find(store)
        assert (found.jwks, found.jwks_fetched_at, found.token) == ({"keys": []}, later, "good")

    async def test_nothing_is_stored_of_a_saleor_that_is_not_installed(
        self, store: InstallationStore, clock: Clock
    ) -> None:
        await store.save_jwks(URL, KEYS, clock.now)
        await store.delete_pending(URL, "good")
        assert await store.find(URL) is None

    async def test_first_installations_at_once_leave_one_that_is_whole(self, store: InstallationStore) -> None:
        names = [f"token-{number}" for number in range(8)]
        await asyncio.gather(
            *(install(store, name, app_id=f"app-of-{name}", jwks={"keys": [name]}) for name in names),
            *(bring(store, f"pending-{name}") for name in names),
        )
        found = await find(store)
        assert found.app_id == f"app-of-{found.token}"
        assert found.jwks == {"keys": [found.token]}
