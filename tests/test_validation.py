"""Nothing of a library's wording reaches people."""

import re
from decimal import Decimal
from enum import StrEnum
from ipaddress import IPv4Address
from typing import Annotated, Any, Literal

import pytest
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from app.errors import SettingsError
from app.i18n.translation import translation
from app.i18n.validation import find_field_errors
from app.rules.refusal import RefusalError
from app.rules.requests.storefront import parse_data
from app.rules.split.rules import RulesError, read_rules
from app.settings import read_settings

LIBRARY = re.compile(
    r"Input should|Value error|Field required|Extra inputs|should (be|match|have)"
    r"|valid (string|tuple|integer|dict|list)|unable to|pydantic|https://errors"
)


class Kind(StrEnum):
    ONE = "one"
    OTHER = "other"


def never(_value: str) -> str:
    raise ValueError("these are our own words")


class Everything(BaseModel):
    model_config = ConfigDict(extra="forbid")

    text: Annotated[str, Field(min_length=2, max_length=3, pattern="^[a-z]+$")] = "ab"
    whole: Annotated[int, Field(gt=0, le=9)] = 1
    number: Annotated[Decimal, Field(ge=0, lt=9)] = Decimal(1)
    floating: float = 1.0
    switch: bool = True
    several: Annotated[tuple[str, ...], Field(min_length=1, max_length=2)] = ("a",)
    listed: list[str] = []
    named: dict[str, int] = {}
    kind: Kind = Kind.ONE
    way: Literal["this", "that"] = "this"
    address: IPv4Address | None = None
    own: Annotated[str, AfterValidator(never)] | None = None


WRONG: list[Any] = [
    None,
    True,
    "",
    "x" * 99,
    "A1",
    -1,
    99,
    1.5,
    "many",
    [],
    ["a"] * 9,
    {"a": "b"},
    {1: 2},
    [1],
    object(),
]


@pytest.mark.parametrize("field", [*Everything.model_fields, "unheard of"])
@pytest.mark.parametrize("value", WRONG, ids=lambda value: "an object" if type(value) is object else repr(value))
def test_every_wrong_value_has_a_sentence_of_ours(field: str, value: Any) -> None:
    try:
        Everything.model_validate({field: value})
    except ValidationError as error:
        for field_error in find_field_errors(error):
            assert not LIBRARY.search(str(field_error)), str(field_error)
            assert "%(" not in str(field_error)
            assert field_error.field.split(".")[0] == field


def test_everything_that_is_wrong_is_said_at_once_and_nothing_that_was_given() -> None:
    with pytest.raises(ValidationError) as caught:
        Everything.model_validate({"text": "SECRET-1", "whole": "SECRET-2", "kind": "SECRET-3", "own": "SECRET-4"})
    said = [str(field_error) for field_error in find_field_errors(caught.value)]
    assert said == [
        "text: must have at most 3 characters",
        "whole: must be a whole number",
        "kind: must be one of one, other",
        "own: these are our own words",
    ]


def test_split_rules_are_refused_in_the_readers_language() -> None:
    with pytest.raises(RulesError) as caught:
        read_rules({"mode": "by weight", "shiping": "lines"})
    in_ukrainian = [translation("uk").plain_text(reason) for reason in caught.value.reasons]
    assert in_ukrainian == [
        "mode: має бути одним із: off, metadata, percentages",
        "shiping: тут невідоме: виправте назву або приберіть його",
    ]


def test_a_storefront_is_told_all_that_is_wrong() -> None:
    with pytest.raises(RefusalError) as caught:
        parse_data({"returnUrl": {}, "saveCard": "perhaps", "customer": "Taras"})
    assert str(caught.value.message) == (
        "`data.returnUrl` is invalid: it must be text. "
        "`data.customer` is invalid: it must be an object with named fields. "
        "`data.saveCard` is invalid: it must be true or false."
    )
    assert [reason.field for reason in caught.value.reasons] == ["data.returnUrl", "data.customer", "data.saveCard"]


def test_all_settings_that_are_wrong_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("APP_BASE_URL", "https://pay.example.com")
    monkeypatch.setenv("APP_PORT", "many")
    monkeypatch.setenv("APP_WORKER", "perhaps")
    with pytest.raises(SettingsError) as caught:
        read_settings()
    assert "APP_PORT: must be a whole number" in str(caught.value)
    assert "APP_WORKER: must be true or false" in str(caught.value)
