"""The first start creates a secret key file, and no later one does: nothing encrypted could be read with a new key."""

from collections.abc import Callable
from pathlib import Path

import pytest

from app.commands.database import require_known_key
from app.demo.processes import free_port
from app.errors import SettingsError
from app.services import Services
from app.settings import Settings
from app.store.tables import MerchantAccount
from tests.commands.conftest import Run, Shell


@pytest.mark.fault("key-lost")
@pytest.mark.parametrize("command", ["run", "worker"])
async def test_a_start_without_the_key_file_names_what_is_missing_and_makes_none(
    environment: dict[str, str],
    services: Services,
    settings: Settings,
    account: MerchantAccount,
    run: Run,
    *,
    command: str,
) -> None:
    (key,) = services.sealed.key_ids
    kept = settings.key_file.rename(settings.key_file.with_name("copy"))
    status, out, err = await run(environment | {"APP_PORT": str(free_port())}, command)
    assert (status, out) == (2, "")
    assert err == (
        f"error: there is no secret key file {settings.key_file}, and the database holds what the key {key} has "
        "encrypted: put the file back from its copy, or set APP_SECRET_KEY_FILE or APP_DATA_DIR to where it is\n"
    )
    assert not settings.key_file.exists()
    kept.rename(settings.key_file)
    await require_known_key(settings)
    assert await services.accounts.find(account.id) is not None


async def test_a_command_without_the_key_file_says_what_to_do(
    shell: Shell, settings: Settings, account: MerchantAccount
) -> None:
    settings.key_file.unlink()
    said = await shell("accounts", "list")
    said.failed(f"there is no secret key file {settings.key_file}: run this command with the app's settings", status=2)
    assert "if the file is lost, put it back from its copy" in said.err


async def test_a_database_in_which_nothing_is_encrypted_gets_a_key_file(database_url: str, tmp_path: Path) -> None:
    """An operator has migrated it before the first start."""
    settings = Settings(database_url=database_url, data_dir=tmp_path / "data")
    await require_known_key(settings)
    settings.open_vault()
    assert settings.key_file.is_file()


async def test_an_empty_database_gets_a_key_file(new_postgresql: Callable[[], str], tmp_path: Path) -> None:
    (tmp_path / "empty.sqlite").touch()
    for url in (new_postgresql(), f"sqlite:///{tmp_path / 'empty.sqlite'}", f"sqlite:///{tmp_path / 'none.sqlite'}"):
        await require_known_key(Settings(database_url=url, data_dir=tmp_path / "data"))
    assert not (tmp_path / "none.sqlite").exists()


async def test_a_database_that_is_away_is_named_before_a_key_file_is_made(tmp_path: Path) -> None:
    away = Settings(database_url="postgresql://postgres@127.0.0.1:9/shop", data_dir=tmp_path / "data")
    with pytest.raises(SettingsError, match="no server is listening"):
        await require_known_key(away)
