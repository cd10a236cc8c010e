"""A whole run with everything going wrong, at the most talkative level of logs; then all that it left is searched.

Searched are the app's output, the database, every answer that left the app, every event that Saleor was told, and what
the command line shows. Secret are the gateway's keys (the right ones and the wrong ones), Saleor's tokens, the vault's
key, card numbers and tokens, whoever brought them in. What is said of whom a payout is for is read by staff alone.
"""

import asyncio
import base64
import json
import re
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import psycopg
import pytest
from psycopg import sql
from sqlalchemy import make_url
from sqlmodel import SQLModel
from typer.testing import CliRunner

from app.bootstrap import open_services
from app.cli import cli
from app.store.database import is_sqlite
from app.store.vault import read_keys
from gateway_client.sandbox.scripting import FaultRule
from gateway_client.sandbox.settings import PointOfSale
from integration_base_tests.waiting import eventually
from saleor_app_sdk.testing.views import NewCheckout, SessionView
from saleor_app_sdk.testing.vocabulary import Flow
from tests.journeys.stack import PATIENCE, Stack, open_stack
from tests.journeys.stories import BACK, TOTAL, assert_books_agree, begin, order_id_of, wait_for_event, wait_until_quiet
from tests.journeys.wallet_shop import SEALED_BY_APPLE, apple_pays, offer_wallets
from tests.journeys.wallet_shop import pay as pay_with_wallet
from tests.payments.cards.seals import BROWSER, seal
from tests.secrets.hunt import CardNumber, Secret, SecurityCode, find_secrets

WALLET = apple_pays()
BY_APPLE = Secret("what Apple's sheet gave", SEALED_BY_APPLE)
TYPED = CardNumber("card number typed in the storefront", "5454545454545454")
TOKEN = Secret("card token kept by a storefront", "rcr:5f0c9a17d3e24b6c")
PAID_WITH = CardNumber("card number typed on the payment page", "4242424242424242")
CODE = SecurityCode("737")
WRONG = Secret("wrong API secret", "wr0ng-api-secret-8d1f")
MADE_UP = Secret("token of somebody who is nobody", "made-up-token-41b7c9")
PAID_OUT_TO = CardNumber("card number typed for a payout", "5555555555554444")
DOCUMENT = Secret("document of who is paid", "document-of-Solomiia-5a1f")
BIRTHPLACE = Secret("birthplace of who is paid", "Birthplace-of-Solomiia-77b0")
RECIPIENT = {
    "recipient_first_name": "Solomiia",
    "recipient_last_name": "Pavlychko",
    "recipient_doc_number": DOCUMENT.value,
    "recipient_birth_place": BIRTHPLACE.value,
}
STAFF = "olena@example.com"
CARD_IN_PLAIN = {"card": {"number": TYPED.value, "cvv": CODE.value, "expMonth": 12, "expYear": 2030}}
POINT = PointOfSale()
QUOTING = json.dumps(
    {
        "message": f"Bad card {TYPED.value} of {POINT.api_key}:{POINT.api_secret.get_secret_value()}",
        "args": {"code": "P-400", "cc_number": [{"msg": f"{TYPED.value} with cvv {CODE.value}"}]},
    }
)


@dataclass
class Run:
    """A run of the town, and everything that people outside the app have got of it."""

    stack: Stack
    folder: Path
    left: dict[str, bytes] = field(default_factory=dict)
    tokens: list[str] = field(default_factory=list)
    of_staff: list[str] = field(default_factory=list)

    async def ask(self, method: str, path: str, **request: object) -> httpx2.Response:
        """Ask the app for something, as anybody could, and keep the whole answer."""
        async with httpx2.AsyncClient(trust_env=False) as anybody:
            answer = await anybody.request(method, self.stack.app.url + path, **request)  # type: ignore[arg-type]  # the story chooses
        self.left[f"the answer to {method} {path} ({len(self.left)})"] = (
            f"{answer.status_code} {dict(answer.headers)}".encode() + answer.content
        )
        return answer

    async def command(self, *words: str) -> str:
        """Type a command; keep and return what it said."""
        settings = self.stack.settings
        environment = {
            "APP_DATABASE_URL": settings.database,
            "APP_DATA_DIR": str(settings.data_dir),
            "APP_BASE_URL": settings.base_url,
            "COLUMNS": "200",
        }
        said = await asyncio.to_thread(CliRunner().invoke, cli, list(words), env=environment)
        self.left[f"saleor-gateway {' '.join(words)}"] = (said.stdout + said.stderr).encode()
        return said.stdout

    async def without_table(self, table: str) -> None:
        """Take a table away: the database fails at whatever needs it."""
        await self._rename(table, f"{table}_gone")

    async def with_table(self, table: str) -> None:
        """Put it back."""
        await self._rename(f"{table}_gone", table)

    async def _rename(self, old: str, new: str) -> None:
        async with open_services(self.stack.settings) as services, services.database.transaction() as session:
            await (await session.connection()).exec_driver_sql(f"ALTER TABLE {old} RENAME TO {new}")

    async def collect(self) -> dict[str, bytes]:
        """Return everything that was left behind, by where it is."""
        stack = self.stack
        for delivery in await stack.saleor.deliveries():
            self.left[f"the answer to Saleor's {delivery.event} {delivery.number}"] = (delivery.answer or "").encode()
        for report in await stack.saleor.reports():
            self.left[f"report {report.number} to Saleor"] = repr(report.arguments).encode()
        for transaction in await stack.saleor.transactions():
            self.left[f"Saleor's transaction {transaction.id}"] = transaction.model_dump_json().encode()
        self.left["the app's output"] = (self.folder / "app.log").read_bytes()
        return self.left | self._database()

    def _database(self) -> dict[str, bytes]:
        address = self.stack.settings.database
        if is_sqlite(address):
            files = Path(make_url(address).database or "").parent.glob("payments.sqlite*")
            return {file.name: file.read_bytes() for file in files}
        plain = make_url(address).set(drivername="postgresql").render_as_string(hide_password=False)
        with psycopg.connect(plain) as connection:
            return {
                f"table {table}": repr(
                    connection.execute(sql.SQL("SELECT t::text FROM {} t").format(sql.Identifier(table))).fetchall()
                ).encode()
                for table in SQLModel.metadata.tables
            }


@pytest.fixture
async def run(database_url: str, tmp_path: Path, neighbours: tuple[str, str]) -> AsyncIterator[Run]:
    talkative = PATIENCE | {
        "APP_LOG_LEVEL": "debug",
        "APP_LOG_FORMAT": "json" if "sqlite" in database_url else "console",
    }
    async with open_stack(database_url, tmp_path, neighbours, patience=talkative) as stack:
        installed = await stack.saleor.install(f"{stack.app.url}/api/manifest")
        assert installed.status == "INSTALLED", installed.message
        await stack.open_account()
        yield Run(stack, tmp_path)


async def all_goes_well(run: Run) -> str:
    """A payment and a reservation, a capture, a refund; return the first order."""
    shop = run.stack
    await shop.saleor.gateway_initialize((await shop.saleor.create_checkout()).id)
    _, session = await begin(shop)
    order_id = order_id_of(session)
    for path in (f"/pay/return/{order_id}", f"/pay/{order_id}", f"/pay/{order_id}.svg"):
        await run.ask("GET", path)
    await shop.gateway.pay(order_id, card=PAID_WITH.value)
    await wait_for_event(shop, session.required_transaction.id, "CHARGE_SUCCESS")
    await run.ask("GET", f"/pay/return/{order_id}")
    await shop.saleor.refund(session.required_transaction.id, Decimal("100.00"))
    await wait_for_event(shop, session.required_transaction.id, "REFUND_SUCCESS")
    await assert_books_agree(shop, session.required_transaction.id)

    _, reserved = await begin(shop, Flow.AUTHORIZATION)
    await shop.gateway.pay(order_id_of(reserved), card=PAID_WITH.value)
    await wait_for_event(shop, reserved.required_transaction.id, "AUTHORIZATION_SUCCESS")
    await shop.saleor.charge(reserved.required_transaction.id, TOTAL)
    await wait_for_event(shop, reserved.required_transaction.id, "CHARGE_SUCCESS")
    return order_id


async def cards_are_typed_in_the_storefront(run: Run) -> None:
    """Taken, refused, quoted by the gateway, lost on the way, sealed wrongly; and a token instead of a card."""
    shop = run.stack
    async with open_services(shop.settings) as services:
        await services.accounts.change(await _account_id(shop), pci_dss_confirmed_at=services.now())
    checkout = await shop.saleor.create_checkout()

    async def offered() -> dict[str, Any] | None:
        offer: dict[str, Any] = (await shop.saleor.gateway_initialize(checkout.id)).data
        return offer.get("card")

    jwk = (await eventually(offered))["jwk"]  # the app remembers the account for a moment

    async def pay(content: dict[str, Any], spoilt: Callable[[str], str] = str) -> SessionView:
        another = await shop.saleor.create_checkout()
        sealed = spoilt(seal({**content, "for": another.id}, jwk))
        _, session = await begin(shop, data=BACK | _typed(sealed), checkout_id=another.id)
        return session

    card = {"number": TYPED.value, "expMonth": 12, "expYear": 2030, "cvv": CODE.value}
    paid = await pay(card)
    assert paid.event is not None
    assert paid.event.type == "CHARGE_SUCCESS", paid
    for effect, status in (("status", 500), ("status", 400), ("garbage", 500), ("drop", 500)):
        await shop.gateway.fault(
            FaultRule(
                http_method="POST", path="/api/v1/payment", moment="after", effect=effect, status=status, body=QUOTING
            )
        )
        await pay(card)
    wrong = (
        card | {"number": "5454545454545455"},
        card | {"cvv": "73x"},
        card | {"expYear": 2001},
        {"token": TOKEN.value},
    )
    for content in wrong:
        await pay(content)
    await pay(card, lambda sealed: sealed[:-4] + "AAAA")
    await pay(card, lambda _: TYPED.value)
    await run.ask("GET", f"/pay/return/{order_id_of(paid)}")


async def wallets_pay(run: Run) -> None:
    """What a wallet gave is exchanged and pays; and is quoted by the gateway, lost on the way, refused."""
    shop = run.stack
    await offer_wallets(shop)
    checkout_id, paid = await pay_with_wallet(shop, WALLET)
    assert paid.event is not None
    assert paid.event.type == "CHARGE_SUCCESS", paid
    told = base64.b64encode(json.dumps(WALLET["applePay"]).encode()).decode()
    quoting = {"message": f"Bad applepay:{told}", "args": [{"field_name": "token", "violation": BY_APPLE.value}]}
    exchange = partial(FaultRule, http_method="POST", path="/api/v1/tokenization/tokenize", body=json.dumps(quoting))
    for effect, status in (("status", 500), ("status", 400), ("garbage", 500), ("drop", 500)):
        await shop.gateway.fault(exchange(moment="after", effect=effect, status=status))
        await pay_with_wallet(shop, WALLET)
    await pay_with_wallet(shop, {"applePay": {"paymentData": BY_APPLE.value}})
    await shop.saleor.gateway_initialize(checkout_id, data={"applePay": {"validationUrl": BY_APPLE.value}})
    for payment in await shop.gateway.payments():
        if payment.cc_token and payment.cc_token.startswith("rcr:"):
            run.tokens.append(payment.cc_token)
    assert run.tokens
    await run.command("payments", "raw", order_id_of(paid))


def _typed(sealed: str) -> dict[str, object]:
    return {"card": sealed, "browserFingerprint": BROWSER, "customer": {"ip": "203.0.113.7"}}


async def cards_are_kept(run: Run) -> None:
    """A customer keeps a card, looks at it, pays with it, also when the gateway quotes its token; others try to."""
    shop = run.stack
    async with open_services(shop.settings) as services:
        await services.accounts.change(await _account_id(shop), saved_cards=True)
    olena = NewCheckout(user={"id": "VXNlcjox"})

    async def offered() -> bool:
        offer = await shop.saleor.gateway_initialize((await shop.saleor.create_checkout(olena)).id)
        return bool(offer.data["saveCard"])  # the app remembers the account for a moment

    await eventually(offered)
    checkout = await shop.saleor.create_checkout(olena)
    _, session = await begin(shop, data=BACK | {"saveCard": True}, checkout_id=checkout.id)
    token = (await shop.gateway.pay(order_id_of(session), card=PAID_WITH.value)).cc_token
    await wait_for_event(shop, session.required_transaction.id, "CHARGE_SUCCESS")
    [card] = await shop.saleor.stored_methods("VXNlcjox")
    data = BACK | {"savedCardId": card.payment_method_id, "browserFingerprint": BROWSER}
    quoting = {"message": f"Bad token {token}", "args": [{"field_name": "cc_token", "violation": f"{token} expired"}]}

    async def pay(customer: NewCheckout) -> SessionView:
        _, tried = await begin(shop, data=data, checkout_id=(await shop.saleor.create_checkout(customer)).id)
        return tried

    await pay(NewCheckout())
    paid = await pay(olena)
    assert paid.event is not None
    assert paid.event.type == "CHARGE_SUCCESS"
    await shop.gateway.fault(
        FaultRule(http_method="POST", path="/api/v1/payment", effect="status", status=400, body=json.dumps(quoting))
    )
    refused = await pay(olena)
    assert "cannot be used" in str(refused.data)
    for order_id in (order_id_of(session), order_id_of(paid), order_id_of(refused)):
        await run.command("payments", "raw", order_id)
        await run.command("payments", "show", order_id)
    await run.command("payments", "raw", "--now", order_id_of(paid))
    await pay(olena)
    await shop.saleor.delete_method("VXNlcjoy", card.id)
    await run.command("customers", "export", "VXNlcjox")
    await shop.saleor.delete_method("VXNlcjox", card.id)
    await run.command("customers", "forget", "VXNlcjox", "--yes")


async def money_is_paid_out(run: Run) -> None:
    """A card is typed on the page for payouts: rightly, wrongly, in plain; and the gateway quotes it, or breaks off."""
    shop = run.stack
    async with open_services(shop.settings) as services:
        limits = {"payout_most": Decimal(500), "payout_most_a_day": Decimal(5000)}
        account = await services.accounts.change(
            await _account_id(shop),
            payouts=True,
            payout_staff=[STAFF],
            pci_dss_confirmed_at=services.now(),
            **limits,
        )
    await shop.saleor.sign_in(STAFF, ["HANDLE_PAYMENTS"])
    [app] = await shop.saleor.apps()
    token = await shop.saleor.access_token(app.id)
    run.of_staff.append(token)
    headers = {"authorization": f"Bearer {token}", "saleor-api-url": shop.saleor.api_url}
    said = {"account": account.id, "amount": "10.50", "description": "A prize", **RECIPIENT}

    async def form() -> tuple[str, dict[str, Any]] | None:
        page = (await run.ask("GET", "/parts/payouts/new", headers=headers)).text
        key, jwk = re.search(r'name="key" value="([0-9a-f]{32})"', page), re.search(r"data-jwk='([^']+)'", page)
        return (key[1], json.loads(jwk[1])) if key and jwk else None

    async def review(content: dict[str, Any] | str, **different: str) -> str | None:
        key, jwk = await eventually(form)  # the app remembers the account for a moment
        card = content if isinstance(content, str) else seal({"for": f"payout:{key}", **content}, jwk)
        fields = {**said, "key": key, "card": card, **different}
        page = (await run.ask("POST", "/parts/payouts/review", headers=headers, data=fields)).text
        sealed = re.search(r'name="sealed" value="([^"]+)"', page)
        return sealed[1] if sealed else None

    number = PAID_OUT_TO.value
    for content in (number, {"number": "5555555555554445"}, {"number": number, "for": "another"}, {"x": number}):
        assert await review(content) is None
    assert await review({"number": number}, description=f"To {number}") is None
    assert await review({"number": number}, recipient_last_name=number) is None
    effects: tuple[tuple[str, int], ...] = (("status", 500), ("status", 400), ("garbage", 500), ("drop", 500))
    quoting = json.dumps({"message": f"Bad card {number} of {DOCUMENT.value}", "args": {"code": "P-400"}})
    for effect, status in (*effects, ("", 0)):
        sealed = await review({"number": number})
        assert sealed is not None
        if effect:
            fault = FaultRule(http_method="POST", path="/api/v1/payment", effect=effect, status=status, body=quoting)
            await shop.gateway.fault(fault)
        confirmed = {"sealed": sealed}
        page = await run.ask("POST", "/parts/payouts/confirm", headers=headers, data=confirmed)
        await run.ask("POST", "/parts/payouts/confirm", headers=headers, data=confirmed)
        order_id = page.headers["content-location"].removeprefix("/payments/")
        await run.ask("GET", f"/parts/payments/{order_id}", headers=headers)
        for words in (["payouts", "show"], ["payments", "show"], ["payments", "raw"]):
            await run.command(*words, order_id)
        await run.command("payouts", "show", order_id, "--json")
    assert "The payout was not made" in page.text
    for path in ("/parts/payouts", "/parts/payments", "/parts/attention"):
        await run.ask("GET", path, headers=headers)
    await run.ask("POST", "/parts/payouts.csv", headers=headers)
    for format_ in ([], ["--json"], ["--csv"]):
        await run.command("payouts", "list", *format_)


async def the_gateway_goes_wrong(run: Run) -> None:
    """It declines, fails, babbles, and repeats what it should not have kept."""
    shop = run.stack
    _, session = await begin(shop)
    await shop.gateway.decline(order_id_of(session), "4009")
    for effect, more in (("status", {"status": 500}), ("garbage", {}), ("drop", {}), ("status", {"status": 400})):
        await shop.gateway.fault(
            FaultRule(http_method="POST", path="/api/v1/payment", effect=effect, body=QUOTING, **more)
        )
        await begin(shop)
    await shop.gateway.fault(FaultRule(http_method="GET", effect="status", status=500, body=QUOTING, times=3))
    await shop.gateway.fire_webhook(order_id_of(session), changes={"status": "success"}, secret=MADE_UP.value)
    await shop.gateway.fire_webhook(order_id_of(session), changes={"status": "success", "amount": TYPED.value})
    await wait_until_quiet(shop, session.required_transaction.id)


async def the_keys_are_wrong(run: Run) -> None:
    """The operator mistypes the API secret, and puts it right."""
    shop = run.stack
    async with open_services(shop.settings) as services:
        account = (await services.accounts.all())[0]

        async def begun_with(outcome: str) -> bool:
            _, session = await begin(shop)
            return session.event is not None and session.event.type == outcome

        # The app remembers the account for a moment.
        await services.accounts.change_keys(account.id, api_secret=WRONG.value)
        await eventually(partial(begun_with, "CHARGE_FAILURE"))
        await run.command("accounts", "check")
        await services.accounts.change_keys(account.id, api_secret=POINT.api_secret.get_secret_value())
        await eventually(partial(begun_with, "CHARGE_ACTION_REQUIRED"))


async def shoppers_and_strangers_go_wrong(run: Run) -> None:
    """Card data where none belongs, unreadable bodies, tokens of nobody."""
    shop = run.stack
    checkout = await shop.saleor.create_checkout()
    for data in (CARD_IN_PLAIN, {"cardNumber": TYPED.value, "cvv": CODE.value}, {"card": TYPED.value}, TYPED.value):
        await shop.saleor.initialize(checkout.id, data=data)
        await shop.saleor.gateway_initialize(checkout.id, data=data)
    account = await _account_id(shop)
    bodies = [json.dumps(CARD_IN_PLAIN).encode(), b'{"auth_token": "%s"' % MADE_UP.value.encode(), b"\xff\x00" * 9]
    named = {"authorization": f"Bearer {MADE_UP.value}", "saleor-api-url": shop.saleor.api_url}
    for path in (
        "/api/register",
        "/api/webhooks/transaction-initialize-session",
        "/api/webhooks/transaction_initialize_session",
        f"/api/webhooks/gateway/{account}",
        "/api/webhooks/gateway/nobody",
        "/nowhere",
    ):
        for body in bodies:
            await run.ask("POST", path, content=body, headers=named | {"saleor-signature": "a..b"})
    signed = {"data": base64.b64encode(bodies[0]).decode(), "signature": MADE_UP.value}
    await run.ask("POST", f"/api/webhooks/gateway/{account}", data=signed)
    await run.ask("POST", "/api/register", json={"auth_token": MADE_UP.value}, headers=named)
    for path in ("/", "/support", "/readyz", "/api/manifest", f"/pay/return/{TYPED.value}", f"/?n={MADE_UP.value}"):
        await run.ask("GET", path)


async def saleor_goes_wrong(run: Run) -> None:
    """It is down, refuses its own token, signs with nobody's key, and sends the same twice."""
    shop = run.stack
    for trouble in ({"graphql_status": 503}, {"refuse_token": True}, {"graphql_internal_error": True}):
        await shop.saleor.set_faults(**trouble)
        _, session = await begin(shop)
        await shop.gateway.pay(order_id_of(session))

        async def tried() -> bool:
            return await shop.attempts("CHARGE_SUCCESS") > 0

        await eventually(tried)
    await shop.saleor.set_faults(unsigned=True)
    await shop.saleor.initialize((await shop.saleor.create_checkout()).id, data=BACK)
    await shop.saleor.clear_faults()


async def the_database_goes_wrong(run: Run) -> None:
    """Tables are gone for a while, each when it is needed."""
    shop = run.stack
    _, session = await begin(shop)
    for table in ("operation", "saleor_event", "installation"):
        await run.without_table(table)
        await shop.saleor.initialize((await shop.saleor.create_checkout()).id, data=BACK)
        await run.ask("GET", f"/pay/return/{order_id_of(session)}")
        await run.with_table(table)
    await run.without_table("notification")
    await shop.gateway.pay(order_id_of(session), card=PAID_WITH.value)
    await run.ask("POST", f"/api/webhooks/gateway/{await _account_id(shop)}", data={"data": "", "signature": ""})
    await asyncio.sleep(0)
    await run.with_table("notification")
    await wait_for_event(shop, session.required_transaction.id, "CHARGE_SUCCESS")


async def the_operator_looks(run: Run, order_id: str) -> None:
    """Everything that the command line shows, for people and for programs."""
    account = await _account_id(run.stack)
    for words in (
        ["payments", "list"],
        ["payments", "show", order_id],
        ["accounts", "list"],
        ["accounts", "show", account],
        ["accounts", "check"],
        ["channels", "list"],
        ["installations", "list"],
        ["card-keys", "list"],
    ):
        await run.command(*words)
        await run.command(*words, "--json")
    assert order_id.encode() in run.left[f"saleor-gateway payments show {order_id} --json"]


async def _account_id(shop: Stack) -> str:
    async with open_services(shop.settings) as services:
        return (await services.accounts.all())[0].id


async def secrets_of(run: Run) -> list[Secret | SecurityCode]:
    """Return everything of this run that nobody may find."""
    settings = run.stack.settings
    tokens = [app.token for app in await run.stack.saleor.apps()]
    card_tokens = {payment.cc_token for payment in await run.stack.gateway.payments() if payment.cc_token}
    async with open_services(settings) as services:
        books = [services.card_keys.for_store(installation.id) for installation in await services.installations.all()]
        private = [json.loads(book.private_jwk(key)) for book in books for key in await book.all()]
    assert tokens
    assert private
    return [
        Secret("API key", POINT.api_key),
        Secret("API secret", POINT.api_secret.get_secret_value()),
        Secret("endpoints key", POINT.endpoints_key.get_secret_value()),
        Secret("vault's key", read_keys_as_text(settings.key_file)),
        *(Secret("Saleor's token", token) for token in tokens),
        *(Secret("card token", token) for token in sorted(card_tokens)),
        *(
            Secret(f"member {name} of the storefront key", jwk[name])
            for jwk in private
            for name in ("d", "p", "q", "dp")
        ),
        WRONG,
        MADE_UP,
        *(Secret("what the Dashboard hands to staff", page_text) for page_text in run.of_staff),
        BY_APPLE,
        *(Secret("the gateway's token for a wallet's", token) for token in set(run.tokens)),
        TOKEN,
        TYPED,
        PAID_WITH,
        PAID_OUT_TO,
        CODE,
    ]


def read_keys_as_text(file: Path) -> str:
    """Return the key as it stands in its file."""
    assert read_keys(file)
    return file.read_text().split()[0].rstrip("=")


@pytest.mark.long  # tests/secrets looks at each place by itself
@pytest.mark.threat("secrets-in-logs", "card-numbers", "stolen-database")
async def test_nothing_secret_is_left_behind(run: Run) -> None:
    order_id = await all_goes_well(run)
    await cards_are_typed_in_the_storefront(run)
    await cards_are_kept(run)
    await wallets_pay(run)
    await money_is_paid_out(run)
    await the_gateway_goes_wrong(run)
    await the_keys_are_wrong(run)
    await shoppers_and_strangers_go_wrong(run)
    await saleor_goes_wrong(run)
    await the_database_goes_wrong(run)
    await the_operator_looks(run, order_id)

    secrets, left = await secrets_of(run), await run.collect()
    assert len(left["the app's output"]) > 5_000, "the app was to be talkative"
    assert b"OperationalError" in left["the app's output"] or b"ProgrammingError" in left["the app's output"]
    assert not (found := find_secrets(secrets, left)), "\n".join(found)
    # Shoppers are named in the database, to Saleor, and to staff. Logs are no place for them.
    named = [Secret("shopper's address", "taras@example.com"), Secret("shopper's name", "Шевченко")]
    assert find_secrets(named, {"the app's output": left["the app's output"]}) == []
    # Whoever types of whom a payout is for reads it once more, on the next page, and nobody anywhere else.
    elsewhere = {place: content for place, content in left.items() if "/parts/payouts/review" not in place}
    assert len(elsewhere) < len(left)
    assert not (found := find_secrets([DOCUMENT, BIRTHPLACE], elsewhere)), "\n".join(found)
    assert find_secrets([DOCUMENT], left), "staff do read it"

    # What the hunt does not find means something only if it finds: one planted in each place is.
    for secret in secrets:
        for place, content in left.items():
            assert find_secrets([secret], {place: content + b' {"cvv": "' + secret.value.encode() + b'"}'}), (
                secret.name,
                place,
            )
