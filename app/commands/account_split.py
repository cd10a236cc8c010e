"""``accounts split``: among whom an account's payments are split, and what that means."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from app.commands import account_flags as flags
from app.commands.failure import CommandFailed
from app.commands.finding import find_account
from app.commands.opening import with_services
from app.commands.terminal import AsJson, complain, fact, fact_sheet, plain, say, show, show_json, table
from app.db.tables import MerchantAccount
from app.payments.services import Services
from app.payments.split.example import Example, worked_example
from app.payments.split.rules import LONGEST, RulesError, SplitMode, SplitRules, read_rules, rules_in

_WHO = {"default": "the default sub-merchant", "lines": "by the lines, in proportion"}


def split(
    account: flags.Account,
    *,
    split_rules: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Split payments by the rules in this TOML or JSON file.")
    ] = None,
    off: Annotated[
        bool, typer.Option("--off", help="Split no payments any more. Those made are finished as begun.")
    ] = (False),
    example: Annotated[bool, typer.Option("--example", help="Work out a payment by the rules.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only check the file, and change nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show by which rules an account's payments are split, or change them.

    Rules from a file are checked, kept, and shown with an example.
    """
    if split_rules is not None and off:
        raise CommandFailed("give either --split-rules or --off", status=2)
    given = SplitRules() if off else None if split_rules is None else _from_file(split_rules)

    async def keep(services: Services) -> MerchantAccount:
        row = await find_account(services, account)
        if given is None or dry_run:
            return row
        return await services.accounts.change(row.id, split_rules=given.model_dump(mode="json") if given.on else None)

    row = with_services(keep)
    rules = given or _kept(row)
    worked = worked_example(rules, row.currencies[0] if row.currencies else "UAH")
    if as_json:
        show_json({"account": row.id, "rules": rules.model_dump(mode="json"), "example": _to_json(worked)})
        return
    if given is not None:
        say("The rules are right; nothing was changed." if dry_run else "The account is changed.", "bold")
    show(_facts(row, rules))
    if rules.on and (example or given is not None):
        show()
        _tell(worked, rules)


def _from_file(path: Path) -> SplitRules:
    """Return the rules in a file. Raises CommandFailed after each reason was told."""
    try:
        with path.open("rb") as file:
            text = file.read(LONGEST).decode()
    except OSError as error:
        raise CommandFailed(f"the split rules {path} cannot be read: {error.strerror}", status=2) from error
    except UnicodeDecodeError as error:
        raise CommandFailed(f"the split rules {path} cannot be read: they are not UTF-8", status=2) from error
    try:
        return rules_in(text, as_json=path.suffix.lower() == ".json")
    except RulesError as error:
        for reason in error.reasons[:-1]:
            complain(reason)
        raise CommandFailed(error.reasons[-1], status=2) from error


def _kept(row: MerchantAccount) -> SplitRules:
    try:
        return read_rules(row.split_rules)
    except RulesError as error:
        raise CommandFailed(f"the rules that are kept are not right any more: {error}") from error


def _facts(row: MerchantAccount, rules: SplitRules) -> Table:
    facts = fact_sheet()
    fact(facts, "account", f"{row.name} ({row.id})", "bold")
    match rules.mode:
        case SplitMode.OFF:
            fact(facts, "payments", "are not split")
            return facts
        case SplitMode.METADATA:
            fact(
                facts, "payments", f"are split by the metadata {rules.metadata_key!r} of variant, product, product type"
            )
            fact(facts, "a line without it", _name(rules, rules.default) if rules.default else "is refused")
            fact(facts, "shipping", _WHO.get(rules.shipping) or _name(rules, rules.shipping))
            discounts = "whoever sells the line" if rules.discounts == "lines" else _WHO["default"]
            fact(facts, "discounts are borne by", discounts)
            fact(
                facts, "gift cards pay", "everybody's part" if rules.gift_cards == "lines" else "the default part first"
            )
        case SplitMode.PERCENTAGES:
            shares = ", ".join(f"{percent} % {_name(rules, who)}" for who, percent in rules.percentages.items())
            fact(facts, "payments", f"are split: {shares}")
    rounding = "whoever loses most by it" if rules.rounding == "largest_remainder" else _WHO["default"]
    fact(facts, "cents left over", rounding)
    for who, name in rules.names.items():
        fact(facts, name, who)
    return facts


def _name(rules: SplitRules, who: str) -> str:
    name = rules.name_of(who)
    return name if name == who else f"{name} ({who})"


def _tell(worked: Example, rules: SplitRules) -> None:
    say("For example, a shopper buys:", "bold")
    for words in worked.bought:
        say(f"  {words}")
    say("")
    everybody = sorted({who for step in worked.steps for who in step.shares}, key=rules.name_of)
    shown = table("", *(plain(rules.name_of(who)) for who in everybody), "Together")
    for column in shown.columns[1:]:
        column.justify = "right"
    for step in worked.steps:
        shown.add_row(step.words, *(str(step.shares.get(who, "")) for who in everybody), str(step.amount))
    show(shown)


def _to_json(worked: Example) -> dict[str, object]:
    steps = [{"words": step.words, "amount": step.amount, "shares": step.shares} for step in worked.steps]
    return {"bought": list(worked.bought), "steps": steps}
