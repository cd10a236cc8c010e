"""``attention``: what needs a person, of one Saleor or of all. Its exit status can be watched."""

from typing import Annotated

import typer

from app.commands.finding import find_installation
from app.commands.opening import with_services
from app.commands.terminal import AsJson, fact, fact_sheet, moment, say, show, show_json
from app.db.installations import OpenInstallation
from app.payments.alerts.items import Item, open_items
from app.payments.alerts.words import WORDS, command_for
from app.payments.services import Services


def attention(
    saleor: Annotated[str | None, typer.Option(metavar="URL", help="Only of that Saleor.", show_default=False)] = None,
    as_json: AsJson = False,
) -> None:
    """Show what needs a person, and what to do about it. The exit status is 1 if there is anything."""

    async def read(services: Services) -> list[tuple[OpenInstallation, Item]]:
        meant = await services.installations.all() if saleor is None else [await find_installation(services, saleor)]
        return [(store, item) for store in meant for item in await open_items(services, store)]

    found = with_services(read)
    if as_json:
        show_json([_to_json(store, item) for store, item in found])
    elif not found:
        say("Nothing needs a person.")
    else:
        for store, item in found:
            _show(store, item)
    if found:
        raise typer.Exit(1)


def _show(store: OpenInstallation, item: Item) -> None:
    words = WORDS[item.what]
    say(words.title, "bold red")
    aggregate = fact_sheet()
    fact(aggregate, "store", store.saleor_api_url)
    if item.account is not None:
        fact(aggregate, "account", f"{item.account} ({item.account_id})")
    if item.since is not None:
        fact(aggregate, "how many", f"more than {item.count}" if item.more else str(item.count))
        fact(aggregate, "since", f"{item.since:%Y-%m-%d %H:%M} UTC")
    if item.detail is not None:
        fact(aggregate, "last said", item.detail)
    fact(aggregate, "means", words.meaning)
    fact(aggregate, "to do", words.remedy)
    show(aggregate)
    say(f"  {command_for(item)}", "dim")


def _to_json(store: OpenInstallation, item: Item) -> dict[str, object]:
    words = WORDS[item.what]
    return {
        "saleor": store.saleor_api_url,
        "what": item.what.value,
        "key": item.key,
        "account": item.account_id,
        "account_name": item.account,
        "count": item.count,
        "more": item.more,
        "since": moment(item.since),
        "detail": item.detail,
        "title": words.title,
        "meaning": words.meaning,
        "remedy": words.remedy,
        "command": command_for(item),
    }
