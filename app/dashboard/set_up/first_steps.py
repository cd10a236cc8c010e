"""What is left to do after the installation, as commands for a terminal on the server where the app runs."""

import re
import shlex
from dataclasses import dataclass

from app.dashboard.translation import marked

# Nothing that a shell could take for anything but an address: these words end up in somebody's terminal.
_SALEOR_API_URL = re.compile(r"https?://[A-Za-z0-9][A-Za-z0-9.-]*(?::[0-9]{1,5})?/graphql/")

SALEOR = "{saleor}"
"""Stands in a command where the address of the Saleor belongs whose Dashboard shows the page."""


@dataclass(frozen=True, slots=True)
class Step:
    """One thing to do: why (``%(gateways)s`` are those known by name), and the command that does it. In English."""

    title: str
    text: str
    command: str


FIRST_STEPS: tuple[Step, ...] = (
    Step(
        marked("Add your merchant account"),
        marked(
            "The point of sale and its keys, as the gateway's merchant portal shows them. The command asks for the "
            "keys, so that they stay out of your shell's history, and tries them out. A gateway is %(gateways)s; any "
            "other is named by --base-url instead."
        ),
        f"saleor-gateway accounts add --saleor {SALEOR} --gateway YOUR-GATEWAY --pos-id YOUR-POS-ID",
    ),
    Step(
        marked("Say which channels use it"),
        marked(
            "A channel without an account of its own is not offered the payment method. The account's id is what the "
            "first command says at its end."
        ),
        "saleor-gateway channels map YOUR-CHANNEL YOUR-ACCOUNT",
    ),
)


def addressed_to(saleor_api_url: str, steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """The steps with the Saleor's address filled in, or with a placeholder when the one given is not exactly that.

    Only ``http(s)://host[:port]/graphql/`` gets into a command that somebody will paste into a shell.
    """
    plain = _SALEOR_API_URL.fullmatch(saleor_api_url)
    address = shlex.quote(saleor_api_url) if plain else "YOUR-SALEOR-API-URL"
    return tuple(Step(step.title, step.text, step.command.replace(SALEOR, address)) for step in steps)
