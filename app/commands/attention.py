"""``attention``: lists what needs a person, of one Saleor or of all. Its exit status can be monitored."""

from typing import Annotated

import typer

from app.commands.finders import find_installation
from app.commands.services import with_services
from app.commands.terminal import AsJson, add_fact, fact_sheet, moment, print_line, show, show_json
from app.reports.alerts.open_alerts import Alert, find_open_alerts
from app.reports.alerts.texts import ALERT_TEXTS, command_for
from app.services import Services
from app.store.installations import OpenInstallation


def attention(
    saleor: Annotated[
        str | None, typer.Option(metavar="URL", help="Only the store at this Saleor API URL.", show_default=False)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show what needs attention, and what to do about it. The exit status is 1 if there is anything."""

    async def read(services: Services) -> list[tuple[OpenInstallation, Alert]]:
        stores = await services.installations.all() if saleor is None else [await find_installation(services, saleor)]
        return [(store, item) for store in stores for item in await find_open_alerts(services, store)]

    found = with_services(read)
    if as_json:
        show_json([_to_json(store, item) for store, item in found])
    elif not found:
        print_line("Nothing needs attention.")
    else:
        for store, item in found:
            _print_item(store, item)
    if found:
        raise typer.Exit(1)


def _print_item(store: OpenInstallation, item: Alert) -> None:
    text = ALERT_TEXTS[item.what]
    print_line(text.title, "bold red")
    facts = fact_sheet()
    add_fact(facts, "store", store.saleor_api_url)
    if item.account is not None:
        add_fact(facts, "account", f"{item.account} ({item.account_id})")
    if item.since is not None:
        add_fact(facts, "how many", f"more than {item.count}" if item.more else str(item.count))
        add_fact(facts, "since", f"{item.since:%Y-%m-%d %H:%M} UTC")
    if item.detail is not None:
        add_fact(facts, "last error", item.detail)
    add_fact(facts, "means", text.meaning)
    add_fact(facts, "to do", text.remedy)
    show(facts)
    print_line(f"  {command_for(item)}", "dim")


def _to_json(store: OpenInstallation, item: Alert) -> dict[str, object]:
    text = ALERT_TEXTS[item.what]
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
        "title": text.title,
        "meaning": text.meaning,
        "remedy": text.remedy,
        "command": command_for(item),
    }
