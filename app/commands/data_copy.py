"""``data copy``: copies the whole database into another one, which a shop then continues with.

The address of the target holds a password: no message quotes it.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated

import typer
from rich.text import Text
from sqlalchemy.exc import DBAPIError, IntegrityError

from app.commands.database import require_migrated
from app.commands.failure import CommandFailed
from app.commands.interruption import run_until_interrupted
from app.commands.progress_bar import Stage, show_progress
from app.commands.services import require_initialized
from app.commands.terminal import AsJson, print_line, show, show_json, table
from app.settings import PREFIX, Settings, read_settings
from app.store.connection_errors import (
    UnusableDatabaseError,
    describe_connection_error,
    describe_place,
    missing_sqlite_file,
)
from app.store.database import async_url, create_engine
from app.store.database_copy import (
    CopyError,
    CopyProgress,
    DatabaseCopy,
    SourceUnavailableError,
    TableComparison,
    open_copy,
)
from app.store.migrate import Fit, current_revision, fit_of, newest_revision
from integration_base.amounts import format_amount

_MIGRATE = f"`saleor-gateway migrate` with the target's address in {PREFIX}DATABASE_URL"


@dataclass(frozen=True, slots=True)
class _Done:
    resumed: bool
    tables: Sequence[TableComparison]

    @property
    def differing(self) -> list[str]:
        return [compared.name for compared in self.tables if not compared.is_equal]


def copy(
    to: Annotated[
        str,
        typer.Option(
            "--to",
            metavar="URL",
            help="The other database, empty and migrated, written like APP_DATABASE_URL. Its password may be in "
            "PGPASSWORD or in ~/.pgpass instead.",
        ),
    ],
    as_json: AsJson = False,
) -> None:
    """Copy everything into another, empty database, and compare both.

    Stop the app, migrate the other database, copy, read the comparison, change APP_DATABASE_URL, start the app. The
    secret key file stays the same: what is encrypted is copied as it is.

    If the copy is interrupted, run the same command again: it continues where it stopped. The app does not start on a
    copy until the comparison has found no difference; if there is one, the exit status is 1.
    """
    settings = read_settings()
    require_initialized(settings)
    _require_other_database(settings, to)
    done = run_until_interrupted(
        _copy(settings, to), then="run the same command again, which continues where it stopped"
    )
    if as_json:
        show_json(_to_json(settings, to, done))
    else:
        _print(settings, to, done)
    if done.differing:
        raise CommandFailed(
            f"the copy differs from its source in {', '.join(done.differing)}: do not use it, create the target anew, "
            "migrate it, and copy again while the app is stopped"
        )


def _require_other_database(settings: Settings, to: str) -> None:
    try:
        async_url(to)
    except ValueError as exc:
        raise CommandFailed(f"--to: {exc}", status=2) from None
    if describe_place(to) == describe_place(settings.database):
        raise CommandFailed(f"--to: this is the database that is to be copied ({describe_place(to)})", status=2)
    if (file := missing_sqlite_file(to)) is not None:
        raise CommandFailed(f"--to: there is no database {file}: create it by {_MIGRATE}", status=2)


async def _copy(settings: Settings, to: str) -> _Done:
    await require_migrated(settings)
    await _require_same_revision(settings, to)
    async with _open(settings, to) as copy:
        await copy.require_stopped(datetime.now(UTC))
        resumed = await copy.begin(describe_place(settings.database), datetime.now(UTC))
        async with show_progress(lambda: _stage(copy.progress)):
            await copy.copy()
            done = _Done(resumed, await copy.compare())
        if not done.differing:
            await copy.finish()
        return done


async def _require_same_revision(settings: Settings, to: str) -> None:
    """Raise CommandFailed unless both databases have exactly the tables that this program knows."""
    source = await current_revision(settings.database)
    if fit_of(source) is not Fit.CURRENT:
        raise CommandFailed(
            f"the database is at revision {source} of a newer version of the app: copy it with that version"
        )
    try:
        target = await current_revision(to, for_copy=True)
    except (UnusableDatabaseError, DBAPIError) as exc:
        raise CommandFailed(f"--to: {describe_connection_error(to, exc)}", status=2) from exc
    if target is None:
        raise CommandFailed(f"--to: the database has no tables yet: run {_MIGRATE}", status=2)
    if fit_of(target) is Fit.BEHIND:
        raise CommandFailed(
            f"--to: the database is at revision {target}, not {newest_revision()}: run {_MIGRATE}", status=2
        )
    if target != source:
        raise CommandFailed(
            f"--to: the database is at revision {target}, the source is at {source}: create the target anew, and run "
            f"{_MIGRATE}",
            status=2,
        )


@asynccontextmanager
async def _open(settings: Settings, to: str) -> AsyncIterator[DatabaseCopy]:
    """Yield the copy; its errors become one sentence each, about the database at fault."""
    async with AsyncExitStack() as stack:
        engines = [create_engine(url, pool_size=1, timeouts=None) for url in (settings.database, to)]
        for engine in engines:
            stack.push_async_callback(engine.dispose)
        try:
            yield await stack.enter_async_context(open_copy(*engines))
        except SourceUnavailableError as exc:
            problem = describe_connection_error(settings.database, exc.error)
            raise CommandFailed(f"{PREFIX}DATABASE_URL: {problem}") from exc
        except CopyError as exc:
            raise CommandFailed(str(exc)) from exc
        except IntegrityError as exc:
            raise CommandFailed(
                "--to: somebody else writes to the target, perhaps another copy: let it finish, then copy again"
            ) from exc
        except DBAPIError as exc:
            raise CommandFailed(
                f"--to: {describe_connection_error(to, exc)}; then run the same command again, which continues where "
                "it stopped"
            ) from exc


def _stage(progress: CopyProgress) -> Stage:
    return Stage(f"{progress.step} {progress.table}", progress.rows, progress.total)


def _print(settings: Settings, to: str, done: _Done) -> None:
    listing = table("Table", "Rows", "Rows copied", "Sum", "Sum copied", "")
    for compared in done.tables:
        state = Text("equal", "green") if compared.is_equal else Text(_describe_difference(compared), "red")
        rows = [str(number) for number in compared.rows]
        listing.add_row(compared.name, *rows, "", "", state)
        for name, sums in compared.sums.items() if any(compared.rows) else ():
            listing.add_row(f"  {name}", "", "", *(format_amount(total) for total in sums), "")
    show(listing)
    if done.differing:
        return
    rows_in_all = sum(compared.rows[1] for compared in done.tables)
    print_line(f"Everything is equal: {rows_in_all} rows of {len(done.tables)} tables are in {describe_place(to)}.")
    print_line(
        f"What is encrypted stays so: the app needs the same secret key file, {settings.key_file.absolute()}, with the "
        "new database."
    )
    print_line(
        f"Now set {PREFIX}DATABASE_URL to the new address and start the app. Never start it with the old database "
        "again: it does not know what was sent since."
    )


def _describe_difference(compared: TableComparison) -> str:
    return f"{compared.differing} rows differ" if compared.differing else "differs"


def _to_json(settings: Settings, to: str, done: _Done) -> dict[str, object]:
    return {
        "source": describe_place(settings.database),
        "target": describe_place(to),
        "resumed": done.resumed,
        "equal": not done.differing,
        "tables": [
            {
                "table": compared.name,
                "equal": compared.is_equal,
                "rows": _pair(compared.rows),
                "differing_rows": compared.differing,
                "sums": {name: _pair(sums) for name, sums in compared.sums.items()},
            }
            for compared in done.tables
        ],
    }


def _pair(values: tuple[object, object]) -> dict[str, object]:
    source, target = values
    return {"source": source, "target": target}
