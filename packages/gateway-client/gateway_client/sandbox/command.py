"""The command that starts a sandbox: `gateway-sandbox`, or `python -m gateway_client.sandbox`."""

from datetime import timedelta
from math import isnan
from pathlib import Path
from typing import Annotated, Literal
from uuid import UUID

import typer
from pydantic import SecretStr
from rich.console import Console
from rich.table import Table

from gateway_client.sandbox.sandbox import StateFileError
from gateway_client.sandbox.server import PortNotFreeError, serve
from gateway_client.sandbox.settings import DEFAULT_PORT, DIALECTS, Behaviour, PointOfSale, SandboxSettings

_STANDARD = PointOfSale()
_LONGEST = timedelta(days=36_500).total_seconds()


def sandbox(  # noqa: PLR0917 - typer makes an option of each
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 finds a free one.")] = DEFAULT_PORT,
    public_url: Annotated[str | None, typer.Option(help="What links to the sandbox begin with.")] = None,
    seed: Annotated[str | None, typer.Option(help="The same seed gives the same identifiers.")] = None,
    state: Annotated[Path | None, typer.Option(help="File that keeps the state over a restart.")] = None,
    allow_remote_webhooks: Annotated[
        bool, typer.Option("--allow-remote-webhooks", help="Send webhooks to other machines too.")
    ] = False,
    scheme_word: Annotated[str, typer.Option(help="First word of X-API-AUTH.")] = "CPAY",
    pos_id: Annotated[list[UUID] | None, typer.Option(help="A point of sale; may be repeated.")] = None,
    api_key: Annotated[str, typer.Option(help="API key.")] = _STANDARD.api_key,
    api_secret: Annotated[
        str, typer.Option(envvar="SANDBOX_API_SECRET", help="API secret.", show_default=False)
    ] = _STANDARD.api_secret.get_secret_value(),
    endpoints_key: Annotated[
        str, typer.Option(envvar="SANDBOX_ENDPOINTS_KEY", help="Endpoints key.", show_default=False)
    ] = _STANDARD.endpoints_key.get_secret_value(),
    dialect: Annotated[
        Literal["interface", "public"],
        typer.Option(help="What it does where the interface leaves it open: nothing else, or what is publicly known."),
    ] = "public",
    amount_endings: Annotated[bool, typer.Option(help="Whether cents choose the outcome.")] = True,
    settle_after: Annotated[
        float, typer.Option(min=0, max=_LONGEST, help="Seconds until a slow bank says yes.")
    ] = 30.0,
    lifetime: Annotated[
        float, typer.Option(min=0, max=_LONGEST, help="Seconds a payment page lives by default.")
    ] = 3600.0,
) -> None:
    """Start a gateway of your own: no account, no money, nothing leaves this machine."""
    behaviour = Behaviour.model_validate(DIALECTS[dialect]).model_copy(
        update={
            "amount_endings": amount_endings,
            "settle_after": _duration("--settle-after", settle_after),
            "lifetime": _duration("--lifetime", lifetime),
        }
    )
    points_of_sale = tuple(
        PointOfSale(
            pos_id=identifier,
            name=_STANDARD.name if number == 1 else f"{_STANDARD.name} {number}",
            api_key=api_key,
            api_secret=SecretStr(api_secret),
            endpoints_key=SecretStr(endpoints_key),
            behaviour=behaviour,
        )
        for number, identifier in enumerate(pos_id or [_STANDARD.pos_id], start=1)
    )
    settings = SandboxSettings(
        host=host,
        port=port,
        public_url=public_url,
        scheme_word=scheme_word,
        points_of_sale=points_of_sale,
        seed=seed,
        state=state,
        allow_remote_webhooks=allow_remote_webhooks,
    )
    try:
        serve(settings, lambda address: _announce(address, settings))
    except PortNotFreeError as exc:
        raise typer.BadParameter(str(exc), param_hint=f"--{exc.setting}") from exc
    except StateFileError as exc:
        raise typer.BadParameter(str(exc), param_hint="--state") from exc


def _duration(option: str, seconds: float) -> timedelta:
    """Return the duration that an option gives. Raises BadParameter for "nan", which is in every range."""
    if isnan(seconds):
        raise typer.BadParameter("it is not a number", param_hint=option)
    return timedelta(seconds=seconds)


def _announce(address: str, settings: SandboxSettings) -> None:
    console = Console()
    # The first line is for programs: a test that started us with port 0 reads the address from it.
    console.print(f"Sandbox gateway on {address}", highlight=False, soft_wrap=True)
    for pos in settings.points_of_sale:
        table = Table(title=pos.name, title_justify="left", show_header=False)
        table.add_row("pos_id", str(pos.pos_id))
        table.add_row("API key", pos.api_key)
        standard = pos.api_secret == _STANDARD.api_secret
        table.add_row("API secret", pos.api_secret.get_secret_value() if standard else "as you set it")
        standard = pos.endpoints_key == _STANDARD.endpoints_key
        table.add_row("Endpoints key", pos.endpoints_key.get_secret_value() if standard else "as you set it")
        console.print(table)
    console.print(f"Payments and webhooks: {address}/   Test cards: on every payment page", soft_wrap=True)


def main() -> None:
    """Start a sandbox with the options of the command line."""
    typer.run(sandbox)
