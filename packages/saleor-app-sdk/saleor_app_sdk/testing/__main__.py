"""``python -m saleor_app_sdk.testing --port 8000``: a Saleor in a separate process."""

from pathlib import Path
from typing import Annotated

import typer
from pydantic import ValidationError

from integration_base.validation import error_message
from saleor_app_sdk.testing.server import serve_forever
from saleor_app_sdk.testing.settings import SaleorSettings


def main(
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free port, which is printed.")] = 8000,
    version: Annotated[str, typer.Option(help="The Saleor that it says to be.")] = "3.23.28",
    schema: Annotated[
        Path | None,
        typer.Option(exists=True, dir_okay=False, help="Saleor's GraphQL schema, to hold manifests against."),
    ] = None,
    read_timeout: Annotated[float, typer.Option(help="Seconds that an app may take to answer.")] = 18,
    delay_factor: Annotated[float, typer.Option(help="Multiplies the pauses between retries.")] = 1,
) -> None:
    """Serve a Saleor on loopback until interrupted."""
    try:
        settings = SaleorSettings(
            version=version, schema_path=schema, read_timeout=read_timeout, delay_factor=delay_factor
        )
    except ValidationError as exc:
        wrong = exc.errors(include_url=False)[0]
        option = str(wrong["loc"][0]).replace("_", "-")
        raise typer.BadParameter(error_message(wrong), param_hint=f"--{option}") from None
    try:
        serve_forever(settings, port=port)
    except OSError as exc:
        raise typer.BadParameter(f"cannot listen on port {port}: {exc.strerror}", param_hint="--port") from exc


if __name__ == "__main__":
    typer.run(main)
