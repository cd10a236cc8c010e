"""``doctor``: checks everything that the app depends on. It works where nothing else does."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby, zip_longest
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from app.bootstrap import open_deployment, open_services
from app.commands.finders import find_installation
from app.commands.interruption import run_until_interrupted
from app.commands.progress_bar import Stage, show_progress
from app.commands.terminal import AsJson, grid, plain, print_line, show, show_json
from app.ops.doctor.checks import (
    Check,
    checks_of_service,
    checks_of_storage,
    checks_of_store,
    find_installations,
    run_checks,
)
from app.ops.doctor.deployment import Deployment
from app.ops.doctor.findings import TITLES, Finding, Level
from app.saleor_app import create_saleor_app
from app.services import Services
from app.settings import Settings, read_settings
from app.store.installations import OpenInstallation

_STYLES = {Level.FINE: "green", Level.WARNING: "yellow", Level.ERROR: "bold red"}


@dataclass
class _Examination:
    """The findings so far, of the service (None) and of each Saleor; and the numbers of completed and known checks."""

    found: list[tuple[str | None, Finding]] = field(default_factory=list)
    completed: int = 0
    known: int = 0

    async def run_checks(self, saleor: str | None, checks: Sequence[Check]) -> list[Finding]:
        self.known += len(checks)
        findings = await run_checks(checks, done=self._count_done)
        self.add(saleor, findings)
        return findings

    def add(self, saleor: str | None, findings: Sequence[Finding]) -> None:
        self.found += [(saleor, finding) for finding in findings]

    def _count_done(self) -> None:
        self.completed += 1


def doctor(
    saleor: Annotated[
        str | None, typer.Option(metavar="URL", help="Only the store at this Saleor API URL; all stores by default.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check everything that the app depends on.

    Nothing is changed and no money moves. The exit status is 1 if something does not work; warnings leave it at 0.
    """
    found = run_until_interrupted(_examine(read_settings(), saleor), then="run it again; nothing is changed by it")
    if as_json:
        show_json([_to_json(saleor, finding) for saleor, finding in found])
    else:
        _print_findings(found)
    if any(finding.level is Level.ERROR for _, finding in found):
        raise typer.Exit(1)


async def _examine(settings: Settings, saleor: str | None) -> list[tuple[str | None, Finding]]:
    examination = _Examination()
    stage = lambda: Stage("Checking", examination.completed, examination.known)  # noqa: E731 - it is called repeatedly
    async with show_progress(stage), open_deployment(settings) as deployment:
        storage = await examination.run_checks(None, checks_of_storage(deployment))
        if any(check.level is Level.ERROR for check in storage):
            await examination.run_checks(None, checks_of_service(deployment, None, ()))
        else:
            async with open_services(settings) as services:
                await _examine_all(examination, settings, deployment, services, saleor)
    return examination.found


async def _examine_all(
    examination: _Examination, settings: Settings, deployment: Deployment, services: Services, saleor: str | None
) -> None:
    stores, findings = await find_installations(services, deployment.base_url)
    examination.add(None, findings)
    if saleor is not None and stores:
        stores = [await find_installation(services, saleor)]
    service = checks_of_service(deployment, services, [store.saleor_api_url for store in stores])
    manifest_for = create_saleor_app(settings, services, deployment.saleor_http, deployment.saleor).manifest
    checks = [(store, await checks_of_store(deployment, services, store, manifest_for)) for store in stores]
    examined = [
        examination.run_checks(None, service),
        *(_examine_store(examination, store, store_checks) for store, store_checks in checks),
    ]
    await asyncio.gather(*examined)


async def _examine_store(examination: _Examination, store: OpenInstallation, checks: Sequence[Check]) -> None:
    await examination.run_checks(store.saleor_api_url, checks)


def _print_findings(found: Sequence[tuple[str | None, Finding]]) -> None:
    in_order = sorted(found, key=lambda pair: pair[0] or "")
    for saleor, findings in groupby(in_order, key=lambda pair: pair[0]):
        print_line(saleor or "The app", "bold")
        show(_table([finding for _, finding in findings]))
        print_line("")
    errors, warnings = (sum(finding.level is level for _, finding in found) for level in (Level.ERROR, Level.WARNING))
    if errors or warnings:
        print_line(f"errors: {errors}, warnings: {warnings}", _STYLES[Level.ERROR if errors else Level.WARNING])
    else:
        print_line("Everything is fine.", _STYLES[Level.FINE])


def _table(findings: Sequence[Finding]) -> Table:
    lines = grid(fixed=1, columns=3)
    lines.columns[1].max_width = 22
    for finding, following in zip_longest(findings, findings[1:]):
        title = TITLES[finding.subject] + (f" {finding.about}" if finding.about else "")
        message = Text(_capitalize(plain(finding.what)))
        # A remedy for several findings is printed once, below the last of them.
        remedy = None if following and following.remedy == finding.remedy else finding.remedy
        for more, style in ((finding.detail, "dim"), (remedy, "bold")):
            if more:
                message.append(f"\n{_capitalize(plain(more))}", style)
        lines.add_row(Text(f"  {finding.level}", _STYLES[finding.level]), Text(plain(title)), message)
    return lines


def _capitalize(text: str) -> str:
    """Return the text with a capital first letter, unless it begins with an address."""
    return text if "://" in text.partition(" ")[0] else text[:1].upper() + text[1:]


def _to_json(saleor: str | None, each: Finding) -> dict[str, object]:
    return {
        "saleor": saleor,
        "check": each.subject.value,
        "about": each.about,
        "level": each.level.value,
        "what": each.what,
        "to_do": each.remedy,
        "detail": each.detail,
    }
