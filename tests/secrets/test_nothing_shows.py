"""Whatever holds a secret does not show it: not as text, not in an error, not in a log, not on a cassette."""

import dataclasses
import io
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal
from uuid import UUID

import pydantic
import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st
from sqlmodel import select

import gateway_client.models as gateway_models
from app.core.notification import StoredNotification
from app.ops.logs import configure_logs, redact
from app.rules.cards.card_form import PaymentInstrument
from app.rules.refusal import RefusalError
from app.rules.requests.storefront import parse_data
from app.store.accounts import AccountKeys, NewAccount
from app.store.database import Database
from app.store.installations import OpenInstallation
from app.store.tables import Payment
from app.store.vault import KEY_BYTES, Vault, VaultError
from gateway_client.credentials import Credentials
from gateway_client.models.base import CARD_FIELDS
from gateway_client.models.base import _Model as GatewayModel
from gateway_client.notification import Notification as GatewayNotification
from gateway_client.sandbox.settings import PointOfSale
from gateway_client.transport import Call, GatewayResponse
from integration_base_tests.places import REPOSITORY
from tests.secrets.hunt import CardNumber, Secret, SecurityCode, find_secrets

SECRET = Secret("secret", "s3cr3t-of-nobody")
CARD = CardNumber("card number", "5454545454545454")
CODE = SecurityCode("737")
KEYS = AccountKeys(SECRET.value, SECRET.value, SECRET.value, SECRET.value)

HOLDERS: list[Any] = [
    KEYS,
    NewAccount(1, "Shop", "pos", "https://gateway.example", "CPAY", KEYS, ["UAH"], []),
    Credentials(
        "5a9db0c5-0000-4000-8000-000000000001",
        SECRET.value,
        SECRET.value,
        SECRET.value,
        "https://gateway.example",
        previous_api_secrets=(SECRET.value,),
    ),
    Call(method="POST", base_url="https://gateway.example", path="/", body={"cc_token": SECRET.value}),
    GatewayResponse(200, {"X-Api-Key": SECRET.value}, SECRET.value.encode()),
    OpenInstallation(1, "https://shop.example/graphql/", "app", SECRET.value, (SECRET.value,), None, None, None, None),
    Vault([SECRET.value.encode().ljust(KEY_BYTES)]),
    PaymentInstrument({"cc_number": CARD.value, "card_cvv": CODE.value, "cc_token": SECRET.value}),
    PointOfSale(api_secret=pydantic.SecretStr(SECRET.value), endpoints_key=pydantic.SecretStr(SECRET.value)),
]


@pytest.mark.threat("secrets-in-logs")
@pytest.mark.parametrize("holder", HOLDERS, ids=lambda holder: type(holder).__name__)
def test_what_holds_a_secret_does_not_show_it(holder: object) -> None:
    shown = {"repr": repr(holder), "str": str(holder), "format": f"{holder!r:>400}", "in a list": str([holder])}
    assert find_secrets([SECRET, CARD, CODE], {way: text.encode() for way, text in shown.items()}) == []


def everything_in(room: type[GatewayModel]) -> Iterator[type[GatewayModel]]:
    for below in room.__subclasses__():
        yield below
        yield from everything_in(below)


MODELS = sorted(
    (model for model in set(everything_in(GatewayModel)) if model.__module__.startswith(gateway_models.__name__)),
    key=lambda model: model.__name__,
)


def test_there_are_models_that_hold_secrets() -> None:
    assert len([model for model in MODELS if CARD_FIELDS & model.model_fields.keys()]) >= 3


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_no_model_of_the_gateway_shows_a_card_or_a_token(model: type[pydantic.BaseModel]) -> None:
    """Filled with secrets wherever one could be; where one is declared, dumps hide it too."""
    plain: dict[str, Any] = {name: CARD.value if "number" in name else SECRET.value for name in CARD_FIELDS}
    holder = model.model_construct(**plain)
    assert find_secrets([SECRET, CARD], {"repr": repr(holder).encode(), "str": str(holder).encode()}) == []

    declared: dict[str, Any] = {
        name: {"value": SECRET.value} if name == "cryptogram" else pydantic.SecretStr(value)
        for name, value in plain.items()
        if name in model.model_fields and not name.startswith("exp_")
    }
    dumped = model.model_construct(**declared).model_dump(include=set(declared))
    assert dumped.keys() == declared.keys()
    assert find_secrets([SECRET, CARD], {"dump": str(dumped).encode()}) == []


@pytest.mark.threat("card-numbers")
@pytest.mark.parametrize(
    "data",
    [
        {"card": {"number": CARD.value, "cvv": CODE.value}},
        {"cardNumber": CARD.value},
        {"customer": {"email": SECRET.value}},
        {"returnUrl": [SECRET.value]},
        {"card": SECRET.value},
        CARD.value,
    ],
)
def test_what_a_storefront_passes_is_not_repeated_to_it(data: object) -> None:
    try:
        shown = repr(parse_data(data))
    except RefusalError as refusal:
        shown = f"{refusal} {refusal!r} {refusal.message} {refusal.field}"
    assert find_secrets([SECRET, CARD, CODE], {"answer": shown.encode()}) == []


def test_a_vault_that_does_not_open_says_nothing() -> None:
    sealed = Vault([bytes(KEY_BYTES)]).seal(SECRET.value, "here")
    with pytest.raises(VaultError) as error:
        Vault([b"\1" * KEY_BYTES]).open(sealed, "here")
    assert find_secrets([SECRET], {"error": repr(error.value).encode()}) == []


@pytest.mark.parametrize("kept", [StoredNotification, GatewayNotification])
def test_a_notification_does_not_show_what_it_says(kept: Any) -> None:
    holder = object.__new__(kept)
    for field in dataclasses.fields(kept):
        object.__setattr__(holder, field.name, SECRET.value if field.name == "data" else None)
    assert find_secrets([SECRET], {"repr": repr(holder).encode()}) == []


@contextmanager
def logs(style: Literal["console", "json"], monkeypatch: pytest.MonkeyPatch) -> Iterator[io.StringIO]:
    written, root = io.StringIO(), logging.getLogger()
    handlers, level = root.handlers, root.level
    monkeypatch.setattr(sys, "stderr", written)
    configure_logs(style, "debug")
    try:
        yield written
    finally:
        root.handlers, root.level = handlers, level
        structlog.reset_defaults()


@pytest.mark.threat("secrets-in-logs")
@pytest.mark.parametrize("style", ["console", "json"])
def test_a_logged_error_carries_no_local_variables(
    style: Literal["console", "json"], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(api_secret: str, card: dict[str, str]) -> None:
        raise RuntimeError(f"nothing to say about {len(api_secret)} characters and {len(card)} members")

    with logs(style, monkeypatch) as written:
        for log in (structlog.get_logger("ours"), logging.getLogger("theirs")):
            try:
                fails(SECRET.value, {"number": CARD.value, "cvv": CODE.value})
            except RuntimeError:
                log.exception("something broke")
    text = written.getvalue()
    assert text.count("nothing to say about") >= 2, "both were logged with their traces"
    assert find_secrets([SECRET, CARD, CODE], {"log": text.encode()}) == []


@pytest.mark.threat("secrets-in-logs")
@pytest.mark.parametrize("style", ["console", "json"])
async def test_even_the_most_talkative_log_does_not_repeat_what_the_database_is_told(
    style: Literal["console", "json"], monkeypatch: pytest.MonkeyPatch, database: Database
) -> None:
    with logs(style, monkeypatch) as written:
        async with database.transaction() as session:
            await session.exec(select(Payment).where(Payment.order_id == SECRET.value))
        logging.getLogger("theirs").debug("a word")
    assert "a word" in written.getvalue()
    assert find_secrets([SECRET], {"log": written.getvalue().encode()}) == []


@pytest.mark.threat("secrets-in-logs", "card-numbers")
@pytest.mark.parametrize("style", ["console", "json"])
def test_a_log_hides_what_is_called_a_secret_and_what_looks_like_a_card(
    style: Literal["console", "json"], monkeypatch: pytest.MonkeyPatch
) -> None:
    with logs(style, monkeypatch) as written:
        structlog.get_logger("ours").info(
            "told", api_key=SECRET.value, payload={"auth_token": SECRET.value}, words=[f"card {CARD.value}"], cvv="737"
        )
        error = ValueError(f"bad card 5454 5454 5454 5454 or {CARD.value}")
        structlog.get_logger("ours").error("refused", exc_info=error)
    assert "told" in written.getvalue()
    assert find_secrets([SECRET, CARD, CODE], {"log": written.getvalue().encode()}) == []


@given(name=st.uuids(version=4), card=st.integers(13, 19).map(lambda digits: "5" * digits))
def test_a_log_shows_which_payment_it_is_about_and_no_card_beside_it(name: UUID, card: str) -> None:
    told = redact(None, "info", {"order_id": name.hex, "words": f"transaction {name}, card {card}, and {name.hex}"})
    assert told == {"order_id": name.hex, "words": f"transaction {name}, card (redacted), and {name.hex}"}


@pytest.mark.threat("card-numbers")
@pytest.mark.parametrize("digits", ["5" * 13, "5454-5454-5454-5454", "5454 5454 5454 5454 545", f"a{'5' * 16}b"])
def test_a_log_shows_no_card_however_it_is_written(digits: str) -> None:
    assert redact(None, "info", {"words": f"on {digits}."})["words"] in {"on (redacted).", "on a(redacted)b."}


@pytest.mark.threat("secrets-in-logs")
@pytest.mark.parametrize(
    "told",
    [
        "olena.k+1@mail.example.com",
        "GET /payments?search=olena%40example.com HTTP/1.1",
        "<Олена@example.com>",
        "a" * 99_999,
    ],
)
def test_a_log_shows_no_address_of_a_shopper(told: str) -> None:
    shown = redact(None, "info", {"words": [told]})["words"][0]
    assert "olena" not in shown.lower()
    assert "олена" not in shown.lower()
    assert ("(redacted)" in shown) == ("@" in told or "%40" in told)


def test_a_name_of_digits_alone_is_shown_whole() -> None:
    name = UUID("12345678-1234-4234-8234-123456789012")
    assert redact(None, "info", {"order_id": name.hex, "words": str(name)}) == {
        "order_id": name.hex,
        "words": str(name),
    }


@pytest.mark.threat("secrets-in-logs")
def test_no_cassette_holds_a_secret() -> None:
    point = PointOfSale()
    secrets = [
        Secret("API secret", point.api_secret.get_secret_value()),
        Secret("endpoints key", point.endpoints_key.get_secret_value()),
        *(CardNumber(f"card {number[:4]}", number) for number in ("4242424242424242", "4111111111111111", CARD.value)),
    ]
    cassettes = {str(file.relative_to(REPOSITORY)): file.read_bytes() for file in _files(REPOSITORY / "cassettes")}
    assert len(cassettes) > 20
    assert find_secrets(secrets, cassettes) == []


def _files(folder: Path) -> Iterator[Path]:
    return (file for file in folder.rglob("*") if file.is_file())
