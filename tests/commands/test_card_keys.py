"""``card-keys``: an operator sees and rotates the keys for which storefronts encrypt cards."""

from app.flows.card_keys import offered_key
from app.services import Services
from tests.commands.conftest import SALEOR, Shell, install


async def test_before_a_key_is_needed_there_is_none(services: Services, shell: Shell) -> None:
    said = await shell("card-keys", "list")
    assert said.status == 0
    assert "no card key yet" in said.out
    assert (await shell("card-keys", "list", "--json")).json == []


async def test_a_rotated_key_is_offered_and_the_old_one_opens_for_a_day(
    services: Services, shell: Shell, installed: int
) -> None:
    old = await offered_key(services.card_keys.for_store(installed), services.now())
    said = await shell("card-keys", "rotate")
    assert said.status == 0
    assert "one more day" in said.out
    new = await offered_key(services.card_keys.for_store(installed), services.now())
    assert new.kid in said.out
    listed = (await shell("card-keys", "list", "--json")).json
    assert [(key["kid"], key["state"]) for key in listed] == [(new.kid, "offered"), (old.kid, "opens")]
    assert listed[1]["until"][8:10] != listed[1]["made"][8:10]
    assert listed[0]["until"] > listed[1]["until"]
    assert old.kid in (await shell("card-keys", "list")).out


async def test_a_key_that_leaked_is_forgotten_at_once(services: Services, shell: Shell, installed: int) -> None:
    await offered_key(services.card_keys.for_store(installed), services.now())
    said = await shell("card-keys", "rotate", "--forget-old", "--json")
    listed = (await shell("card-keys", "list", "--json")).json
    assert [key["kid"] for key in listed] == [said.json["kid"]]


async def test_nothing_private_is_shown(services: Services, shell: Shell, installed: int) -> None:
    key = await offered_key(services.card_keys.for_store(installed), services.now())
    for said in (await shell("card-keys", "list"), await shell("card-keys", "list", "--json")):
        assert key.private_sealed not in said.out
        assert '"d"' not in said.out


async def test_each_store_has_keys_of_its_own(services: Services, shell: Shell, installed: int) -> None:
    other = await install(services, "https://other.example.com/graphql/")
    first = await offered_key(services.card_keys.for_store(installed), services.now())
    second = await offered_key(services.card_keys.for_store(other), services.now())
    (await shell("card-keys", "rotate", "--forget-old")).failed("several stores")
    new = (await shell("card-keys", "rotate", "--forget-old", "--saleor", SALEOR, "--json")).json
    listed = (await shell("card-keys", "list", "--json")).json
    assert {(key["saleor"], key["kid"]) for key in listed} == {
        (SALEOR, new["kid"]),
        ("https://other.example.com/graphql/", second.kid),
    }
    assert first.kid not in {key["kid"] for key in listed}
