"""The data folder is its owner's alone: whoever else runs a command, or starts the app, is told so and what to do."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from app.bootstrap import open_deployment
from app.commands.database import require_known_key, require_migrated
from app.commands.services import require_initialized
from app.errors import SettingsError
from app.ops.doctor.storage import check_database, check_disk
from app.settings import Settings

OTHER_USER = 10001


@contextmanager
def other_user(folder: Path, mode: int) -> Iterator[None]:
    """Forbid ``folder``. Nothing is forbidden to root: be another user meanwhile."""
    folder.chmod(mode)
    is_root = os.geteuid() == 0
    if is_root:
        for parent in folder.parents[:4]:  # those that pytest made for its user alone
            parent.chmod(parent.stat().st_mode | 0o011)
        os.seteuid(OTHER_USER)
    try:
        yield
    finally:
        if is_root:
            os.seteuid(0)
        folder.chmod(0o700)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    settings = Settings(data_dir=tmp_path / "data")
    settings.open_vault()
    (tmp_path / "data" / "payments.sqlite").touch()
    return settings


async def test_a_command_in_the_folder_of_another_user_names_the_database(settings: Settings) -> None:
    with other_user(settings.data_dir, 0):
        require_initialized(settings)  # what cannot be seen may be there
        with pytest.raises(SettingsError, match=r"payments\.sqlite cannot be opened: .* may this user write to it"):
            await require_migrated(settings)


async def test_the_doctor_says_of_a_folder_that_may_not_be_entered_what_is_wrong_once(settings: Settings) -> None:
    """The disk below it cannot be looked at; that it cannot is no error of the doctor."""
    async with open_deployment(settings) as deployment:
        with other_user(settings.data_dir.parent, 0):
            (found,) = await check_database(deployment)
            assert await check_disk(deployment) == []
    assert "payments.sqlite cannot be opened" in (found.detail or "")


async def test_a_start_in_a_folder_that_may_not_be_entered_names_the_folder(settings: Settings) -> None:
    with other_user(settings.data_dir, 0):
        await require_known_key(settings)
        with pytest.raises(SettingsError) as told:
            settings.open_vault()
    assert "if the app runs as another user, be that one" in str(told.value)
    assert "as root, run `chown " in str(told.value)


def test_a_first_start_in_a_folder_that_may_not_be_written_names_the_folder(tmp_path: Path) -> None:
    """Docker creates the folder of a bind mount as root's; there is no key file yet that could be given away."""
    folder = tmp_path / "data"
    folder.mkdir()
    with other_user(folder, 0o555), pytest.raises(SettingsError) as told:
        Settings(data_dir=folder).open_vault()
    assert str(told.value).startswith("APP_DATA_DIR: user ")
    assert f"may not use the folder {folder}" in str(told.value)


def test_a_key_file_in_a_folder_that_is_mounted_to_be_read_is_used(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The database may be elsewhere; that others may enter the folder is the decision of whoever mounts it."""

    def refuse(self: Path, mode: int) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(self))

    settings.data_dir.chmod(0o755)
    monkeypatch.setattr(Path, "chmod", refuse)
    assert settings.open_vault().key_ids


def test_a_user_without_a_name_and_without_a_home_can_start_the_app(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 1_000_660_000)
    monkeypatch.delenv("HOME", raising=False)
    assert Settings(data_dir=tmp_path / "data").open_vault().key_ids
    assert (tmp_path / "data").stat().st_mode & 0o777 == 0o700


def test_a_full_disk_at_the_first_start_names_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(SettingsError, match=r"data/secret\.key cannot be read or created: No space left on device"):
        Settings(data_dir=tmp_path / "data").open_vault()
    assert list((tmp_path / "data").iterdir()) == []


def test_a_folder_in_the_place_of_a_file_is_not_called_missing(tmp_path: Path) -> None:
    """Docker makes one of a file that it is to mount and does not find; starting the app would not help."""
    for name in ("payments.sqlite", "secret.key"):
        (tmp_path / name).mkdir()
    settings = Settings(data_dir=tmp_path)
    require_initialized(settings)
    with pytest.raises(SettingsError, match=r"secret\.key cannot be read or created: Is a directory"):
        settings.open_vault()
