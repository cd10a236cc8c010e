"""Everything about one account: what is shown of it, and what can be changed."""

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from datetime import timedelta
from decimal import Decimal
from html import unescape

import pytest
from sqlalchemy import text
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from app.flows.reconciliation.run import begin_run
from app.rules.accounts.option import Form
from app.rules.accounts.options import OPTIONS
from app.rules.addresses import Addresses
from app.store.reconciliations import list_runs, update_run
from app.store.tables import MerchantAccount, ProductsForm, RunState
from app.web.dashboard.set_up.forms import GROUPS
from integration_base_tests.loopback import serve_app
from tests.commands.books import store_payment
from tests.commands.conftest import KEYS, NEW_KEYS, PointOfSale, one_database, row_of
from tests.dashboard.dashboard_app import StaffClient, open_staff_client
from tests.dashboard.set_up.conftest import LONG_KEYS
from tests.payments.shop import run_concurrently
from tests.payments.split.people import MARKET, POTTER, SMITH

NO_KEYS = {"api_key": "", "api_secret": "", "endpoints_key": "", "grace": "24"}
TYPED_KEYS = {
    "api_key": KEYS["GATEWAY_API_KEY"],
    "api_secret": KEYS["GATEWAY_API_SECRET"],
    "endpoints_key": KEYS["GATEWAY_ENDPOINTS_KEY"],
}
SAME = {
    "name": "Main",
    "currencies": "UAH",
    "storefront_origins": "https://shop.example.com",
    "order_timeout": "3600",
    "names_required": "yes",
    "cancel_older": "yes",
    "sector": "general",
    "merchant_mcc": "",
    "description_template": "",
    "products": "none",
    "receipt_delivery": "",
    "order_3ds_bypass": "supported",
    "reconcile_at": "2",
    "dialect": "public",
    "balances_url": "",
    "register_url": "",
}


@dataclass
class Theirs:
    """A server of somebody else: where it is, and the headers of what it was sent."""

    url: str = ""
    headers: list[dict[str, str]] = field(default_factory=list)


async def row(staff_client: StaffClient, account: MerchantAccount) -> MerchantAccount:
    found = await row_of(staff_client.services, account.id)
    assert found is not None
    return found


def test_every_option_of_an_account_is_on_its_page() -> None:
    assert sorted(name for _, names in GROUPS for name in names) == sorted({*OPTIONS} - {"enabled"})


async def test_what_is_shown_of_an_account(staff_client: StaffClient, account: MerchantAccount) -> None:
    page = (await staff_client.see(f"/set-up/accounts/{account.id}")).text
    for words in ("Main", "Live", account.pos_id, account.base_url, "https://shop.example.com", "uah",
                  f"http://127.0.0.1:8100/api/webhooks/gateway/{account.id}",
                  "No notification has arrived yet."):  # fmt: skip
        assert words in page, words
    assert "cannot notify" not in page  # both are on this machine


def operators_part(page: str) -> str:
    """Return what a page says to whoever runs the app, in amber; "" when there is nothing."""
    _, found, rest = page.partition('<section class="problem warn" aria-labelledby="operator">')
    return rest.partition("</section>")[0] if found else ""


@pytest.mark.parametrize(
    "base_url",
    ["http://pay.example.com", "https://pay.example.com:9443", "https://192.168.1.7", "http://127.0.0.1:8100"],
)
async def test_what_only_the_operator_can_mend_is_set_apart_with_a_line_to_ask_for_it(
    staff_client: StaffClient, account: MerchantAccount, base_url: str
) -> None:
    await staff_client.services.accounts.change(account.id, base_url="https://cpay.tranzzo.com", storefront_origins=[])
    shop = staff_client.shop
    shop.services = replace(shop.services, addresses=Addresses(base_url))
    async with open_staff_client(shop) as there:
        there.permissions = staff_client.permissions
        page = (await there.see(f"/set-up/accounts/{account.id}")).text
        listed = (await there.see("/set-up")).text
    told = operators_part(page)
    address = f"{base_url}/api/webhooks/gateway/{account.id}"
    assert f"The gateway cannot send notifications to {address}" in told
    assert "outcomes are known later" in told
    [line] = re.findall(r"<textarea[^>]* readonly[^>]*>([^<]+)</textarea>", told)
    assert "APP_BASE_URL" in line
    assert address in line
    own = page.replace(told, "")
    assert "APP_BASE_URL" not in own
    assert "no storefront is named" in own  # and not "told": that is for the owner to mend
    assert "no storefront is named" not in told
    assert "For the app operator" in listed
    assert "Something is missing" in listed


async def test_an_account_that_only_the_operator_can_help_is_not_called_the_owners_fault(
    staff_client: StaffClient, account: MerchantAccount
) -> None:
    await staff_client.services.accounts.change(account.id, base_url="https://cpay.tranzzo.com")
    page = (await staff_client.see(f"/set-up/accounts/{account.id}")).text
    assert operators_part(page)
    assert "What is missing" not in page
    listed = (await staff_client.see("/set-up")).text
    assert "Something is missing" not in listed
    assert "For the app operator" in listed


@pytest.mark.threat("keys-sent-elsewhere")
async def test_of_keys_no_more_is_shown_than_by_what_they_are_recognised(
    staff_client: StaffClient, account: MerchantAccount, pos: PointOfSale
) -> None:
    path = f"/set-up/accounts/{account.id}"
    assert "••••" not in (await staff_client.see(path)).text  # of short keys four characters would be too much
    pos.keys = LONG_KEYS
    new = dict(zip(("api_key", "api_secret", "endpoints_key"), LONG_KEYS.values(), strict=True))
    page = (await staff_client.do(f"{path}/keys", **NO_KEYS | new)).text
    assert "••••XKEY" in page
    assert "••••XEND" in page
    assert "XSEC" not in page  # whoever has a notification could try secrets out against it


async def test_the_newest_notification_is_told(staff_client: StaffClient, account: MerchantAccount) -> None:
    for order in ("1", "2"):
        await staff_client.services.inbox.store(
            account_id=account.id, digest=order, data="x", order_id=order, now=staff_client.shop.clock()
        )
        staff_client.shop.clock.forward(minutes=1)
    newest = staff_client.shop.clock() - timedelta(minutes=1)
    assert f"{newest:%Y-%m-%dT%H:%M:%SZ}" in (await staff_client.see(f"/set-up/accounts/{account.id}")).text


async def test_up_to_when_its_books_are_compared_is_told(staff_client: StaffClient, account: MerchantAccount) -> None:
    path = f"/set-up/accounts/{account.id}"
    assert "have not been compared with the gateway’s yet" in (await staff_client.see(path)).text
    run_id = await begin_run(staff_client.services, account)
    until = staff_client.shop.clock() - timedelta(minutes=15)
    async with staff_client.services.database.transaction() as session:
        await update_run(session, run_id, covered_until=until)
    page = (await staff_client.see(path)).text
    assert "have been compared with the gateway’s up to" in page
    assert f"{until:%Y-%m-%dT%H:%M:%SZ}" in page


async def test_books_are_compared_at_once_by_the_worker(staff_client: StaffClient, account: MerchantAccount) -> None:
    path = f"/set-up/accounts/{account.id}"
    assert "Compare them now" in (await staff_client.see(path)).text
    for _ in range(2):  # pressed twice it is done once
        page = (await staff_client.do(f"{path}/compare")).text
        assert "The records are being compared." in page
        assert "They are being compared now." in page
        assert "Compare them now" not in page
    async with staff_client.services.database.transaction() as session:
        runs = await list_runs(session, account_id=account.id, most=9)
    assert [(run.state, run.due_at) for run in runs] == [(RunState.RUNNING, staff_client.shop.clock())]


async def test_all_options_are_changed_at_once(staff_client: StaffClient, account: MerchantAccount) -> None:
    wanted = SAME | {
        "name": "Second", "currencies": "UAH\neur", "storefront_origins": "https://a.example https://b.example",
        "order_timeout": "600", "sector": "gambling", "merchant_mcc": "7995", "description_template": "Bet {order}",
        "products": "fiscal", "receipt_delivery": "email", "order_3ds_bypass": "always", "pci_dss_confirmed": "yes",
        "test_project": "yes", "reconcile_at": "23",
        "attributes": "доставка = {metadata.point}, {order}\r\n\r\nshop={channel}",
        "validation_url": "https://a.example/check", "balances_url": "https://balances.example/",
        "register_url": "http://127.0.0.1:7",
    }  # fmt: skip
    del wanted["names_required"], wanted["cancel_older"]
    answer = await staff_client.do(f"/set-up/accounts/{account.id}/options", **wanted, **TYPED_KEYS)
    assert answer.status_code == 200, answer.text
    kept = await row(staff_client, account)
    assert (kept.name, kept.currencies, kept.order_timeout) == ("Second", ["UAH", "EUR"], 600)
    assert kept.storefront_origins == ["https://a.example", "https://b.example"]
    assert (kept.attributes, kept.validation_url) == (
        ["доставка = {metadata.point}, {order}", "shop={channel}"],
        "https://a.example/check",
    )
    assert (kept.sector, kept.merchant_mcc, kept.description_template) == ("gambling", "7995", "Bet {order}")
    assert (kept.products, kept.receipt_delivery, kept.order_3ds_bypass) == (ProductsForm.FISCAL, "email", "always")
    assert (kept.names_required, kept.cancel_older, kept.test_project, kept.reconcile_at) == (False, False, True, 23)
    assert (kept.balances_url, kept.register_url) == ("https://balances.example", "http://127.0.0.1:7")
    assert kept.pci_dss_confirmed_at == staff_client.shop.clock()
    assert 'value="fiscal" selected' in answer.text


@pytest.mark.law(8)
async def test_a_proposed_fee_of_the_payer_is_adopted_and_nothing_else(
    staff_client: StaffClient, account: MerchantAccount
) -> None:
    answer = await staff_client.do(f"/set-up/accounts/{account.id}/adopt", payer_fee_percent="1.5", name="Other")
    assert answer.status_code == 200, answer.text
    kept = await row(staff_client, account)
    assert (kept.payer_fee_percent, kept.name) == (Decimal("1.5"), "Main")


async def test_what_is_as_it_was_is_left_alone(staff_client: StaffClient, account: MerchantAccount) -> None:
    path = f"/set-up/accounts/{account.id}/options"
    await staff_client.do(path, **SAME, pci_dss_confirmed="yes")
    confirmed = await row(staff_client, account)
    staff_client.shop.clock.forward(days=1)
    answer = await staff_client.do(path, **SAME, pci_dss_confirmed="yes")
    assert "Nothing was changed" in answer.text
    assert await row(staff_client, account) == confirmed
    await staff_client.do(path, **SAME)
    assert (await row(staff_client, account)).pci_dss_confirmed_at is None


@one_database
@pytest.mark.parametrize(
    ("field", "typed"),
    [("name", ""), ("currencies", ""), ("storefront_origins", "shop.example.com"), ("order_timeout", "an hour"),
     ("sector", "casino"), ("merchant_mcc", "12"), ("description_template", "{name}"), ("attributes", "x={phone}"),
     ("validation_url", "https://10.0.0.1/"), ("products", "all"),
     ("receipt_delivery", "pigeon"), ("order_3ds_bypass", "maybe"), ("balances_url", "http://balances.example"),
     ("register_url", "ftp://x")],
)  # fmt: skip
async def test_a_value_that_cannot_be_is_refused_with_its_field(
    staff_client: StaffClient, account: MerchantAccount, field: str, typed: str
) -> None:
    answer = await staff_client.do(f"/set-up/accounts/{account.id}/options", **SAME | {field: typed})
    assert (answer.status_code, list(answer.json()["detail"]["fields"])) == (422, [field])
    assert answer.json()["detail"]["message"].startswith(f"{OPTIONS[field].title}: ")
    assert (await row(staff_client, account)).updated_at == account.updated_at


@one_database
async def test_all_values_that_cannot_be_are_told_at_once_and_nothing_is_saved(
    staff_client: StaffClient, account: MerchantAccount
) -> None:
    wrong = {"name": "", "order_timeout": "an hour", "merchant_mcc": "12", "register_url": "ftp://x"}
    answer = await staff_client.do(f"/set-up/accounts/{account.id}/options", **SAME | wrong)
    detail = answer.json()["detail"]
    assert detail["fields"] == {name: str(OPTIONS[name].rule) for name in wrong}
    assert all(f"{OPTIONS[name].title}: " in detail["message"] for name in wrong)
    assert (await row(staff_client, account)).updated_at == account.updated_at


@one_database
@pytest.mark.threat("ssrf-gateway")
async def test_a_private_address_is_told_with_all_else_that_is_wrong(
    staff_client: StaffClient, account: MerchantAccount
) -> None:
    shop = staff_client.shop
    shop.services = replace(shop.services, addresses=Addresses("https://pay.example.com"))
    await staff_client.services.accounts.change(account.id, register_url="http://10.0.0.8/register")
    wrong = {"order_timeout": "an hour", "balances_url": "https://10.0.0.7/balances"}
    by_the_operator = {"register_url": "http://10.0.0.8/register"}
    async with open_staff_client(shop) as public:
        public.permissions = staff_client.permissions
        answer = await public.do(f"/set-up/accounts/{account.id}/options", **SAME | by_the_operator | wrong)
    assert answer.json()["detail"]["fields"].keys() == wrong.keys()


@one_database
async def test_numbers_are_written_as_the_pages_language_writes_them(
    staff_client: StaffClient, account: MerchantAccount
) -> None:
    rules = {"mode": "percentages", "percentages": {POTTER: "33.35", SMITH: "66.65"}}
    await staff_client.services.accounts.change(account.id, payer_fee_percent=Decimal("1.50"), split_rules=rules)
    staff_client.http.headers["Accept-Language"] = "uk"
    path = f"/set-up/accounts/{account.id}"
    page = (await staff_client.see(path)).text
    assert re.search('name="payer_fee_percent"[^>]* value="1,50" inputmode="decimal"', page)
    assert re.findall(r'name="seller\.[0-9]\.share" value="([^"]+)"', page) == ["33,35", "66,65"]
    answer = await staff_client.do(f"{path}/options", **SAME | {"payer_fee_percent": "1,50"})
    assert answer.status_code == 200, answer.text
    assert (await row(staff_client, account)).payer_fee_percent == Decimal("1.5")
    table = {f"seller.{number}.{name}": text for number, seller in enumerate((POTTER, SMITH))
             for name, text in (("name", ""), ("id", seller), ("share", "33,35"))}  # fmt: skip
    answer = await staff_client.do(f"{path}/split", **table, mode="percentages", do="save")
    assert "66,70" in answer.json()["detail"]["fields"]["seller.1.share"]


@one_database
@pytest.mark.parametrize(
    ("currencies", "typed", "limit", "written"),
    [("KWD\nUAH", "10.250", "10.25", "10.25"), ("JPY", "50,000", "50000", "50000")],
)
async def test_limits_of_payouts_are_typed_in_the_decimals_of_their_currency(
    staff_client: StaffClient, account: MerchantAccount, *, currencies: str, typed: str, limit: str, written: str
) -> None:
    path = f"/set-up/accounts/{account.id}"
    form = SAME | {"currencies": currencies, "payout_most": typed}
    answer = await staff_client.do(f"{path}/options", **form)
    assert answer.status_code == 200, answer.text
    assert (await row(staff_client, account)).payout_most == Decimal(limit)
    page = (await staff_client.see(path)).text
    [shown] = re.findall('name="payout_most"[^>]* value="([^"]+)" inputmode="decimal"', page)
    assert shown == written
    answer = await staff_client.do(f"{path}/options", **form | {"payout_most": shown})
    assert (await row(staff_client, account)).payout_most == Decimal(limit)


class TestKeys:
    async def test_new_keys_are_tried_out_before_they_are_kept(
        self, staff_client: StaffClient, account: MerchantAccount, pos: PointOfSale
    ) -> None:
        path = f"/set-up/accounts/{account.id}/keys"
        new = NO_KEYS | {"api_secret": NEW_KEYS["GATEWAY_API_SECRET"]}
        answer = await staff_client.do(path, **new)
        assert answer.json()["detail"]["code"] == "KEYS_REFUSED"
        assert (await row(staff_client, account)).api_secret_sealed == account.api_secret_sealed

        pos.keys = KEYS | {"GATEWAY_API_SECRET": NEW_KEYS["GATEWAY_API_SECRET"]}
        answer = await staff_client.do(path, **new)
        assert "still verifies notifications until" in answer.text
        keys = staff_client.services.accounts.keys(await row(staff_client, account))
        assert (keys.api_secret, keys.previous_api_secret) == (
            NEW_KEYS["GATEWAY_API_SECRET"],
            KEYS["GATEWAY_API_SECRET"],
        )
        assert keys.api_key == KEYS["GATEWAY_API_KEY"]

    async def test_the_old_secret_ends_by_itself_or_at_once(
        self, staff_client: StaffClient, account: MerchantAccount, pos: PointOfSale
    ) -> None:
        path, new = f"/set-up/accounts/{account.id}", {"api_secret": NEW_KEYS["GATEWAY_API_SECRET"]}
        pos.keys = KEYS | {"GATEWAY_API_SECRET": new["api_secret"]}
        await staff_client.do(f"{path}/keys", **NO_KEYS | new | {"grace": "1"})
        staff_client.shop.clock.forward(minutes=59)
        assert "still verifies notifications until" in (await staff_client.see(path)).text
        staff_client.shop.clock.forward(minutes=1)
        assert "still verifies notifications until" not in (await staff_client.see(path)).text
        assert staff_client.services.accounts.keys(await row(staff_client, account)).previous_api_secret is None

        await staff_client.do(f"{path}/keys", **NO_KEYS | new)
        assert "still verifies notifications until" not in (await staff_client.do(f"{path}/end-grace")).text
        assert (await row(staff_client, account)).previous_api_secret_sealed is None
        await staff_client.do(f"{path}/keys", **NO_KEYS | new | {"grace": "0"})
        assert (await row(staff_client, account)).previous_api_secret_sealed is None

    async def test_several_old_secrets_are_told_as_several(
        self, staff_client: StaffClient, account: MerchantAccount, pos: PointOfSale
    ) -> None:
        path = f"/set-up/accounts/{account.id}"
        for secret, hours in ((NEW_KEYS["GATEWAY_API_SECRET"], "24"), (LONG_KEYS["GATEWAY_API_SECRET"], "1")):
            pos.keys = KEYS | {"GATEWAY_API_SECRET": secret}
            page = (await staff_client.do(f"{path}/keys", **NO_KEYS | {"api_secret": secret, "grace": hours})).text
            told = ["The previous API secret" in page, "Replaced API secrets" in page, "old secrets now" in page]
            assert told == ([True, False, False] if hours == "24" else [False, True, True])

        staff_client.shop.clock.forward(hours=24)
        assert "verify notifications, each" not in (await staff_client.see(path)).text

    async def test_nothing_typed_changes_nothing(self, staff_client: StaffClient, account: MerchantAccount) -> None:
        answer = await staff_client.do(f"/set-up/accounts/{account.id}/keys", **NO_KEYS)
        assert "Nothing was changed" in answer.text
        answer = await staff_client.do(f"/set-up/accounts/{account.id}/keys", **NO_KEYS | {"grace": "9999"})
        assert list(answer.json()["detail"]["fields"]) == ["grace"]

    async def test_they_are_tried_out_when_somebody_wants_to_know(
        self, staff_client: StaffClient, account: MerchantAccount, pos: PointOfSale
    ) -> None:
        path = f"/set-up/accounts/{account.id}/check"
        page = (await staff_client.do(path)).text
        assert "The gateway accepts the keys of this account." in page
        assert page.count("works</span>") == 3
        pos.areas["balances"] = JSONResponse({"message": "no", "args": {"code": "S-403"}}, 401)
        page = (await staff_client.do(path)).text
        assert "not permitted</span>" in page
        assert "does not allow these keys to use this area [S-403]: ask its support to allow it" in page
        assert "cannot warn you before a refund" in page
        pos.keys = NEW_KEYS
        answer = await staff_client.do(path)
        assert 'data-status="error"' in answer.text
        assert "rejects these keys [S-404]" in answer.text

    @pytest.mark.fault("key-lost")
    async def test_keys_that_cannot_be_opened_are_no_stack_trace(
        self, staff_client: StaffClient, account: MerchantAccount
    ) -> None:
        await staff_client.services.accounts.change(account.id, api_key_sealed="v1:nobody:opens:this")
        page = (await staff_client.see(f"/set-up/accounts/{account.id}")).text
        assert "The keys of this account cannot be decrypted" in operators_part(page)
        assert "APP_SECRET_KEY_FILE" in operators_part(page)
        for path in ("check", "keys"):
            form = NO_KEYS | {"api_key": "new"}
            answer = await staff_client.do(f"/set-up/accounts/{account.id}/{path}", **form)
            assert (answer.status_code, answer.json()["detail"]["code"]) == (409, "SEALED")


async def test_a_wallet_that_the_gateway_does_not_allow_stays_off_and_it_is_said_beside_its_field(
    staff_client: StaffClient, account: MerchantAccount, pos: PointOfSale
) -> None:
    path = f"/set-up/accounts/{account.id}/options"
    pos.areas["apple_pay"] = JSONResponse({"message": "Not enabled", "args": {"code": "4152"}}, 400)
    answer = await staff_client.do(path, **SAME, apple_pay="yes", google_pay="yes")
    detail = answer.json()["detail"]
    assert (answer.status_code, detail["code"], list(detail["fields"])) == (422, "WALLET_NOT_TAKEN", ["apple_pay"])
    assert "does not offer this for this point of sale [4152]" in str(detail)
    kept = await row(staff_client, account)
    assert (kept.apple_pay, kept.google_pay) == (False, False)

    del pos.areas["apple_pay"]
    assert (await staff_client.do(path, **SAME, apple_pay="yes", google_pay="yes")).status_code == 200
    kept = await row(staff_client, account)
    assert (kept.apple_pay, kept.google_pay) == (True, True)


async def test_another_gateway_is_tried_out_before_the_account_moves(
    staff_client: StaffClient, account: MerchantAccount, pos: PointOfSale
) -> None:
    path, there = f"/set-up/accounts/{account.id}/gateway", {"gateway": "", "scheme_word": ""}
    answer = await staff_client.do(path, **there, **TYPED_KEYS, base_url="http://127.0.0.1:9")
    assert answer.json()["detail"]["code"] == "NO_CONNECTION"
    pos.scheme_word = "OPAY"
    assert (await staff_client.do(path, **there | {"scheme_word": "OPAY"}, base_url="")).status_code == 200
    kept = await row(staff_client, account)
    assert (kept.base_url, kept.scheme_word) == (pos.url, "OPAY")


class TestNobodyIsSentTheKeysBecauseStaffSaySo:
    """Whoever may manage the store's apps need not know its keys, and a server of theirs must not learn them."""

    @pytest.fixture
    async def theirs(self) -> AsyncIterator[Theirs]:
        """A server of somebody on the staff, which writes down what it is sent and knows how a gateway says no."""
        heard = Theirs()

        async def answer(request: Request) -> Response:
            heard.headers.append(dict(request.headers))
            return JSONResponse({"message": "Order not found", "args": {"code": "P-404"}}, 404)

        async with serve_app(Starlette(routes=[Route("/{any:path}", answer)])) as heard.url:
            yield heard

    @pytest.mark.threat("keys-sent-elsewhere")
    @one_database
    @pytest.mark.parametrize("typed", [{}, {"api_key": "x", "api_secret": "y"}, {"api_key": "", "endpoints_key": " "}])
    @pytest.mark.parametrize("name", ["base_url", "balances_url", "register_url"])
    async def test_without_all_keys_no_address_changes(
        self, staff_client: StaffClient, account: MerchantAccount, theirs: Theirs, name: str, typed: dict[str, str]
    ) -> None:
        before, form = await row(staff_client, account), "gateway" if name == "base_url" else "options"
        said = (SAME if form == "options" else {"gateway": "", "scheme_word": ""}) | {name: theirs.url} | typed
        answer = await staff_client.do(f"/set-up/accounts/{account.id}/{form}", **said)
        assert (answer.status_code, answer.json()["detail"]["code"]) == (422, "KEYS_NEEDED")
        assert list(answer.json()["detail"]["fields"]) == [key for key in TYPED_KEYS if not typed.get(key, "").strip()]
        assert await row(staff_client, account) == before
        await staff_client.do(f"/set-up/accounts/{account.id}/check")
        assert theirs.headers == []

    @pytest.mark.threat("keys-sent-elsewhere")
    async def test_whoever_makes_keys_up_is_sent_those(
        self, staff_client: StaffClient, account: MerchantAccount, theirs: Theirs
    ) -> None:
        made_up = {"api_key": "made-up-1", "api_secret": "made-up-2", "endpoints_key": "made-up-3"}
        said = {"gateway": "", "scheme_word": "", "base_url": theirs.url} | made_up
        answer = await staff_client.do(f"/set-up/accounts/{account.id}/gateway", **said)
        assert answer.json()["detail"]["code"] == "ANY_KEYS"
        assert len(theirs.headers) == 3  # the look-up of no order, with these and with others; and balances
        for secret in KEYS.values():
            assert secret not in str(theirs.headers)
        assert (await row(staff_client, account)).base_url == account.base_url

    async def test_balances_may_always_be_asked_for_where_payments_are_made(
        self, staff_client: StaffClient, account: MerchantAccount, theirs: Theirs
    ) -> None:
        path = f"/set-up/accounts/{account.id}/options"
        await staff_client.do(path, **SAME | {"balances_url": theirs.url}, **TYPED_KEYS)
        assert (await row(staff_client, account)).balances_url == theirs.url
        assert (await staff_client.do(path, **SAME)).status_code == 200
        assert (await row(staff_client, account)).balances_url is None

    async def test_keys_that_are_typed_again_are_not_replaced(
        self, staff_client: StaffClient, account: MerchantAccount, theirs: Theirs
    ) -> None:
        staff_client.shop.clock.forward(hours=1)
        await staff_client.do(
            f"/set-up/accounts/{account.id}/options", **SAME | {"register_url": theirs.url}, **TYPED_KEYS
        )
        kept = await row(staff_client, account)
        assert kept.register_url == theirs.url
        assert kept.previous_api_secret_until == account.previous_api_secret_until


async def test_switched_off_and_on_again(staff_client: StaffClient, account: MerchantAccount) -> None:
    path = f"/set-up/accounts/{account.id}/switch"
    assert "Switched off" in (await staff_client.do(path, enabled="no")).text
    assert not (await row(staff_client, account)).enabled
    await staff_client.do(path, enabled="yes")
    assert (await row(staff_client, account)).enabled


async def test_removed_or_kept_for_its_payments(staff_client: StaffClient, account: MerchantAccount) -> None:
    await store_payment(staff_client.services, account)
    answer = await staff_client.do(f"/set-up/accounts/{account.id}/remove")
    assert "It is kept for the payments" in answer.text
    assert not (await row(staff_client, account)).enabled
    async with staff_client.services.database.transaction() as session:
        for table in ("operation", "payment"):
            await session.exec(text(f"DELETE FROM {table}"))  # type: ignore[call-overload] # noqa: S608 - two words
    answer = await staff_client.do(f"/set-up/accounts/{account.id}/remove")
    assert "The account and its keys were deleted." in answer.text
    assert answer.headers["content-location"] == "/set-up"
    assert await staff_client.services.accounts.all() == []


class TestSplit:
    RULES = f'mode = "percentages"\npercentages = {{ "{POTTER}" = 33.35, "{SMITH}" = 66.65 }}'

    async def test_rules_are_checked_shown_and_kept(self, staff_client: StaffClient, account: MerchantAccount) -> None:
        path = f"/set-up/accounts/{account.id}/split"
        checked = await staff_client.do(path, rules=self.RULES, do="check")
        assert "The rules are valid. Nothing was saved" in checked.text
        assert "669.97" in checked.text
        assert (await row(staff_client, account)).split_rules is None

        kept = await staff_client.do(path, rules=self.RULES, do="save")
        assert "669.97" in kept.text
        rules = (await row(staff_client, account)).split_rules
        assert rules is not None
        assert rules["percentages"] == {POTTER: "33.35", SMITH: "66.65"}

        await staff_client.do(path, rules="", do="save")
        assert (await row(staff_client, account)).split_rules is None

    async def test_of_two_who_save_rules_at_once_one_is_told(
        self, staff_client: StaffClient, account: MerchantAccount
    ) -> None:
        page = (await staff_client.see(f"/set-up/accounts/{account.id}")).text
        version = re.search(r'name="version" value="([^"]+)"', page)
        assert version is not None
        both = [f'mode = "percentages"\npercentages = {{ "{who}" = 100 }}' for who in (POTTER, SMITH)]
        path = f"/set-up/accounts/{account.id}/split"
        saves = (staff_client.do(path, rules=rules, do="save", version=version[1]) for rules in both)
        answers = await run_concurrently(*saves)
        assert sorted(answer.status_code for answer in answers) == [200, 409]
        refused = next(answer for answer in answers if answer.status_code == 409)
        assert refused.json()["detail"]["code"] == "RULES_CHANGED"
        assert "somebody else has saved other rules" in refused.json()["detail"]["fields"]["anyway"]

    @one_database
    async def test_the_example_is_in_the_pages_language(
        self, staff_client: StaffClient, account: MerchantAccount
    ) -> None:
        staff_client.http.headers["Accept-Language"] = "uk"
        path, rules = f"/set-up/accounts/{account.id}/split", f'mode = "metadata"\ndefault = "{MARKET}"'
        page = (await staff_client.do(path, rules=rules, do="check")).text
        section = page[page.index('<h2 id="split"') : page.index('<details class="group" id="split-table"')]
        words = unescape(re.sub(r"<[^>]+>", " ", section)).replace(MARKET, "")
        for sentence in ("2 кухлі: 239,98", "замість 449,99", "субпродавця не вказано", "Покупець платить"):
            assert sentence in words
        assert 'lang="en"' not in section
        assert {*re.findall("[A-Za-z]{2,}", re.sub(r"\b[0-9a-f]+(-[0-9a-f]+)+\b", "", words))} == {"UAH"}

    async def test_table_says_who_gets_what_and_keeps_the_other_rules(
        self, staff_client: StaffClient, account: MerchantAccount
    ) -> None:
        path = f"/set-up/accounts/{account.id}/split"
        await staff_client.do(path, rules=f'mode = "metadata"\ndefault = "{MARKET}"\ndiscounts = "default"', do="save")
        table = {
            "mode": "metadata", "rest": "0",
            "seller.0.name": "The market", "seller.0.id": MARKET, "seller.0.share": "",
            "seller.new-1.name": "Potter", "seller.new-1.id": f" {POTTER.upper()} ", "seller.new-1.share": "12",
            "seller.2.name": "", "seller.2.id": "", "seller.2.share": "",
        }  # fmt: skip
        checked = await staff_client.do(path, **table, do="check")
        assert "The rules are valid. Nothing was saved" in checked.text
        saved = await staff_client.do(path, **table, do="save")
        assert f'name="seller.1.id" value="{POTTER}"' in saved.text
        assert "discounts = &#34;default&#34;" in saved.text  # as text, in TOML
        rules = (await row(staff_client, account)).split_rules
        assert rules is not None
        assert (rules["default"], rules["discounts"], rules["percentages"]) == (MARKET, "default", {})
        assert rules["names"] == {MARKET: "The market", POTTER: "Potter"}

        shares = table | {"mode": "percentages", "rest": "", "seller.0.share": "33,35", "seller.new-1.share": "66.65 %"}
        await staff_client.do(path, **shares, do="save")
        rules = (await row(staff_client, account)).split_rules
        assert rules is not None
        assert (rules["default"], rules["percentages"]) == (None, {MARKET: "33.35", POTTER: "66.65"})
        await staff_client.do(path, mode="off", do="save")
        assert (await row(staff_client, account)).split_rules is None

    @one_database
    @pytest.mark.parametrize(
        ("wrong", "fields"),
        [
            ({"mode": "by weight"}, ["mode"]),
            ({"seller.0.id": "17", "seller.1.share": "much", "seller.1.name": ""},
             ["seller.0.id", "seller.1.name", "seller.1.share"]),
            ({"seller.1.id": MARKET.upper()}, ["seller.1.id"]),
            ({"seller.1.share": "0"}, ["seller.1.share"]),
            ({"seller.1.share": "NaN"}, ["seller.1.share"]),
            ({"seller.0.share": "49.99"}, ["seller.1.share"]),
            ({"mode": "metadata"}, ["rest"]),
            ({"mode": "metadata", "rest": "2"}, ["rest"]),
            (dict.fromkeys([f"seller.{n}.{c}" for n in "01" for c in ("name", "id", "share")], ""), ["seller.0.id"]),
        ],
    )  # fmt: skip
    async def test_table_errors_are_told_at_their_fields_all_at_once(
        self, staff_client: StaffClient, account: MerchantAccount, wrong: dict[str, str], fields: list[str]
    ) -> None:
        table = {
            "mode": "percentages", "do": "save",
            "seller.0.name": "The market", "seller.0.id": MARKET, "seller.0.share": "50",
            "seller.1.name": "Potter", "seller.1.id": POTTER, "seller.1.share": "50",
            "seller.2.name": "", "seller.2.id": "", "seller.2.share": "",
        }  # fmt: skip
        answer = await staff_client.do(f"/set-up/accounts/{account.id}/split", **table | wrong)
        assert (answer.status_code, sorted(answer.json()["detail"]["fields"])) == (422, fields)
        assert (await row(staff_client, account)).split_rules is None

    @one_database
    @pytest.mark.parametrize(
        ("rules", "words"),
        [("mode =", "neither TOML nor JSON"), ("{", "neither TOML nor JSON"),
         ('{"mode": ["off"]}', "mode: must be one of"),
         ('mode = "metadata"\n\nshipping = lines', "line 3, column 12: shipping = lines"),
         ('mode = "metadata"\nnames = {', "line 2, column 10: names = {"),
         (f'mode = "percentages"\n[percentages]\n{MARKET} = 100\n{POTTER} = 0', "line 4: percentages."),
         (f'mode = "metadata"\ndefault = "{MARKET}x"', "line 2: default: "),
         (f'mode = "metadata"\ndefault = "{MARKET}x"', "is not a sub-merchant")],
    )  # fmt: skip
    async def test_rules_that_are_not_right_are_refused(
        self, staff_client: StaffClient, account: MerchantAccount, rules: str, words: str
    ) -> None:
        answer = await staff_client.do(f"/set-up/accounts/{account.id}/split", rules=rules, do="save")
        assert (answer.status_code, list(answer.json()["detail"]["fields"])) == (422, ["rules"])
        assert words in answer.json()["detail"]["message"]
        assert (await row(staff_client, account)).split_rules is None


@one_database
async def test_fields_for_several_texts_say_how_to_enter_them(staff_client: StaffClient) -> None:
    page = (await staff_client.see(f"/set-up/accounts/{staff_client.shop.account.id}")).text
    for option in OPTIONS.values():
        if option.form is Form.TEXTS:
            help_text = re.findall(rf'id="help-{option.name}">(.*?)</p>', page)
            assert [text.endswith(" One in each line.") for text in help_text] == [True], option.name
