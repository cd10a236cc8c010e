"""Reads an account's secrets for commands: from a file, the environment, or a prompt that does not echo.

They are never arguments, which appear in the shell's history and in the process list. All come from one source, so that
a key that was left in the environment for another account is not used by mistake. Nothing here prints a secret.
"""

import os
import re
import stat
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from app.commands.failure import CommandFailed
from app.commands.terminal import print_warning, require_interactive
from app.store.accounts import AccountKeys

NAMES: Mapping[str, str] = {
    "api_key": "GATEWAY_API_KEY",
    "api_secret": "GATEWAY_API_SECRET",
    "endpoints_key": "GATEWAY_ENDPOINTS_KEY",
}
"""The name of each secret in a file and in the environment."""

_PROMPTS = {"api_key": "API key", "api_secret": "API secret", "endpoints_key": "Endpoints key"}

_ALTERNATIVES = f"set {', '.join(NAMES.values())}, or use --secrets-file"

SecretsFile = Annotated[
    Path | None,
    typer.Option(metavar="FILE", allow_dash=True, help="Read the secrets from this TOML file; - is standard input."),
]
_STANDARD_INPUT = Path("-")


def read_keys(file: Path | None) -> AccountKeys:
    """Return all three secrets. Raises CommandFailed."""
    given, source = _read_noninteractive(file)
    if given is None:
        require_interactive(_ALTERNATIVES)
        given = {name: _prompt(prompt) for name, prompt in _PROMPTS.items()}
    missing = [NAMES[name] for name in NAMES if name not in given]
    if missing:
        raise CommandFailed(
            f"{source} has no {' and no '.join(missing)}: give all three secrets in one place", status=2
        )
    return AccountKeys(**given)


def read_all_keys(file: Path | None) -> dict[str, str]:
    """Return all three secrets by their field in ``AccountKeys``, for another address. Raises CommandFailed."""
    keys = read_keys(file)
    return {name: getattr(keys, name) for name in NAMES}


def read_new_keys(file: Path | None) -> dict[str, str]:
    """Return the secrets to replace, by their field in ``AccountKeys``. Raises CommandFailed."""
    given, _ = _read_noninteractive(file)
    if given is None:
        require_interactive(_ALTERNATIVES)
        answers = {
            name: _prompt(f"New {prompt} (Enter keeps the current one)", "") for name, prompt in _PROMPTS.items()
        }
        given = {name: answer for name, answer in answers.items() if answer}
    if not given:
        raise CommandFailed("no new secret was given: nothing was changed", status=2)
    return given


def _read_noninteractive(file: Path | None) -> tuple[dict[str, str] | None, str]:
    """Return the secrets that are available without a prompt, and their source; None when a prompt is needed."""
    if file is not None:
        return _read_file(file), f"the secrets file {file}"
    found = {name: value for name, variable in NAMES.items() if (value := os.environ.get(variable, "").strip())}
    return found or None, "the environment"


def _read_file(file: Path) -> dict[str, str]:
    members = _parse_toml(file, sys.stdin.buffer.read() if file == _STANDARD_INPUT else _content_of(file))
    if set(members) - set(NAMES.values()):
        # Do not repeat the unknown name: a secret may have been put where its name belongs.
        raise CommandFailed(f"the secrets file {file} may only contain {', '.join(NAMES.values())}", status=2)
    found = {}
    for name, variable in NAMES.items():
        value = members.get(variable)
        if value is not None:
            if not isinstance(value, str) or not value.strip():
                raise CommandFailed(f"the secrets file {file}: {variable} must be text in quotes", status=2)
            found[name] = value.strip()
    return found


def _content_of(file: Path) -> bytes:
    try:
        with file.open("rb") as opened:
            mode = os.fstat(opened.fileno()).st_mode
            content = opened.read()
    except OSError as exc:
        raise CommandFailed(f"the secrets file {file} cannot be read: {exc.strerror}", status=2) from exc
    if stat.S_ISREG(mode) and mode & (stat.S_IRGRP | stat.S_IROTH):
        print_warning(f"other users of this machine can read {file}: run chmod 600 {file}")
    return content


def _parse_toml(file: Path, content: bytes) -> dict[str, Any]:
    reason = "it is not UTF-8"
    try:
        return tomllib.loads(content.decode())
    except tomllib.TOMLDecodeError as exc:
        source = re.search(r"\(at ([a-z0-9, ]+)\)$", str(exc))
        reason = f"it is not TOML (at {source[1]})" if source else "it is not TOML"
    except UnicodeDecodeError:
        pass
    # Raised outside of the handlers, because the original errors contain the file's content.
    raise CommandFailed(f'the secrets file {file}: {reason}; write lines like GATEWAY_API_KEY = "..."', status=2)


def _prompt(prompt: str, default: str | None = None) -> str:
    answer: str = typer.prompt(prompt, default=default, show_default=False, hide_input=True, err=True)
    return answer.strip()
