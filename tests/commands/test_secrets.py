"""``secrets``: a new key, everything sealed with it, and which lines can go."""

import base64
from pathlib import Path

from app.services import Services
from app.settings import Settings
from app.store.vault import KEY_BYTES, Vault, read_keys
from tests.commands.conftest import Shell, add_account, one_database


async def test_a_key_is_retired(shell: Shell, services: Services, settings: Settings, installed: int) -> None:
    account = await add_account(services, installed)
    (old,) = Vault(read_keys(settings.key_file)).key_ids
    added = await shell("secrets", "add-key", "--json")
    new = added.json["key"]
    assert added.json["file"] == str(settings.key_file.absolute())
    before = (await shell("secrets", "check", "--json")).json
    assert [(key["key"], key["seals"], key["removable"]) for key in before["keys"]] == [
        (new, True, False),
        (old, False, False),
    ]
    assert before["columns"]["merchant_account.api_key_sealed"] == {old: 1}
    done = await shell("secrets", "reseal", "--json")
    assert (done.status, done.json["unopened"], done.json["missing_keys"]) == (0, {}, {})
    assert done.json["sealed"] == sum(sum(column.values()) for column in before["columns"].values()) > 3
    checked = await shell("secrets", "check")
    assert checked.status == 0
    assert "no longer needed" in checked.out
    assert "backups" in checked.out
    assert "There was nothing left to do." in (await shell("secrets", "reseal")).out
    # The app that has run all the time meets the new key, and takes it.
    assert services.accounts.keys((await services.accounts.all())[0]).api_key
    settings.key_file.write_text(settings.key_file.read_text().splitlines()[0])
    assert (await shell("accounts", "show", account.id)).status == 0


@one_database
async def test_a_line_that_is_still_needed_and_is_gone_is_missed(
    shell: Shell, services: Services, settings: Settings, installed: int
) -> None:
    await add_account(services, installed)
    (old,) = Vault(read_keys(settings.key_file)).key_ids
    settings.key_file.write_bytes(base64.urlsafe_b64encode(b"\x09" * KEY_BYTES))
    checked = await shell("secrets", "check")
    assert (checked.status, old in checked.out, "not in the file" in checked.out) == (1, True, True)
    done = await shell("secrets", "reseal", "--json")
    assert (done.status, done.json["sealed"]) == (1, 0)
    assert done.json["unopened"]["merchant_account.api_key_sealed"] == done.json["missing_keys"][old] / 4 == 1


@one_database
async def test_a_key_file_that_comes_from_elsewhere_is_not_replaced(
    shell: Shell, settings: Settings, installed: int
) -> None:
    folder: Path = settings.key_file.parent
    before = settings.key_file.read_bytes()
    folder.joinpath(f".{settings.key_file.name}.new").mkdir()  # so that nothing can be written beside it
    (await shell("secrets", "add-key")).failed("cannot be replaced")
    assert settings.key_file.read_bytes() == before
    settings.key_file.write_text("something else")
    folder.joinpath(f".{settings.key_file.name}.new").rmdir()
    (await shell("secrets", "add-key")).failed("is not a key file")
