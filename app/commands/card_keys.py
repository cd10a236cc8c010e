"""``card-keys``: the keys for which storefronts encrypt cards; each store has its own."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

import typer
from rich.text import Text

from app.commands.finders import find_installation
from app.commands.services import with_services
from app.commands.terminal import AsJson, moment, plain, print_line, show, show_json, table
from app.flows.card_keys import OFFERED_FOR, outdated_key_ids
from app.flows.card_keys import rotate as rotate_key
from app.rules.cards.key_pair import GRACE
from app.services import Services
from app.store.tables import CardKey

Saleor = Annotated[
    str | None,
    typer.Option("--saleor", metavar="URL", help="The store's Saleor API URL, if several have installed the app."),
]

_NONE = (
    "There is no card key yet: the first is created when a storefront asks how to pay with an account that takes cards."
)


def show_keys(as_json: AsJson = False) -> None:
    """Show the card keys of all stores: which one is offered, and until when."""

    async def read(services: Services) -> tuple[list[tuple[str, Sequence[CardKey]]], datetime]:
        stores = await services.installations.all()
        return [
            (store.saleor_api_url, await services.card_keys.for_store(store.id).all()) for store in stores
        ], services.now()

    stores, now = with_services(read)
    found = [(saleor, *row) for saleor, keys in stores for row in _states(keys, now)]
    if as_json:
        show_json([_to_json(saleor, key, word, end) for saleor, key, word, end in found])
        return
    if not found:
        print_line(_NONE)
        return
    rows = table("Key", "State", "Until (UTC)")
    for saleor, key, word, end in found:
        state = Text(word, "green" if word == "offered" else "dim")
        rows.add_row(Text.assemble(key.kid, ("\n" + plain(saleor), "dim")), state, f"{end:%Y-%m-%d %H:%M}")
    show(rows)


def _states(newest_first: Sequence[CardKey], now: datetime) -> list[tuple[CardKey, str, datetime]]:
    """Return each of a store's keys with its state and the end of that state."""
    outdated = outdated_key_ids(newest_first, now)
    states = ["deleted soon" if key.kid in outdated else "opens" for key in newest_first]
    return (
        list(zip(newest_first, ["offered", *states[1:]], _expiry_times(newest_first), strict=True))
        if newest_first
        else []
    )


def rotate(
    *,
    saleor: Saleor = None,
    forget_old: Annotated[
        bool,
        typer.Option(
            "--forget-old",
            help="Delete the older keys at once, because they may have leaked. Cards that shoppers have already "
            "encrypted with them are refused, and their storefront encrypts them again.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Create a new card key for a store and offer it from now on."""

    async def do(services: Services) -> tuple[str, CardKey]:
        store = await find_installation(services, saleor)
        return store.saleor_api_url, await rotate_key(
            services.card_keys.for_store(store.id), services.now(), delete_old=forget_old
        )

    address, key = with_services(do)
    if as_json:
        show_json(_to_json(address, key, "offered", key.created_at + OFFERED_FOR))
        return
    print_line(f"From now on, storefronts of {address} are offered the key {key.kid}.")
    print_line("Older keys were deleted." if forget_old else "Older keys decrypt for one more day.")


def _expiry_times(newest_first: Sequence[CardKey]) -> list[datetime]:
    """Return the time until which the newest key is offered, and until which each of the others opens."""
    created = [key.created_at for key in newest_first]
    return [moment + (GRACE if number else OFFERED_FOR) for number, moment in enumerate([*created[:1], *created[:-1]])]


def _to_json(saleor: str, key: CardKey, state: str, until: datetime) -> dict[str, object]:
    return {"saleor": saleor, "kid": key.kid, "state": state, "made": moment(key.created_at), "until": moment(until)}
