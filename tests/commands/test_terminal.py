"""What the terminal shows: never wider than it is, never what somebody else put in to play tricks with it."""

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st

from app.cli import cli
from app.commands.deferred import Deferred
from app.commands.terminal import plain
from app.core.vocabulary import Kind, State
from app.services import Services
from app.store.tables import MerchantAccount
from tests.commands.books import ORDER, event, notification, operation, store_payment
from tests.commands.conftest import Shell, add_account, install, one_database

LONG = "https://a-rather-long-name-of-a-shop.with-a-long-domain.example.com:8443/some/path/graphql/"
TRICK = "\x1b]0;owned\x07\x1b[2J[red]\u202eevil\nsecond line :smile:"


@pytest.mark.parametrize(
    "words",
    [
        ("installations", "list"),
        ("accounts", "list"),
        ("accounts", "check"),
        ("channels", "list"),
        ("payments", "list"),
        ("payments", "show", ORDER),
    ],
)
@one_database
async def test_what_is_long_or_meant_badly_stays_within_the_terminal(
    shell: Shell, services: Services, account: MerchantAccount, words: tuple[str, ...]
) -> None:
    other = await add_account(
        services, await install(services, LONG), name=("A name of which its staff are very proud " * 2)[:100],
        base_url="https://gateway-with-a-long-name.with-a-long-domain.example.com", currencies=["UAH", "EUR", "USD"],
    )  # fmt: skip
    await services.accounts.map_channel("a-channel-with-a-slug-that-is-too-long-for-any-table-of-this-size", other.id)
    await services.accounts.change(other.id, enabled=False)
    await services.accounts.map_channel("default-channel", account.id)
    await store_payment(
        services, account, [operation(message=TRICK * 5), operation(Kind.REFUND, State.FAILURE, message=TRICK)],
        [event(message=TRICK)], [notification({"status_description": TRICK})], problem=TRICK, order_number="1" * 60,
    )  # fmt: skip
    said = await shell(*words)

    assert said.status == 0, said.err
    # Single lines that people copy from are never broken.
    tables = [line for line in said.out.splitlines() if line != LONG and words != ("accounts", "check")]
    assert max(map(len, tables), default=0) <= 80, said.out
    assert not {"\x1b", "\x07", "\u202e", "…"} & set(said.out + said.err)
    if words[0] == "payment":
        assert "[red]" in said.out.replace("\n", "")
        assert ":smile:" in said.out.replace("\n", "") or words[1] == "list"


@pytest.mark.threat("hostile-text")
@given(st.text(max_size=80))
def test_text_from_outside_is_one_line_of_letters(text: str) -> None:
    shown = plain(text)
    assert "\n" not in shown
    assert shown.isprintable() or not text.isprintable()
    assert not any(ord(character) < 32 or 127 <= ord(character) < 160 for character in shown)


@one_database
async def test_what_is_wrong_with_arguments_is_one_line(shell: Shell, services: Services) -> None:
    (await shell("accounts", "add")).failed("Missing option '--pos-id'.", status=2)
    (await shell("accounts", "sett")).failed("No such command 'sett'. Did you mean 'set'?", status=2)
    (await shell("account")).failed("No such command 'account'.", status=2)
    (await shell("payments", "show")).failed("Missing argument", status=2)
    (await shell("channels", "list", "--yaml")).failed("No such option", status=2)
    (await shell("accounts", "add", "--api-secret", "secret-9be2")).failed("No such option: --api-secret", status=2)


@one_database
@pytest.mark.parametrize(
    "words",
    [
        ("events", "list", "--after"),
        ("events", "retry"),
        ("notifications", "list", "--after"),
        ("notifications", "replay"),
        ("reconcile", "history", "--before"),
        ("reconcile", "show"),
    ],
)
async def test_a_number_that_no_row_can_have_is_refused_in_one_line(
    shell: Shell, services: Services, words: tuple[str, ...]
) -> None:
    (await shell(*words, str(2**63))).failed("less than or equal to", status=2)


@one_database
async def test_a_list_of_payments_whose_period_ends_before_it_starts(shell: Shell, services: Services) -> None:
    period = ("--since", "2026-11-20", "--until", "2026-11-01")
    for more in ((), ("--json",), ("--csv",)):
        (await shell("payments", "list", *period, *more)).failed("the period ends before it starts", status=2)


@one_database
async def test_a_group_alone_shows_what_it_can(shell: Shell, services: Services) -> None:
    for group in ((), ("accounts",), ("channels",), ("installations",), ("payments",)):
        said = await shell(*group)
        assert (said.status, said.err) == (2, "")
        assert "Usage: saleor-gateway" in said.out
        assert max(map(len, said.out.splitlines())) <= 80


@pytest.mark.threat("other-users-of-the-machine")
def test_no_command_takes_a_secret_as_an_argument() -> None:
    found = _options(typer.main.get_command(cli), ())
    assert "--pos-id" in dict(found)["accounts", "add"]
    for path, options in found:
        if path[:1] in {("sandbox",), ("demo",)}:  # their keys are made up and open nothing
            continue
        for option in options:
            assert not {"key", "secret", "password", "token"} & set(option.strip("-").split("-")), path


def _options(command: object, path: tuple[str, ...]) -> list[tuple[tuple[str, ...], list[str]]]:
    """Return every command with its options. Typer has no public name for what it makes of a function."""
    loaded = command.load() if isinstance(command, Deferred) else command
    found = [
        (
            path,
            [name for parameter in getattr(loaded, "params", []) for name in parameter.opts if name.startswith("--")],
        )
    ]
    for name, inner in getattr(command, "commands", {}).items():
        found += _options(inner, (*path, name))
    return found
