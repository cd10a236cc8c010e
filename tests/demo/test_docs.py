"""The page about the sandbox says all there is, and nothing that is not."""

import re
from collections.abc import Callable
from typing import get_args

import pytest
import typer
from fastapi.routing import APIRoute

from app.demo.command import demo
from gateway_client.sandbox.command import sandbox
from gateway_client.sandbox.control.routes import router
from gateway_client.sandbox.core.cards import AMOUNT_ENDINGS, SECONDARY_ENDINGS, code_of_card
from gateway_client.sandbox.scripting import FaultRule, WebhookRule
from gateway_client.sandbox.settings import DEFAULT_PORT, Behaviour, PointOfSale
from integration_base_tests.places import REPOSITORY

PAGE = (REPOSITORY / "docs" / "sandbox.md").read_text(encoding="utf-8")
STANDARD = PointOfSale()


def test_the_standard_credentials() -> None:
    for value in (
        str(STANDARD.pos_id),
        STANDARD.api_key,
        STANDARD.api_secret.get_secret_value(),
        STANDARD.endpoints_key.get_secret_value(),
        f"http://127.0.0.1:{DEFAULT_PORT}",
    ):
        assert f"`{value}`" in PAGE


def test_every_option() -> None:
    for name in Behaviour.model_fields:
        assert f"`{name}`" in PAGE


def test_every_option_of_both_commands() -> None:
    documented = {name.removeprefix("no-") for name in re.findall(r"`--([a-z-]+)", PAGE)}
    assert documented == options_of(sandbox) | options_of(demo)


def options_of(command: Callable[..., None]) -> set[str]:
    """Return the long names of a command's options, as a person types them."""
    cli = typer.Typer(add_completion=False)
    cli.command()(command)
    names = (name for parameter in typer.main.get_command(cli).params for name in parameter.opts)
    return {name.removeprefix("--").removeprefix("no-") for name in names}


def test_every_control_endpoint() -> None:
    documented = set(re.findall(r"`([A-Z]+ /_sandbox/[^`]+)`", PAGE))
    routes = [route for route in router.routes if isinstance(route, APIRoute)]
    # An order's id may have slashes in it, for which its place in the path is marked.
    paths = {f"{method} {route.path.replace(':path}', '}')}" for route in routes for method in route.methods or ()}
    assert documented == paths


@pytest.mark.parametrize("model", [FaultRule, WebhookRule])
def test_every_field_of_a_rule(model: type[FaultRule | WebhookRule]) -> None:
    for name in model.model_fields.keys() - {"rule_id"}:
        assert f"`{name}`" in PAGE
    for effect in get_args(model.model_fields["effect"].annotation):
        assert f"`{effect}`" in PAGE


def test_the_test_cards_end_as_the_page_says() -> None:
    cards = re.findall(r"`((?:\d{4} ){3}\d{4})`", PAGE)
    assert len(cards) > 15
    for card in cards:
        number = card.replace(" ", "")
        expected = number[8:12] if number.startswith("40000000") else "1000"
        assert code_of_card(number) == expected


def test_the_cents() -> None:
    rows = re.findall(r"^\| (`\.[^|]+) \|([^|]+)\|([^|]*)\|$", PAGE, re.MULTILINE)
    cents = {ending: row for row in rows for ending in re.findall(r"`\.(\d\d)`", row[0])}
    assert cents.keys() == AMOUNT_ENDINGS.keys()
    assert {ending for ending, row in cents.items() if row[2].strip()} == SECONDARY_ENDINGS.keys()
