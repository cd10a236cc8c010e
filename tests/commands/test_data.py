"""``data prune``: what is kept no longer, said before it goes, and gone. ``data restored``: a backup was put back."""

import shutil
import sqlite3
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from app.bootstrap import utc_now
from app.core.vocabulary import Kind, State
from app.services import Services
from app.settings import Settings
from app.store.connection_errors import sqlite_file
from app.store.tables import MerchantAccount
from tests.commands.books import operation, store_payment
from tests.commands.conftest import Shell, one_database


async def test_what_is_outdated_is_counted_and_then_erased(
    shell: Shell, services: Services, account: MerchantAccount
) -> None:
    for number, days in enumerate((600, 700, 200)):
        name, then = f"transaction-{number}", utc_now() - timedelta(days=days)
        told, sealed = services.personal.seal_request(name, {"customer_email": "olena@example.com"})
        asked = operation(request=told, personal_sealed=sealed, created_at=then, updated_at=then)
        await store_payment(services, account, [asked], transaction_id=name, order_id=f"{number}", created_at=then)
    would = await shell("data", "prune", "--dry-run", "--json")
    assert [(run["dry_run"], run["payments"], run["notifications"]) for run in would.json] == [(True, 2, 0)]
    sooner = await shell("data", "prune", "--dry-run", "--json", APP_KEEP_PERSONAL_DATA_DAYS="190")
    assert sooner.json[0]["payments"] == 3
    never = await shell("data", "prune", "--dry-run", "--json", APP_KEEP_PERSONAL_DATA_DAYS="0")
    assert never.json[0]["payments"] == 0
    assert "would be erased" in (await shell("data", "prune", "--dry-run")).out
    assert "of 2 payments" in (await shell("data", "prune")).out
    assert (await shell("data", "prune", "--json")).json[0]["payments"] == 0


@one_database
async def test_nothing_is_kept_for_less_than_a_dispute_can_take(shell: Shell) -> None:
    (await shell("data", "prune", APP_KEEP_PERSONAL_DATA_DAYS="30")).failed(
        "at least 180 days, or 0 to keep the data for ever", status=2
    )


@pytest.mark.parametrize(("days", "kept"), [(0, None), (540, timedelta(days=540))])
def test_no_days_are_for_ever(days: int, kept: timedelta | None) -> None:
    assert Settings(keep_personal_data_days=days).retention.personal == kept


async def test_what_waited_when_the_backup_was_made_is_not_sent(
    shell: Shell, services: Services, account: MerchantAccount
) -> None:
    waiting = operation(Kind.REFUND, State.WAITING, next_poll_at=None)
    await store_payment(services, account, [operation(), waiting])
    assert (await shell("data", "restored", "--json")).json == {"looked_up_instead": 1}
    said = await shell("data", "restored")
    assert (said.status, "will be looked up instead: 0" in said.out, "reconcile run" in said.out) == (0, True, True)


@one_database
@pytest.mark.fault("backup-restored")
async def test_a_backup_beside_which_the_log_of_the_lost_database_was_left_is_not_used(
    shell: Shell, services: Services, account: MerchantAccount, settings: Settings, tmp_path: Path
) -> None:
    """SQLite writes that log into the backup, and most of what it reads of the two looks right."""
    file = sqlite_file(settings.database)
    restored = tmp_path / "restored.sqlite"

    async def pay(*numbers: int) -> None:
        for number in numbers:
            await store_payment(services, account, transaction_id=f"transaction-{number}", order_id=f"{number}")

    def empty_log() -> None:
        with closing(sqlite3.connect(file)) as beside:
            beside.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    await pay(0)
    empty_log()
    shutil.copy(file, restored)
    await pay(*range(1, 80))
    empty_log()
    await pay(80)
    shutil.copy(f"{file}-wal", f"{restored}-wal")
    told = await shell("data", "restored", APP_DATABASE_URL=f"sqlite:///{restored}")
    told.failed(f"the file {restored} is damaged: stop the app, remove the files beside it", status=2)


@one_database
@pytest.mark.fault("backup-restored")
async def test_a_backup_that_is_not_there_is_not_made_by_a_migration(shell: Shell, settings: Settings) -> None:
    """As `cp` leaves it on a full disk: migrated, it would be a shop without payments."""
    sqlite_file(settings.database).write_bytes(b"")
    (await shell("data", "restored")).failed("the database is empty: put the backup in its place", status=2)
