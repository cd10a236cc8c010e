"""The second step: which account takes the money of which channel; and the pages before and after it."""

import re

import pytest
from starlette.responses import JSONResponse, Response

from app.core.payment import Payment, row_id_of
from app.core.vocabulary import Kind, State
from app.store.aggregates import ById
from app.store.tables import MerchantAccount
from tests.commands.books import operation, store_payment
from tests.commands.conftest import add_account, one_database
from tests.dashboard.dashboard_app import StaffClient, other_store

CHANNELS = [
    {"slug": "uah", "name": "Україна", "currencyCode": "UAH", "isActive": True},
    {"slug": "pl", "name": "Polska <b>", "currencyCode": "PLN", "isActive": True},
    {"slug": "old", "name": "Old", "currencyCode": "UAH", "isActive": False},
]


def open_saleor(staff_client: StaffClient) -> None:
    """Let the store's Saleor tell of its channels."""
    staff_client.saleor.graphql = JSONResponse({"data": {"channels": CHANNELS}})


async def routes(staff_client: StaffClient) -> dict[str, str]:
    found = await staff_client.services.accounts.routes(staff_client.shop.installation.id)
    return {channel_route.channel: channel_route.account_id for channel_route in found}


async def test_channels_are_shown_with_what_they_lack(staff_client: StaffClient) -> None:
    open_saleor(staff_client)
    await staff_client.services.accounts.map_channel("pl", staff_client.shop.account.id)
    await staff_client.services.accounts.map_channel("gone", staff_client.shop.account.id)
    page = (await staff_client.see("/set-up/channels")).text
    for words in ("Україна", "Polska &lt;b&gt;", "the account does not accept its currency", "Shoppers can pay",
                  "the channel is not active in Saleor", "no merchant account is assigned",
                  "the channel no longer exists in Saleor"):  # fmt: skip
        assert words in page, words
    assert page.count("Shoppers can pay") == 1
    assert "Channel slug" not in page


async def test_channels_are_mapped_and_unmapped_together(staff_client: StaffClient) -> None:
    open_saleor(staff_client)
    second = await add_account(
        staff_client.services, staff_client.shop.installation.id, name="Second", currencies=["PLN"]
    )
    wanted = {"account.uah": "", "account.pl": second.id, "account.old": staff_client.shop.account.id}
    answer = await staff_client.http.post("/parts/set-up/channels", headers=staff_client.headers(), data=wanted)
    assert "The channels were saved, but shoppers cannot pay in Old: see below" in answer.text
    assert await routes(staff_client) == {"pl": second.id, "old": staff_client.shop.account.id}


@one_database
async def test_only_accounts_that_accept_a_channels_currency_are_offered(staff_client: StaffClient) -> None:
    open_saleor(staff_client)
    services, first = staff_client.services, staff_client.shop.account
    euro = await add_account(services, staff_client.shop.installation.id, name="Euro", currencies=["EUR"])
    await services.accounts.map_channel("old", euro.id)
    page = (await staff_client.see("/set-up/channels")).text

    def offered(slug: str) -> list[str]:
        select = page.partition(f'name="account.{slug}"')[2].partition("</select>")[0]
        return re.findall(r'value="(\w+)"', select)

    assert offered("uah") == [first.id]
    assert offered("pl") == []
    assert "No merchant account accepts PLN." in page
    assert offered("old") == [first.id, euro.id]  # what it has is kept until somebody chooses


@one_database
async def test_form_of_a_channel_that_was_renamed_meanwhile_saves_nothing(staff_client: StaffClient) -> None:
    renamed = [{**CHANNELS[0], "id": "Q2hhbm5lbDox"}]
    staff_client.saleor.graphql = JSONResponse({"data": {"channels": renamed}})
    account = staff_client.shop.account.id
    await staff_client.services.accounts.map_channel("uah", account)
    await staff_client.see("/set-up/channels")
    staff_client.saleor.graphql = JSONResponse({"data": {"channels": [{**renamed[0], "slug": "ukraine"}]}})

    form = {"account.uah": ""}  # opened before
    answer = await staff_client.http.post("/parts/set-up/channels", headers=staff_client.headers(), data=form)

    assert "the channels have changed in Saleor" in answer.text
    assert await routes(staff_client) == {"ukraine": account}  # followed by Saleor's id


async def test_channel_moves_between_test_and_live_only_when_confirmed(staff_client: StaffClient) -> None:
    open_saleor(staff_client)
    services, live = staff_client.services, staff_client.shop.account
    test = await add_account(
        services, live.installation_id, name="Sandbox", currencies=["UAH", "PLN"], options={"test_project": True}
    )
    await services.accounts.map_channel("uah", live.id)

    async def post(**fields: str) -> str:
        answer = await staff_client.http.post("/parts/set-up/channels", headers=staff_client.headers(), data=fields)
        assert answer.status_code == 200, answer.text
        return answer.text

    async def operations_of(payment: Payment) -> list[Kind]:
        found = await services.payments.find(ById(row_id_of(payment)))
        return [] if found is None else [operation.kind for operation in found.operations]

    form = {"account.uah": test.id, "account.pl": test.id}
    asked = await post(**form)
    assert f"Україна moves from {live.name}, where real money moves, to the test project Sandbox" in asked
    assert "orders count as paid without any money for you" in asked
    assert "Polska" not in asked  # it had no account
    assert await routes(staff_client) == {"uah": live.id}
    # Confirmed for another account is not confirmed.
    await post(**form, **{"move.uah": live.id})
    assert await routes(staff_client) == {"uah": live.id}

    hidden = dict(re.findall(r'type="hidden" name="([^"]*)" value="([^"]*)"', asked))
    assert hidden == {**form, "move.uah": test.id}
    assert "The channels were saved." in await post(**hidden)
    assert await routes(staff_client) == {"uah": test.id, "pl": test.id}
    opened = await store_payment(
        services, test, [operation(state=State.INIT)], channel="uah", checkout_url="https://gateway.example/page"
    )
    back = {"account.uah": live.id}
    assert "shoppers&#39; cards are really charged" in await post(**back)
    assert await operations_of(opened) == [Kind.CREATE]
    await post(**back, **{"move.uah": live.id})
    assert await operations_of(opened) == [Kind.CREATE, Kind.CANCEL]


@one_database
async def test_saving_channels_names_the_shop_of_older_accounts_once(staff_client: StaffClient) -> None:
    services, account = staff_client.services, staff_client.shop.account
    named = await add_account(services, account.installation_id, name="Named", options={"shop_name": "Ours"})
    data = {"channels": CHANNELS, "shop": {"name": "Троянда"}}
    staff_client.saleor.graphql = JSONResponse({"data": data})
    form = {"account.uah": account.id, "account.pl": named.id}
    await staff_client.http.post("/parts/set-up/channels", headers=staff_client.headers(), data=form)
    assert {row.name: row.shop_name for row in await services.accounts.all()} == {
        account.name: "Троянда",
        "Named": "Ours",
    }


@one_database
async def test_success_is_not_told_beside_a_fault(staff_client: StaffClient) -> None:
    open_saleor(staff_client)
    account = staff_client.shop.account
    wanted = {"account.uah": account.id, "account.pl": account.id, "account.old": ""}
    answer = await staff_client.http.post("/parts/set-up/channels", headers=staff_client.headers(), data=wanted)
    assert "saved, but shoppers cannot pay in Polska &lt;b&gt;: see below" in answer.text
    assert 'data-status="error"' in answer.text
    assert "The channels were saved.<" not in answer.text
    assert "You can take payments" not in answer.text

    staff_client.saleor.graphql = JSONResponse({}, 503)
    answer = await staff_client.http.post(
        "/parts/set-up/channels", headers=staff_client.headers(), data={"account.pl": ""}
    )
    assert "so they were not checked" in answer.text
    assert 'class="problem"' not in answer.text

    open_saleor(staff_client)
    await staff_client.services.accounts.change(account.id, storefront_origins=[])
    page = (await staff_client.see("/set-up/channels")).text
    assert "no storefront that shoppers may be sent back to" in page
    assert "Shoppers can pay" not in page


@pytest.mark.parametrize("says", [JSONResponse({}, 503), Response("null"), Response('{"errors": 7}')])
async def test_when_saleor_cannot_be_reached_a_slug_can_be_typed(staff_client: StaffClient, says: Response) -> None:
    staff_client.saleor.graphql = says
    page = (await staff_client.see("/set-up/channels")).text
    assert "The channels could not be loaded from Saleor right now" in page
    account = staff_client.shop.account.id
    typed = {"account.uah": account, "slug": "second-channel", "account_of_slug": account}
    answer = await staff_client.http.post("/parts/set-up/channels", headers=staff_client.headers(), data=typed)
    assert answer.status_code == 200
    assert await routes(staff_client) == {"uah": account, "second-channel": account}
    for slug in ("Second Channel", "канал", "x" * 256):
        answer = await staff_client.http.post(
            "/parts/set-up/channels", headers=staff_client.headers(), data={"slug": slug, "account_of_slug": account}
        )
        assert (answer.status_code, list(answer.json()["detail"]["fields"])) == (422, ["slug"])
    assert len(await routes(staff_client)) == 2


class TestTheFirstVisit:
    async def test_begins_with_an_account_and_goes_on_with_channels(self, nothing: StaffClient) -> None:
        page = (await nothing.see("/")).text
        assert 'aria-current="step"' in page
        assert "Add your merchant account" in page
        assert 'name="api_secret"' in page
        assert "saleor-gateway" not in page  # nobody needs a terminal

        account = await add_account(nothing.services, nothing.shop.installation.id)
        open_saleor(nothing)
        page = (await nothing.see("/")).text
        assert "Україна" in page
        await nothing.services.accounts.map_channel("uah", account.id)
        assert "There is nothing to show yet" in (await nothing.see("/")).text

    async def test_without_an_account_there_is_no_channel_to_be_chosen(self, nothing: StaffClient) -> None:
        open_saleor(nothing)
        assert "You need a merchant account first." in (await nothing.see("/set-up/channels")).text

    @one_database
    @pytest.mark.parametrize(("language", "words"), [("en", "can set it up"), ("uk", "Налаштувати його може")])
    async def test_whoever_may_not_set_it_up_is_told_who_can(
        self, nothing: StaffClient, language: str, words: str
    ) -> None:
        nothing.permissions = ("HANDLE_PAYMENTS",)
        page = (await nothing.see("/", **{"Accept-Language": language})).text
        assert words in page
        assert "“Manage apps”" in page or "«Manage apps»" in page
        assert "set-up" not in page

    @one_database
    async def test_the_account_of_another_store_counts_for_nothing(self, nothing: StaffClient) -> None:
        theirs = await other_store(nothing.shop)
        await nothing.services.accounts.map_channel("uah", theirs.id)
        page = (await nothing.see("/")).text
        assert "Add your merchant account" in page
        assert theirs.pos_id not in page


@one_database
async def test_later_it_is_a_place_in_the_navigation(staff_client: StaffClient, account: MerchantAccount) -> None:
    assert 'href="/set-up"' in (await staff_client.see("/payments")).text
    assert account.name in (await staff_client.see("/set-up")).text
    staff_client.permissions = ("HANDLE_PAYMENTS",)
    assert 'href="/set-up"' not in (await staff_client.see("/payments")).text
