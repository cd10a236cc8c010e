"""Where commands get an account's secrets from: a file, the environment, or a prompt that does not show them.

Never from arguments, which stand in the shell's history and in the list of processes. All come from one place, so that
a key that was left in the environment for another account does not slip in. Nothing here shows what it read.
"""

import os
import re
import stat
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from app.commands.failure import CommandFailed
from app.commands.terminal import require_somebody_to_ask, warn
from app.db.accounts import AccountKeys

NAMES: Mapping[str, str] = {
    "api_key": "GATEWAY_API_KEY",
    "api_secret": "GATEWAY_API_SECRET",
    "endpoints_key": "GATEWAY_ENDPOINTS_KEY",
}
"""Of each secret, its name in a file and in the environment."""

_PROMPTS = {"api_key": "API key", "api_secret": "API secret", "endpoints_key": "Endpoints key"}

_INSTEAD = f"set {', '.join(NAMES.values())}, or use --secrets-file"

SecretsFile = Annotated[Path | None, typer.Option(metavar="FILE", help="Read the secrets from this TOML file.")]


def read_keys(file: Path | None) -> AccountKeys:
    """Return all three secrets. Raises CommandFailed."""
    given, place = _given(file)
    if given is None:
        require_somebody_to_ask(_INSTEAD)
        given = {name: _ask(prompt) for name, prompt in _PROMPTS.items()}
    missing = [NAMES[name] for name in NAMES if name not in given]
    if missing:
        raise CommandFailed(f"{place} has no {' and no '.join(missing)}: give all three secrets in one place", status=2)
    return AccountKeys(**given)


def keys_again(file: Path | None) -> dict[str, str]:
    """Return all three secrets by their field in ``AccountKeys``, for another address. Raises CommandFailed."""
    keys = read_keys(file)
    return {name: getattr(keys, name) for name in NAMES}


def read_new_keys(file: Path | None) -> dict[str, str]:
    """Return those secrets that are to be replaced, by their field in ``AccountKeys``. Raises CommandFailed."""
    given, _ = _given(file)
    if given is None:
        require_somebody_to_ask(_INSTEAD)
        answers = {name: _ask(f"New {prompt} (Enter keeps the present one)", "") for name, prompt in _PROMPTS.items()}
        given = {name: answer for name, answer in answers.items() if answer}
    if not given:
        raise CommandFailed("no new secret was given: nothing was changed", status=2)
    return given


def _given(file: Path | None) -> tuple[dict[str, str] | None, str]:
    """Return what is given without asking, and where; None when a person must be asked."""
    if file is not None:
        return _in_file(file), f"the secrets file {file}"
    found = {name: value for name, variable in NAMES.items() if (value := os.environ.get(variable, "").strip())}
    return found or None, "the environment"


def _in_file(file: Path) -> dict[str, str]:
    try:
        with file.open("rb") as opened:
            mode = os.fstat(opened.fileno()).st_mode
            members = _toml(file, opened.read())
    except OSError as exc:
        raise CommandFailed(f"the secrets file {file} cannot be read: {exc.strerror}", status=2) from exc
    if stat.S_ISREG(mode) and mode & (stat.S_IRGRP | stat.S_IROTH):
        warn(f"others on this machine can read {file}: chmod 600 {file}")
    if set(members) - set(NAMES.values()):
        # Which one is not repeated here: a secret may have been put where its name belongs.
        raise CommandFailed(f"the secrets file {file} may only hold {', '.join(NAMES.values())}", status=2)
    found = {}
    for name, variable in NAMES.items():
        value = members.get(variable)
        if value is not None:
            if not isinstance(value, str) or not value.strip():
                raise CommandFailed(f"the secrets file {file}: {variable} must be a text in quotes", status=2)
            found[name] = value.strip()
    return found


def _toml(file: Path, content: bytes) -> dict[str, Any]:
    words = "it is not UTF-8"
    try:
        return tomllib.loads(content.decode())
    except tomllib.TOMLDecodeError as exc:
        place = re.search(r"\(at ([a-z0-9, ]+)\)$", str(exc))
        words = f"it is not TOML (at {place[1]})" if place else "it is not TOML"
    except UnicodeDecodeError:
        pass
    # Outside of the handlers: the errors hold what was read.
    raise CommandFailed(f'the secrets file {file}: {words}; a line reads GATEWAY_API_KEY = "..."', status=2)


def _ask(prompt: str, default: str | None = None) -> str:
    answer: str = typer.prompt(prompt, default=default, show_default=False, hide_input=True, err=True)
    return answer.strip()
