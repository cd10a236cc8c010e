"""The kit as a file: what its page tells of it is so, its texts are the app's, and nothing in it is unsafe."""

import json
import re
import tomllib

import pytest
from graphql import parse, validate

from app.i18n.translation import translation_for
from app.rules.requests.storefront import Customer
from app.rules.status_messages import english_status_message
from app.web.static import KIT, KIT_FOLDER
from gateway_client.statuses import TABLE, CodeKind, Status
from integration_base_tests.pages import STOREFRONT, backticked, blocks, rows, section
from integration_base_tests.places import REPOSITORY
from saleor_app_sdk.versions import Version
from saleor_app_sdk_tests.schemas import VERSIONS, schema
from tests.docs.test_examples import _TEMPLATE

SOURCE = (KIT_FOLDER / KIT).read_text()
TYPES = (KIT_FOLDER / "gateway-payment.d.ts").read_text()
CODES = rows(section(STOREFRONT, "## Error codes").partition("###")[0])


def quoted_in(name: str) -> list[str]:
    """Return the strings of a constant of the source."""
    found = re.search(rf"const {name} = (?:new Set\()?\[(.*?)\]", SOURCE, re.DOTALL)
    assert found is not None, name
    return re.findall(r'"([^"]+)"', found[1])


def texts(language: str) -> dict[str, list[str]]:
    """Return what is said in a language, by the name of each text."""
    found = re.search(rf"^  {language}: {{\n(.*?)^  }},", SOURCE, re.DOTALL | re.MULTILINE)
    assert found is not None
    lines = re.findall(r"^    (\w+): \[?(.*?)\]?,$", found[1], re.MULTILINE)
    return {name: re.findall(r'"([^"]*)"', said) for name, said in lines}


@pytest.mark.parametrize("saleor", VERSIONS, ids=str)
def test_what_it_asks_is_valid_in_every_saleor(saleor: Version) -> None:
    parts = {template["name"]: template["text"] for template in _TEMPLATE.finditer(SOURCE)}
    asked = [
        template["text"].replace("${SESSION}", parts["SESSION"])
        for template in _TEMPLATE.finditer(SOURCE)
        if template["graphql"]
    ]
    assert len(asked) == 7
    for document in asked:
        assert validate(schema(saleor), parse(document)) == []


def test_every_attribute_is_told_and_no_other() -> None:
    told = [backticked(row[0])[0] for row in rows(section(STOREFRONT, "### Attributes"))]
    assert told == quoted_in("ATTRIBUTES")
    required = [
        backticked(row[0])[0] for row in rows(section(STOREFRONT, "### Attributes")) if row[1].startswith("Required")
    ]
    assert required == told[:3]
    assert "const REQUIRED = ATTRIBUTES.slice(0, 3);" in SOURCE


def test_every_state_is_told_and_typed() -> None:
    shown = set(re.findall(r'#show\(\s*"(\w+)"', SOURCE)) | {"paid", "reserved", "declined", "expired"}
    typed = set(re.findall(r'^  \| "(\w+)"', TYPES, re.MULTILINE))
    told = section(STOREFRONT, "### Attributes").partition("sets itself, is ")[2].partition(".")[0]
    assert shown == typed == {*backticked(told)}


def test_every_event_is_told_and_typed_with_what_it_says() -> None:
    dispatched = {f"gateway-payment-{name}" for name in re.findall(r'#tell\("(\w+)"', SOURCE)}
    dispatched |= {"gateway-payment-paid", "gateway-payment-reserved"}
    told = {backticked(row[0])[0]: backticked(row[2]) for row in rows(section(STOREFRONT, "### Events"))}
    details = dict(re.findall(r'"(gateway-payment-\w+)": CustomEvent<(\w+)>', TYPES))
    assert set(told) == set(details) == dispatched
    for event, members in told.items():
        body = re.search(rf"interface {details[event]} {{(.*?)^}}", TYPES, re.DOTALL | re.MULTILINE)
        assert body is not None
        assert sorted(re.findall(r"^  (\w+)\??:", body[1], re.MULTILINE)) == sorted(members), event


def test_the_customers_fields_are_typed_as_the_app_reads_them() -> None:
    """Saleor's checkout has null for what is missing, and a country as an object: both may be passed as they are."""
    _, _, members = TYPES.partition("interface GatewayPaymentCustomer {")
    typed = dict(re.findall(r"^  (\w+)\?: (.*);$", members.partition("\n}")[0], re.MULTILINE))
    assert [*typed] == [field.alias for field in Customer.model_fields.values()]
    assert {types.split(" | ")[-1] for types in typed.values()} == {"null"}
    assert "{ code: string }" in typed["country"]


def test_every_variable_and_part_is_told_and_no_other() -> None:
    looks = section(STOREFRONT, "### How it looks")
    variables = {name for row in rows(looks) for name in backticked(row[0])}
    assert variables == set(re.findall(r"var\((--gateway-payment-[\w-]+)", SOURCE))
    listed = {*backticked(looks.partition("::part(button)`:")[2].partition(". So that")[0])}
    assert listed == set(re.findall(r'\bpart: "([\w-]+)"', SOURCE))


def test_shoppers_are_shown_what_is_written_for_them_and_nothing_else() -> None:
    for_shoppers = {backticked(row[0])[0] for row in CODES if row[2] == "for the shopper"}
    assert set(quoted_in("FOR_SHOPPERS")) == for_shoppers
    final = {code for code, row in TABLE.items() if row.status is Status.FAILURE and row.kind is CodeKind.FINAL}
    neither = {"AMOUNT_NOT_ACCEPTED", "APP_ERROR", "STORE_UNAVAILABLE", "TOO_LONG"}
    assert set(quoted_in("NO_OTHER_ATTEMPT")) == final | neither


def test_both_languages_say_the_same_things() -> None:
    english, ukrainian = texts("en"), texts("uk")
    assert [*english] == [*ukrainian]
    assert len(english) > 30
    for name, said in ukrainian.items():
        assert len(said) == len(english[name]), name
        assert all(re.search("[а-яіїєґ]", text) for text in said), name


def test_what_the_app_says_too_it_says_in_the_same_words() -> None:
    english, ukrainian = texts("en"), texts("uk")
    gettext = translation_for("uk").gettext
    same = [
        "waiting",
        "paid",
        "already",
        "reserved",
        "declined",
        "expired",
        "number",
        "cvv",
        *(name for name in english if name.isdigit()),
    ]
    for name in same:
        assert gettext(english[name][-1]) == ukrainian[name][-1], name
    for code in (name for name in english if name.isdigit()):
        assert english[code] == [english_status_message(TABLE[code])], code


@pytest.mark.threat("xss-shopper")
def test_nothing_is_read_as_html_and_nothing_is_run() -> None:
    unsafe = (
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|\.style\b|localStorage|cookie"
    )
    assert re.findall(unsafe, SOURCE) == []
    assert re.findall(r"location\.\w+\(", SOURCE) == ["location.assign("]


def test_the_documented_lines_encrypt_as_the_kit_does() -> None:
    [snippet] = [block for block in blocks("js", among=[STOREFRONT]) if block.role == "seal"]

    def plain(code: str) -> str:
        body = re.search(r"async function sealCard\(.*?^}", code, re.DOTALL | re.MULTILINE)
        assert body is not None
        return re.sub(r"\s+const parts = .*|\s+return .*", "", body[0])

    assert plain(snippet.code) == plain(SOURCE)


def test_the_package_is_the_apps_version_under_the_same_licence() -> None:
    package = json.loads((KIT_FOLDER / "package.json").read_text())
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    assert (package["version"], package["license"]) == (project["version"], "BSD-3-Clause")
    assert "dependencies" not in package
    assert {(KIT_FOLDER / name).exists() for name in package["files"]} == {True}
    assert (KIT_FOLDER / "LICENSE").read_text() == (REPOSITORY / "LICENSE").read_text()
