"""``card-keys``: the keys for which storefronts encrypt cards."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

import typer
from rich.text import Text

from app.commands.opening import at_desk
from app.commands.terminal import AsJson, moment, say, show, show_json, table
from app.ledger.tables import CardKey
from app.payments.cards.keys import GRACE, OFFERED_FOR, outdated_among
from app.payments.cards.keys import rotate as rotated
from app.payments.desk import Desk

commands = typer.Typer(help="The keys for which storefronts encrypt cards.", no_args_is_help=True)

_NONE = (
    "There is no card key yet: the first is made when a storefront asks how to pay with an account that takes cards."
)


@commands.command("list")
def show_keys(as_json: AsJson = False) -> None:
    """Show the card keys, which of them is offered, and until when."""

    async def read(desk: Desk) -> tuple[Sequence[CardKey], datetime]:
        return await desk.card_keys.all(), desk.now()

    keys, now = at_desk(read)
    ends = _ends(keys)
    outdated = outdated_among(keys, now)
    words = ["offered" if key is keys[0] else "deleted soon" if key.kid in outdated else "opens" for key in keys]
    if as_json:
        shown = zip(keys, words, ends, strict=True)
        show_json([_to_json(key, word, end) for key, word, end in shown])
        return
    if not keys:
        say(_NONE)
        return
    rows = table("Key", "State", "Until (UTC)")
    for key, word, end in zip(keys, words, ends, strict=True):
        rows.add_row(key.kid, Text(word, "green" if word == "offered" else "dim"), f"{end:%Y-%m-%d %H:%M}")
    show(rows)


@commands.command("rotate")
def rotate(
    forget_old: Annotated[
        bool,
        typer.Option(
            "--forget-old",
            help="Delete the older keys at once: somebody else may have them. What shoppers have encrypted by now is "
            "refused, and their storefront encrypts again.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Make a new card key and offer it from now on."""

    async def work(desk: Desk) -> CardKey:
        return await rotated(desk.card_keys, desk.now(), forget_old=forget_old)

    key = at_desk(work)
    if as_json:
        show_json(_to_json(key, "offered", key.created_at + OFFERED_FOR))
        return
    say(f"Storefronts are offered the key {key.kid} from now on.")
    say("Older keys are deleted." if forget_old else "Older keys open for one more day.")


def _ends(newest_first: Sequence[CardKey]) -> list[datetime]:
    """Return until when each is offered, the newest, or opens, the others."""
    made = [key.created_at for key in newest_first]
    return [each + (GRACE if number else OFFERED_FOR) for number, each in enumerate([*made[:1], *made[:-1]])]


def _to_json(key: CardKey, state: str, until: datetime) -> dict[str, object]:
    return {"kid": key.kid, "state": state, "made": moment(key.created_at), "until": moment(until)}
