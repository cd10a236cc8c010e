"""``accounts split``: the rules by which an account's payments are split, with a worked example."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from app.commands import account_flags as flags
from app.commands.failure import CommandFailed
from app.commands.finders import find_account
from app.commands.messages import figure_text
from app.commands.services import with_services
from app.commands.terminal import AsJson, add_fact, fact_sheet, plain, print_error, print_line, show, show_json, table
from app.rules.split.example import Example, Step, worked_example
from app.rules.split.rules import MAX_CHARACTERS, RulesError, SplitMode, SplitRules, parse_rules, read_rules
from app.services import Services
from app.store.tables import MerchantAccount

_NAMES = {"default": "the default sub-merchant", "lines": "by the lines, in proportion"}


def split(
    account: flags.Account,
    *,
    split_rules: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Split payments by the rules in this TOML or JSON file.")
    ] = None,
    off: Annotated[
        bool,
        typer.Option("--off", help="Stop splitting payments. Existing payments are completed as they were started."),
    ] = (False),
    example: Annotated[bool, typer.Option("--example", help="Show an example payment, split by the rules.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only check the file; change nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show or change the rules that split an account's payments.

    Rules from a file are checked, saved, and shown with an example.
    """
    if split_rules is not None and off:
        raise CommandFailed("give either --split-rules or --off", status=2)
    given = SplitRules() if off else None if split_rules is None else _read_rules_file(split_rules)

    async def store(services: Services) -> MerchantAccount:
        row = await find_account(services, account)
        if given is None or dry_run:
            return row
        return await services.accounts.change(row.id, split_rules=given.model_dump(mode="json") if given.on else None)

    row = with_services(store)
    rules = given or _stored_rules(row)
    worked = worked_example(rules, row.currencies[0] if row.currencies else "UAH")
    if as_json:
        show_json({"account": row.id, "rules": rules.model_dump(mode="json"), "example": _to_json(worked)})
        return
    if given is not None:
        print_line("The rules are valid; nothing was changed." if dry_run else "The account was updated.", "bold")
    show(_facts(row, rules))
    if rules.on and (example or given is not None):
        show()
        _print_example(worked, rules)


def _read_rules_file(path: Path) -> SplitRules:
    """Return the rules in a file. Raises CommandFailed with the last reason, after printing the others."""
    try:
        with path.open("rb") as file:
            text = file.read(MAX_CHARACTERS).decode()
    except OSError as error:
        raise CommandFailed(f"the split rules {path} cannot be read: {error.strerror}", status=2) from error
    except UnicodeDecodeError as error:
        raise CommandFailed(f"the split rules {path} cannot be read: they are not UTF-8", status=2) from error
    try:
        return parse_rules(text, as_json=path.suffix.lower() == ".json")
    except RulesError as error:
        for reason in error.reasons[:-1]:
            print_error(reason)
        raise CommandFailed(error.reasons[-1], status=2) from error


def _stored_rules(row: MerchantAccount) -> SplitRules:
    try:
        return read_rules(row.split_rules)
    except RulesError as error:
        raise CommandFailed(f"the saved rules are no longer valid: {error}") from error


def _facts(row: MerchantAccount, rules: SplitRules) -> Table:
    facts = fact_sheet()
    add_fact(facts, "account", f"{row.name} ({row.id})", "bold")
    match rules.mode:
        case SplitMode.OFF:
            add_fact(facts, "payments", "are not split")
            return facts
        case SplitMode.METADATA:
            add_fact(
                facts,
                "payments",
                f"are split by the metadata {rules.metadata_key!r} of the variant, product or product type",
            )
            add_fact(facts, "a line without it", _name(rules, rules.default) if rules.default else "is refused")
            add_fact(facts, "shipping", _NAMES.get(rules.shipping) or _name(rules, rules.shipping))
            discounts = "the seller of the line" if rules.discounts == "lines" else _NAMES["default"]
            add_fact(facts, "discounts are paid by", discounts)
            add_fact(
                facts, "gift cards cover", "all shares" if rules.gift_cards == "lines" else "the default share first"
            )
        case SplitMode.PERCENTAGES:
            shares = ", ".join(f"{percent} % {_name(rules, who)}" for who, percent in rules.percentages.items())
            add_fact(facts, "payments", f"are split: {shares}")
    rounding = "the share that loses most by rounding" if rules.rounding == "largest_remainder" else _NAMES["default"]
    add_fact(facts, "leftover cents", rounding)
    for who, name in rules.names.items():
        add_fact(facts, name, who)
    return facts


def _name(rules: SplitRules, who: str) -> str:
    name = rules.name_of(who)
    return name if name == who else f"{name} ({who})"


def _share(step: Step, sub_merchant: str, currency: str) -> str:
    share = step.shares.get(sub_merchant)
    return "" if share is None else figure_text(share, currency)


def _print_example(worked: Example, rules: SplitRules) -> None:
    print_line("For example, a shopper buys:", "bold")
    for line in worked.bought:
        print_line(f"  {line}")
    print_line("")
    sub_merchants = sorted({who for step in worked.steps for who in step.shares}, key=rules.name_of)
    columns = (*(plain(rules.name_of(who)) for who in sub_merchants), "Total")
    rows = table("", *columns, amounts=columns)
    for step in worked.steps:
        shares = (_share(step, who, worked.currency) for who in sub_merchants)
        rows.add_row(step.words, *shares, figure_text(step.amount, worked.currency))
    show(rows)


def _to_json(worked: Example) -> dict[str, object]:
    steps = [{"words": step.words, "amount": step.amount, "shares": step.shares} for step in worked.steps]
    return {"bought": list(worked.bought), "steps": steps}
