"""``card-keys``: the keys for which storefronts encrypt cards; each store has its own."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

import typer
from rich.text import Text

from app.commands.finding import find_installation
from app.commands.opening import with_services
from app.commands.terminal import AsJson, moment, plain, say, show, show_json, table
from app.db.tables import CardKey
from app.payments.cards.keys import GRACE, OFFERED_FOR, outdated_among
from app.payments.cards.keys import rotate as rotated
from app.payments.services import Services

Saleor = Annotated[str | None, typer.Option("--saleor", metavar="URL", help="Of which Saleor, if several.")]

_NONE = (
    "There is no card key yet: the first is made when a storefront asks how to pay with an account that takes cards."
)


def show_keys(as_json: AsJson = False) -> None:
    """Show the card keys of all stores, which of them is offered, and until when."""

    async def read(services: Services) -> tuple[list[tuple[str, Sequence[CardKey]]], datetime]:
        stores = await services.installations.all()
        return [(each.saleor_api_url, await services.card_keys.of(each.id).all()) for each in stores], services.now()

    stores, now = with_services(read)
    found = [(saleor, *row) for saleor, keys in stores for row in _states(keys, now)]
    if as_json:
        show_json([_to_json(saleor, key, word, end) for saleor, key, word, end in found])
        return
    if not found:
        say(_NONE)
        return
    rows = table("Key", "State", "Until (UTC)")
    for saleor, key, word, end in found:
        state = Text(word, "green" if word == "offered" else "dim")
        rows.add_row(Text.assemble(key.kid, ("\n" + plain(saleor), "dim")), state, f"{end:%Y-%m-%d %H:%M}")
    show(rows)


def _states(newest_first: Sequence[CardKey], now: datetime) -> list[tuple[CardKey, str, datetime]]:
    """Return each of a store's keys with its state and until when that lasts."""
    outdated = outdated_among(newest_first, now)
    words = ["deleted soon" if key.kid in outdated else "opens" for key in newest_first]
    return list(zip(newest_first, ["offered", *words[1:]], _ends(newest_first), strict=True)) if newest_first else []


def rotate(
    *,
    saleor: Saleor = None,
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
    """Make a new card key for a store and offer it from now on."""

    async def work(services: Services) -> tuple[str, CardKey]:
        store = await find_installation(services, saleor)
        return store.saleor_api_url, await rotated(
            services.card_keys.of(store.id), services.now(), forget_old=forget_old
        )

    address, key = with_services(work)
    if as_json:
        show_json(_to_json(address, key, "offered", key.created_at + OFFERED_FOR))
        return
    say(f"Storefronts of {address} are offered the key {key.kid} from now on.")
    say("Older keys are deleted." if forget_old else "Older keys open for one more day.")


def _ends(newest_first: Sequence[CardKey]) -> list[datetime]:
    """Return until when each is offered, the newest, or opens, the others."""
    made = [key.created_at for key in newest_first]
    return [each + (GRACE if number else OFFERED_FOR) for number, each in enumerate([*made[:1], *made[:-1]])]


def _to_json(saleor: str, key: CardKey, state: str, until: datetime) -> dict[str, object]:
    return {"saleor": saleor, "kid": key.kid, "state": state, "made": moment(key.created_at), "until": moment(until)}
