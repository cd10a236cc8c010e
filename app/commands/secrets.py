"""``secrets``: the keys of the secret key file, and the number of stored values that are sealed with each."""

from collections import Counter
from collections.abc import Mapping

import typer
from rich.text import Text

from app.commands.failure import CommandFailed
from app.commands.progress_bar import Stage, show_progress
from app.commands.services import require_initialized, with_services
from app.commands.terminal import AsJson, print_line, show, show_json, table
from app.services import Services
from app.settings import read_settings
from app.store.sealed_values import ResealProgress, ResealResult
from app.store.vault import VaultError, add_key


def add(as_json: AsJson = False) -> None:
    """Add a new key to the secret key file: from then on it encrypts.

    It is placed before the others, and all of them decrypt. Before you do anything else, copy the file to a safe place,
    and to every machine where another process of this app runs.
    """
    settings = read_settings()
    require_initialized(settings)
    file = settings.key_file.absolute()
    try:
        name = add_key(file)
    except VaultError as exc:
        raise CommandFailed(str(exc)) from exc
    except OSError as exc:
        raise CommandFailed(
            f"{file} cannot be replaced ({exc.strerror}) and was not changed: put the output of "
            "`openssl rand -base64 32` on a new first line where the file comes from"
        ) from exc
    if as_json:
        show_json({"key": name, "file": str(file)})
        return
    print_line(f"{file}: the key {name} is now on the first line.")
    print_line(
        "Copy the file to a safe place, and to every machine that runs the app. Restart all processes of the app."
    )
    print_line("Then encrypt the existing data with it: saleor-gateway secrets reseal")


def reseal(as_json: AsJson = False) -> None:
    """Encrypt everything with the newest key, while the app is running.

    If it is interrupted, run it again: it continues where it stopped. The exit status is 1 if something is still
    encrypted with another key afterwards, or no key decrypts it.
    """
    progress = ResealProgress()

    async def do(services: Services) -> tuple[ResealResult, dict[str, Counter[str]]]:
        async with show_progress(lambda: Stage(progress.column, progress.rows, progress.total)):
            done = await services.sealed.reseal(progress)
        return done, await services.sealed.count()

    done, counts = with_services(do)
    keys = _keys()
    if as_json:
        unopened = {column: values for column, values in done.unopened.items() if values}
        show_json({"sealed": done.sealed, "unopened": unopened} | _to_json(keys, counts))
    else:
        print_line(
            f"{done.sealed} values were re-encrypted with the key {keys[0]}."
            if done.sealed
            else "There was nothing left to do."
        )
        for column, values in done.unopened.items():
            if values:
                print_line(f"{column}: {values} values cannot be decrypted and were not changed", "yellow")
        _print_keys(keys, counts)
    if set(_count_by_key(counts)) - {keys[0]}:
        raise typer.Exit(1)


def check(as_json: AsJson = False) -> None:
    """Show how much is encrypted with each key of the secret key file, and which lines you can remove.

    The exit status is 1 if something is encrypted with a key that is not in the file.
    """

    async def do(services: Services) -> dict[str, Counter[str]]:
        return await services.sealed.count()

    counts, keys = with_services(do), _keys()
    if as_json:
        show_json(_to_json(keys, counts))
    else:
        _print_keys(keys, counts)
    if set(_count_by_key(counts)) - set(keys):
        raise typer.Exit(1)


def _keys() -> tuple[str, ...]:
    """Return the names of the keys in the file, newest first."""
    return read_settings().open_vault().key_ids


def _count_by_key(counts: Mapping[str, Counter[str]]) -> Counter[str]:
    return sum(counts.values(), Counter[str]())


def _print_keys(keys: tuple[str, ...], counts: Mapping[str, Counter[str]]) -> None:
    by_key = _count_by_key(counts)
    rows = table("Line", "Key", "Values", "")
    for line, key in enumerate(keys, 1):
        rows.add_row(str(line), key, str(by_key[key]), _describe_state(line, by_key[key]))
    for key in sorted(set(by_key) - set(keys)):
        rows.add_row("none", key, str(by_key[key]), Text("not in the file: these values cannot be decrypted", "red"))
    show(rows)
    for column, values in counts.items():
        old = sum(number for key, number in values.items() if key != keys[0])
        if old:
            print_line(f"{column}: {old} of {sum(values.values())} values are not encrypted with the newest key")
    if any(not by_key[key] for key in keys[1:]):
        print_line("Before you remove a line: database backups that are older than the last reseal need it.", "dim")


def _describe_state(line: int, values: int) -> Text:
    if line == 1:
        return Text("encrypts", "green")
    return Text("still needed", "yellow") if values else Text("no longer needed: you can remove this line", "green")


def _to_json(keys: tuple[str, ...], counts: Mapping[str, Counter[str]]) -> dict[str, object]:
    by_key = _count_by_key(counts)
    return {
        "keys": [
            {
                "key": key,
                "line": line,
                "seals": line == 1,
                "values": by_key[key],
                "removable": line > 1 and not by_key[key],
            }
            for line, key in enumerate(keys, 1)
        ],
        "missing_keys": {key: by_key[key] for key in sorted(set(by_key) - set(keys))},
        "columns": {column: dict(values) for column, values in counts.items()},
    }
