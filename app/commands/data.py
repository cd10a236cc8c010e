"""``data prune``: what the worker does in the night, now. ``data restored``: a backup was put back."""

from typing import Annotated

import typer

from app.commands.opening import with_services
from app.commands.progress_bar import Stage, shown
from app.commands.terminal import AsJson, say, show_json
from app.db.retention import Outdated, count_outdated
from app.payments.services import Services
from app.payments.sync.restored_backup import mark_waiting_as_unknown
from app.worker.erase import Erased, erase


def prune(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say how much would be erased.")] = False,
    as_json: AsJson = False,
) -> None:
    """Erase now what is kept no longer: what old payments say of shoppers, what was notified long ago.

    How long is kept say APP_KEEP_PERSONAL_DATA and APP_KEEP_NOTIFICATIONS. Facts about money stay for ever, and so does
    everything of a payment of which anything is open. The worker does the same by itself every night.
    """

    async def do(services: Services) -> list[tuple[str, Erased]]:
        stores = await services.installations.all()
        found = [(each, Erased()) for each in stores]
        for store, erased in found:
            if dry_run:
                outdated = Outdated.of(store.id, services.retention, services.now())
                async with services.database.transaction() as session:
                    erased.payments, erased.notifications = await count_outdated(session, outdated)
                continue
            async with shown(
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
        say("No Saleor has installed this app yet.")
    would = "would be erased" if dry_run else "was erased"
    for saleor, erased in done:
        say(
            f"{saleor}: of {erased.payments} payments what they say of shoppers, and the content of "
            f"{erased.notifications} notifications, {would}."
        )


def restored(as_json: AsJson = False) -> None:
    """Say that a backup was put back: what waited to be sent when it was made is looked up instead.

    Do it before the app is started. Then compare the books: saleor-gateway reconcile run.
    """
    waited = with_services(mark_waiting_as_unknown)
    if as_json:
        show_json({"looked_up_instead": waited})
        return
    say(f"Operations that waited for their turn, and are looked up now instead of being sent: {waited}.")
    say("Now compare the books, from a day before the backup on: saleor-gateway reconcile run --from DATE")
