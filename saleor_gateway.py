"""Where the command ``saleor-gateway`` begins: it makes sure that the packages it is going to import are its own.

``app`` and ``manifest`` are names that other projects use too, and installers overwrite files of the same name without
a word. A program that moves money must not run as a mixture of two. This module can say so because its own name is
taken by nobody else, and because it imports neither package before it has looked.
"""

import sys
from collections.abc import Iterator
from csv import reader
from importlib.metadata import Distribution, distributions
from importlib.util import find_spec
from pathlib import Path

_HOME = Path(__file__).resolve().parent
_DISTRIBUTIONS = ("saleor-gateway", "saleor-app-sdk", "gateway-client", "integration-base")
_PACKAGES = ("app", "manifest")
_REMEDY = "an environment of its own (python3 -m venv)"
_STATUS = 2  # as for settings that are wrong
_INTERRUPTED = 130  # as shells have it


def main() -> None:
    """Run a command, or say in one line on standard error why the installation cannot be used."""
    try:
        if fault := find_fault():
            sys.stderr.write(f"error: {fault}\n")
            sys.exit(_STATUS)
        from app.cli import main as run_command  # noqa: PLC0415 - only now is it known whose `app` this is
    except KeyboardInterrupt:
        sys.stderr.write("error: interrupted: nothing was done\n")
        sys.exit(_INTERRUPTED)

    run_command()


def find_fault() -> str | None:
    """Return what is wrong with the installation and what to do, in one sentence; None if nothing is."""
    for distribution in _DISTRIBUTIONS:
        for file, size in _installed_modules(distribution):
            path = _HOME / file
            if not path.is_file() or path.stat().st_size != size:
                happened = f"has been replaced{_by_others(file)}" if path.is_file() else "is missing"
                return f"{path} of {distribution} {happened}: install {distribution} again, in {_REMEDY}"
    for package in _PACKAGES:
        spec = find_spec(package)
        found = spec.origin if spec else None
        if found is None or Path(found).resolve() != _HOME / package / "__init__.py":
            place = found or "a folder without __init__.py"
            return (
                f"the package `{package}` that Python finds is not saleor-gateway's but {place}: "
                f"install saleor-gateway in {_REMEDY}, and run it without PYTHONPATH"
            )
    return None


def _installed_modules(distribution: str) -> Iterator[tuple[str, int]]:
    """Yield each module that a wheel has laid down beside this one, with its size; none in a checkout.

    The sizes of all modules are read in three milliseconds, their digests in twenty; no two modules of two projects
    are all of the same sizes and yet different.
    """
    for installed in distributions(name=distribution, path=[str(_HOME)]):
        for file, _digest, size in _record(installed):
            if file.endswith(".py") and size:
                yield file, int(size)


def _by_others(file: str) -> str:
    """Return which other distribution has installed a file of this name, as the end of a clause."""
    for installed in distributions(path=[str(_HOME)]):
        name = installed.metadata["Name"]
        if name not in _DISTRIBUTIONS and any(row[0] == file for row in _record(installed)):
            return f" by {name}"
    return ""


def _record(installed: Distribution) -> Iterator[list[str]]:
    """Yield the rows of the list of what a distribution has installed: file, digest, size."""
    return (row for row in reader((installed.read_text("RECORD") or "").splitlines()) if len(row) == 3)


if __name__ == "__main__":
    main()
