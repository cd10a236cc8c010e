"""``data prune``: runs the worker's nightly erasure now. ``data restored``: records that a backup was restored."""

from typing import Annotated

import typer
from sqlalchemy.exc import DBAPIError

from app.commands.failure import CommandFailed
from app.commands.interruption import run_until_interrupted
from app.commands.progress_bar import Stage, show_progress
from app.commands.services import require_initialized, with_services
from app.commands.terminal import AsJson, count_text, print_line, show_json
from app.services import Services
from app.settings import Settings, read_settings
from app.store.connection_errors import DamagedFileError, UnusableDatabaseError
from app.store.migrate import Fit, current_revision, fit_of
from app.store.restored_backup import mark_waiting_as_unknown, require_whole
from app.store.retention import Outdated, count_outdated
from app.worker.erase import ErasedCounts, erase


def prune(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show how much would be erased.")] = False,
    as_json: AsJson = False,
) -> None:
    """Erase expired data now: shopper data in old payments, and the content of old notifications.

    APP_KEEP_PERSONAL_DATA_DAYS and APP_KEEP_NOTIFICATIONS_DAYS set how long data is kept. Facts about money are kept
    for ever, and so is everything about a payment with anything still open. The worker does the same automatically
    every night.
    """

    async def do(services: Services) -> list[tuple[str, ErasedCounts]]:
        stores = await services.installations.all()
        found = [(installation, ErasedCounts()) for installation in stores]
        for store, erased in found:
            if dry_run:
                outdated = Outdated.for_store(store.id, services.retention, services.now())
                async with services.database.transaction() as session:
                    erased.payments, erased.notifications = await count_outdated(session, outdated)
                continue
            async with show_progress(
                lambda store=store, erased=erased: Stage(  # type: ignore[misc]
                    store.saleor_api_url, erased.payments + erased.notifications, None
                )
            ):
                await erase(services, store.id, erased)
        return [(store.saleor_api_url, erased) for store, erased in found]

    done = with_services(do)
    if as_json:
        show_json(
            [
                {
                    "saleor": saleor,
                    "dry_run": dry_run,
                    "payments": erased.payments,
                    "notifications": erased.notifications,
                }
                for saleor, erased in done
            ]
        )
        return
    if not done:
        print_line("No store has installed this app yet.")
    would = "would be erased" if dry_run else "were erased"
    for saleor, erased in done:
        print_line(
            f"{saleor}: the shopper data of {count_text(erased.payments, 'payment')} and the content of "
            f"{count_text(erased.notifications, 'notification')} {would}."
        )


def restored(as_json: AsJson = False) -> None:
    """Record that a backup was restored: operations that were waiting to be sent are looked up instead.

    Run this before you start the app. Then compare the records: saleor-gateway reconcile run.
    """
    settings = read_settings()
    require_initialized(settings)
    run_until_interrupted(_require_backup(settings))
    waited = with_services(lambda services: mark_waiting_as_unknown(services.database, services.now()))
    if as_json:
        show_json({"looked_up_instead": waited})
        return
    print_line(f"Operations that were waiting to be sent and will be looked up instead: {waited}.")
    print_line("Now compare the records, starting one day before the backup: saleor-gateway reconcile run --from DATE")


async def _require_backup(settings: Settings) -> None:
    """Raise CommandFailed for a damaged database, or one without tables: migrated, it would be a shop without payments.

    Whatever else is wrong with it, all commands say.
    """
    try:
        revision = await current_revision(settings.database)
        await require_whole(settings.database)
    except DamagedFileError as exc:
        raise CommandFailed(str(exc), status=2) from exc
    except (UnusableDatabaseError, DBAPIError):
        return
    if fit_of(revision) is Fit.EMPTY:
        raise CommandFailed("the database is empty: put the backup in its place, and run this command again", status=2)
