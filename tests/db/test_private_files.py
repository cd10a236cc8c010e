"""What holds shoppers' data is read by its owner alone."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text

from app.settings import Settings
from app.store.database import Database, create_engine
from app.store.private_files import create_private_folder


@pytest.fixture(autouse=True)
def everybody_may_read() -> Iterator[None]:
    """Whatever the umask says."""
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def modes(folder: Path) -> dict[str, int]:
    return {path.name: mode(path) for path in folder.iterdir()}


@pytest.mark.threat("other-users-of-the-machine")
async def test_the_database_and_what_sqlite_writes_beside_it(tmp_path: Path) -> None:
    file = tmp_path / "payments.sqlite"
    database = Database(create_engine(f"sqlite:///{file}"))
    async with database.engine.begin() as connection:
        await connection.execute(text("CREATE TABLE page (text TEXT)"))
    files = ["payments.sqlite", "payments.sqlite-shm", "payments.sqlite-wal"]
    assert modes(tmp_path) == dict.fromkeys(files, 0o600)
    for name in files:
        (tmp_path / name).chmod(0o644)  # as an earlier version of the app has made them
    await database.close()
    again = Database(create_engine(f"sqlite:///{file}"))
    async with again.engine.begin() as connection:
        await connection.execute(text("INSERT INTO page VALUES ('one')"))
        assert modes(tmp_path) == dict.fromkeys(files, 0o600)
    await again.close()


@pytest.mark.threat("other-users-of-the-machine")
def test_the_folder_when_it_is_made_and_when_it_is_found(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path / "new" / "data")
    settings.open_vault()
    assert mode(settings.data_dir) == 0o700
    assert mode(settings.key_file) == 0o600
    settings.data_dir.chmod(0o755)
    settings.open_vault()
    assert mode(settings.data_dir) == 0o700


def test_a_folder_that_is_not_the_apps_own_is_left_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tmp_path.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    create_private_folder(Path())
    assert mode(tmp_path) == 0o755
