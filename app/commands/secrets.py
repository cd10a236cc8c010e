"""``secrets``: the keys of the secret key file, and which of them what is kept is sealed with."""

from collections import Counter
from collections.abc import Mapping

import typer
from rich.text import Text

from app.commands.failure import CommandFailed
from app.commands.opening import require_what_the_app_made, with_services
from app.commands.progress_bar import Stage, shown
from app.commands.terminal import AsJson, say, show, show_json, table
from app.db.sealed_values import Resealed, Resealing
from app.db.vault import VaultError, add_key
from app.payments.services import Services
from app.settings import read_settings


def add(as_json: AsJson = False) -> None:
    """Put a new key into the secret key file: it seals from then on.

    It stands before the others, and all of them open. Copy the file to a safe place before anything else, and to
    wherever another process of this app runs.
    """
    settings = read_settings()
    require_what_the_app_made(settings)
    file = settings.key_file.absolute()
    try:
        name = add_key(file)
    except VaultError as exc:
        raise CommandFailed(str(exc)) from exc
    except OSError as exc:
        raise CommandFailed(
            f"{file} cannot be replaced ({exc.strerror}), and was not changed: put the output of "
            "`openssl rand -base64 32` on a new first line where the file comes from"
        ) from exc
    if as_json:
        show_json({"key": name, "file": str(file)})
        return
    say(f"{file}: the key {name} is on the first line now.")
    say("Copy the file to a safe place, and to every machine that runs the app. Restart all processes of the app.")
    say("Then seal with it what there is: saleor-gateway secrets reseal")


def reseal(as_json: AsJson = False) -> None:
    """Seal everything with the newest key, beside the running app.

    Whatever ends it, it can be begun again, and goes on. The exit status is 1 when something is sealed with another
    key afterwards, or no key opens it.
    """
    progress = Resealing()

    async def do(services: Services) -> tuple[Resealed, dict[str, Counter[str]]]:
        async with shown(lambda: Stage(progress.column, progress.rows, progress.of)):
            done = await services.sealed.reseal(progress)
        return done, await services.sealed.count()

    done, counted = with_services(do)
    keys = _keys()
    if as_json:
        unopened = {column: values for column, values in done.unopened.items() if values}
        show_json({"sealed": done.sealed, "unopened": unopened} | _to_json(keys, counted))
    else:
        say(
            f"{done.sealed} values were sealed anew with the key {keys[0]}."
            if done.sealed
            else "Nothing was left to do."
        )
        for column, values in done.unopened.items():
            if values:
                say(f"{column}: {values} values do not open, and are as they were", "yellow")
        _say_keys(keys, counted)
    if set(_of_keys(counted)) - {keys[0]}:
        raise typer.Exit(1)


def check(as_json: AsJson = False) -> None:
    """Show how much is sealed with which key of the secret key file, and which lines can be removed.

    The exit status is 1 when something is sealed with a key that is not in the file.
    """

    async def do(services: Services) -> dict[str, Counter[str]]:
        return await services.sealed.count()

    counted, keys = with_services(do), _keys()
    if as_json:
        show_json(_to_json(keys, counted))
    else:
        _say_keys(keys, counted)
    if set(_of_keys(counted)) - set(keys):
        raise typer.Exit(1)


def _keys() -> tuple[str, ...]:
    """Return the names of the keys in the file, newest first."""
    return read_settings().open_vault().key_ids


def _of_keys(counted: Mapping[str, Counter[str]]) -> Counter[str]:
    return sum(counted.values(), Counter[str]())


def _say_keys(keys: tuple[str, ...], counted: Mapping[str, Counter[str]]) -> None:
    of_keys = _of_keys(counted)
    rows = table("Line", "Key", "Values", "")
    for line, key in enumerate(keys, 1):
        rows.add_row(str(line), key, str(of_keys[key]), _standing(line, of_keys[key]))
    for key in sorted(set(of_keys) - set(keys)):
        rows.add_row("none", key, str(of_keys[key]), Text("not in the file: nobody can open these values", "red"))
    show(rows)
    for column, values in counted.items():
        old = sum(number for key, number in values.items() if key != keys[0])
        if old:
            say(f"{column}: {old} of {sum(values.values())} values are not sealed with the newest key")
    if any(not of_keys[key] for key in keys[1:]):
        say("Before you remove a line: backups of the database that are older than the last reseal need it.", "dim")


def _standing(line: int, values: int) -> Text:
    if line == 1:
        return Text("seals", "green")
    return Text("still needed", "yellow") if values else Text("needed no more: this line can be removed", "green")


def _to_json(keys: tuple[str, ...], counted: Mapping[str, Counter[str]]) -> dict[str, object]:
    of_keys = _of_keys(counted)
    return {
        "keys": [
            {
                "key": key,
                "line": line,
                "seals": line == 1,
                "values": of_keys[key],
                "removable": line > 1 and not of_keys[key],
            }
            for line, key in enumerate(keys, 1)
        ],
        "missing_keys": {key: of_keys[key] for key in sorted(set(of_keys) - set(keys))},
        "columns": {column: dict(values) for column, values in counted.items()},
    }
