"""The table in which staff enter who gets which part of a payment: its rows, and reading it back. Pure.

The other rules, which few stores need, are written as TOML; the table keeps them as they are.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from app.i18n.messages import LazyMessage, gettext_noop
from app.rules.split.rules import SplitMode, SplitRules, parse_sub_merchant, read_rules
from app.web.dashboard.set_up.forms import FormFields, text_of
from integration_base.typed_text import typed_number

MODES: Mapping[SplitMode, str] = {
    SplitMode.OFF: gettext_noop("Payments are not split"),
    SplitMode.METADATA: gettext_noop("Each product’s seller gets its price"),
    SplitMode.PERCENTAGES: gettext_noop("Everybody gets the same share of every payment"),
}
SPARE_ROWS = 2
"""Empty rows below the others, for a new seller; a row that is left empty, or is emptied, is none."""

_MOST_ROWS = 1000
_HUNDRED = Decimal(100)
_COLUMNS = ("name", "id", "share")

_NO_NAME = LazyMessage("Enter the seller’s name: name all sellers, or none.")
_NO_ID = LazyMessage("Copy the UUID from the gateway’s support, like 7d1f4c2b-0000-4000-8000-000000000001.")
_TWICE = LazyMessage("This seller is in the table twice.")
_NO_SHARE = LazyMessage("Enter a share above 0 and up to 100, like 12.5.")
_NO_REST = LazyMessage("Choose who gets what has no seller, for example shipping.")


class SplitTableError(Exception):
    """A table that describes no rules. ``fields``: messages by the names of its fields."""

    def __init__(self, fields: Mapping[str, LazyMessage]) -> None:
        super().__init__(", ".join(fields))
        self.fields = fields


@dataclass(frozen=True, slots=True)
class SellerRow:
    """A row of the table; ``rest``: this seller gets what has no other."""

    name: str = ""
    id: str = ""
    share: Decimal | None = None
    rest: bool = False


def seller_rows(rules: SplitRules) -> list[SellerRow]:
    """Return the rows that show these rules, and spare ones."""
    sellers = dict.fromkeys([*rules.names, *rules.percentages, *filter(None, [rules.default])])
    rows = [
        SellerRow(rules.names.get(who, ""), who, _shortest(rules.percentages.get(who)), who == rules.default)
        for who in sellers
    ]
    return [*rows, *[SellerRow()] * SPARE_ROWS]


def _shortest(share: Decimal | None) -> Decimal | None:
    return None if share is None else share.normalize()


def read_table(form: FormFields, present: SplitRules) -> SplitRules:
    """Return the rules in the form; what the table does not show stays as ``present``.

    Raises SplitTableError with all errors at once, and RulesError for what only the other rules can mend.
    """
    mode = text_of(form, "mode")
    if mode not in set(SplitMode):
        raise SplitTableError({"mode": LazyMessage("Choose one of the available options.")})
    if mode == SplitMode.OFF:
        return SplitRules()
    numbers = _numbers(form)
    rows = {number: row for number in numbers if any((row := _row(form, number))[:3])}
    if not rows:
        raise SplitTableError({f"seller.{numbers[0] if numbers else 0}.id": _NO_ID})
    wrong = _find_errors(rows, SplitMode(mode), present)
    if wrong:
        raise SplitTableError(wrong)
    return _rules(rows.values(), SplitMode(mode), present)


def _numbers(form: FormFields) -> Sequence[str]:
    numbers = [name.split(".")[1] for name in form if name.startswith("seller.") and name.endswith(".id")]
    return numbers[:_MOST_ROWS]


def _row(form: FormFields, number: str) -> tuple[str, str, str, bool]:
    name, who, share = (text_of(form, f"seller.{number}.{column}") for column in _COLUMNS)
    return name, who, typed_number(share).replace(",", ".").removesuffix("%").strip(), text_of(form, "rest") == number


def _find_errors(
    rows: Mapping[str, tuple[str, str, str, bool]], mode: SplitMode, present: SplitRules
) -> dict[str, LazyMessage]:
    wrong: dict[str, LazyMessage] = {}
    seen: set[str] = set()
    some_named = any(name for name, *_ in rows.values())
    for number, (name, who, share, _) in rows.items():
        if some_named and not name:
            wrong[f"seller.{number}.name"] = _NO_NAME
        if (seller := _seller(who)) is None:
            wrong[f"seller.{number}.id"] = _NO_ID
        elif seller in seen:
            wrong[f"seller.{number}.id"] = _TWICE
        seen.add(seller or "")
        if mode is SplitMode.PERCENTAGES and _share(share) is None:
            wrong[f"seller.{number}.share"] = _NO_SHARE
    if mode is SplitMode.PERCENTAGES and not wrong:
        percent = sum((_share(share) or Decimal() for _, _, share, _ in rows.values()), Decimal())
        if percent != _HUNDRED:
            last = [*rows][-1]
            wrong[f"seller.{last}.share"] = LazyMessage(
                "The shares add up to %(sum)s, not to 100.", sum=_whole(percent)
            )
    if mode is SplitMode.METADATA and present.shipping == "default" and not any(rest for *_, rest in rows.values()):
        wrong["rest"] = _NO_REST
    return wrong


def _whole(percent: Decimal) -> Decimal | int:
    """Return whole percents as such: a Decimal is shown with two decimals, as the language writes them."""
    return int(percent) if percent == percent.to_integral_value() else percent


def _seller(text: str) -> str | None:
    try:
        return parse_sub_merchant(text)
    except ValueError:
        return None


def _share(text: str) -> Decimal | None:
    try:
        share = Decimal(text)
    except InvalidOperation:
        return None
    return share if share.is_finite() and 0 < share <= _HUNDRED else None


def _rules(rows: Iterable[tuple[str, str, str, bool]], mode: SplitMode, present: SplitRules) -> SplitRules:
    kept = present.model_dump(mode="json", exclude={"mode", "names", "percentages", "default"})
    of_table = {
        "mode": mode,
        "names": {who: name for name, who, _, _ in rows if name},
        "default": next((who for _, who, _, rest in rows if rest), None),
        "percentages": {who: share for _, who, share, _ in rows} if mode is SplitMode.PERCENTAGES else {},
    }
    return read_rules(kept | of_table)
