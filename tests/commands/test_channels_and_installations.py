"""``channel`` and ``installation``."""

from app.core.payment import row_id_of
from app.core.vocabulary import CloseReason, State
from app.services import Services
from app.store.aggregates import ById
from app.store.presence import record_token_check
from app.store.tables import Installation, MerchantAccount
from saleor_app_sdk.testing import ChannelSettings, SaleorSettings, serving
from saleor_app_sdk_tests.testing.stub import open_stub
from tests.commands.books import operation, store_payment
from tests.commands.conftest import APP, SALEOR, PointOfSale, Shell, add_account, install, one_database

OTHER = "https://other.example.com/graphql/"


async def test_a_channel_is_mapped_and_mapped_anew(shell: Shell, services: Services, account: MerchantAccount) -> None:
    other = await add_account(services, account.installation_id, name="Other")
    said = await shell("channels", "map", "default-channel", "Shop")
    assert said.status == 0
    assert said.err == (
        "warning: Saleor does not list its channels right now: whether it has 'default-channel' was not checked\n"
    )
    assert said.out == f"Payments in default-channel ({SALEOR}) now go to 'Shop'.\n"
    assert await services.accounts.for_channel(account.installation_id, "default-channel") == account

    said = await shell("channels", "map", "default-channel", other.id)
    assert said.out == f"Payments in default-channel ({SALEOR}) now go to 'Other', instead of 'Shop'.\n"
    said = await shell("channels", "map", "default-channel", other.id, "--json")
    assert said.json == {
        "saleor": SALEOR,
        "channel": "default-channel",
        "account": other.id,
        "account_name": "Other",
        "account_enabled": True,
        "instead_of": other.id,
    }
    assert [route.account_id for route in await services.accounts.routes()] == [other.id]


@one_database
async def test_channel_moves_between_test_and_live_only_when_confirmed(
    shell: Shell, services: Services, account: MerchantAccount
) -> None:
    await services.accounts.map_channel("default-channel", account.id)
    test = await add_account(services, account.installation_id, name="Sandbox", options={"test_project": True})
    (await shell("channels", "map", "default-channel", "Sandbox")).failed("are no longer charged", status=2)
    assert await services.accounts.for_channel(account.installation_id, "default-channel") == account
    said = await shell("channels", "map", "default-channel", "Sandbox", "--yes")
    assert "now go to 'Sandbox', instead of 'Shop'" in said.out
    opened = await store_payment(
        services,
        test,
        [operation(state=State.INIT)],
        channel="default-channel",
        checkout_url="https://gateway.example/page",
    )
    (await shell("channels", "map", "default-channel", "Shop")).failed("are really charged", status=2)
    assert [route.account_id for route in await services.accounts.routes()] == [test.id]
    assert (await shell("channels", "map", "default-channel", "Shop", "--yes")).status == 0
    found = await services.payments.find(ById(row_id_of(opened)))
    assert found is not None
    assert [done.close_reason for done in found.operations] == [None, CloseReason.LEFT_TEST_PROJECT]
    # The first account of a channel moves nothing.
    assert (await shell("channels", "map", "second-channel", "Shop")).status == 0


async def test_an_account_that_is_switched_off_is_warned_of(
    shell: Shell, services: Services, account: MerchantAccount
) -> None:
    await services.accounts.change(account.id, enabled=False)
    said = await shell("channels", "map", "default-channel", account.id)
    assert said.status == 0
    assert f"saleor-gateway accounts set {account.id} --enable" in said.err
    assert "(switched off)" in (await shell("channels", "list")).out


@one_database
async def test_what_cannot_be_mapped(shell: Shell, services: Services, account: MerchantAccount) -> None:
    (await shell("channels", "map", "Default Channel", "Shop")).failed("is not a channel slug", status=2)
    (await shell("channels", "map", "default-channel", "Shp")).failed("there is no merchant account 'Shp'")
    assert "no merchant" not in (await shell("channels", "list")).out
    assert "saleor-gateway channels map CHANNEL ACCOUNT" in (await shell("channels", "list")).out
    assert (await shell("channels", "list", "--json")).json == []


async def test_a_channel_is_unmapped(shell: Shell, services: Services, account: MerchantAccount) -> None:
    second = await install(services, OTHER)
    twin = await add_account(services, second, name="Twin")
    for one in (account, twin):
        await services.accounts.map_channel("default-channel", one.id)
    await services.accounts.map_channel("uk", account.id)

    (await shell("channels", "unmap", "fr")).failed("the channel 'fr' has no merchant account")
    (await shell("channels", "unmap", "uk", "--saleor", OTHER)).failed("the channel 'uk' has no merchant account")
    (await shell("channels", "unmap", "default-channel")).failed(f"choose one with --saleor ({SALEOR}, {OTHER})")
    (await shell("channels", "unmap", "uk", "--saleor", "https://no.example/")).failed("has not installed this app")
    (await shell("channels", "unmap", "uk", "--saleor", f" {OTHER}\r")).failed(
        "the channel 'uk' has no merchant account"
    )
    said = await shell("channels", "unmap", "default-channel", "--saleor", "https://other.example.com")
    assert said.out == f"The channel default-channel ({OTHER}) no longer has a merchant account.\n"
    said = await shell("channels", "unmap", "uk", "--json")
    assert (said.json["channel"], said.json["account"]) == ("uk", account.id)

    left = (await shell("channels", "list", "--json")).json
    assert [(channel["saleor"], channel["channel"]) for channel in left] == [(SALEOR, "default-channel")]
    assert not await services.accounts.unmap_channel(second, "default-channel")


async def test_installations_are_listed_with_how_far_they_are(
    shell: Shell, services: Services, account: MerchantAccount
) -> None:
    await services.installations.save_pending(
        saleor_api_url=OTHER, saleor_domain="o", schema_version="3.22", token="not-proven"
    )
    said = await shell("installations", "list")
    assert SALEOR in said.out
    assert OTHER in said.out
    assert "activate the app" in said.out
    assert "not-proven" not in said.out
    assert (await shell("installations", "list", "--json")).json == [
        {"saleor": SALEOR, "app_id": "QXBwOjE=", "saleor_version": "3.23", "verified": True,
         "dashboard_url": None, "dashboard_named_by": None, "pending": False, "unauthorised_since": None,
         "accounts": 1},
        {"saleor": OTHER, "app_id": None, "saleor_version": "3.22", "verified": False,
         "dashboard_url": None, "dashboard_named_by": None, "pending": True, "unauthorised_since": None, "accounts": 0},
    ]  # fmt: skip

    await services.installations.save_pending(
        saleor_api_url=SALEOR, saleor_domain="o", schema_version="3.23", token="not-proven"
    )
    assert "installed again:" not in (await shell("installations", "list")).out, "anybody can bring a token"
    await removed(services, account.installation_id)
    assert "installed again:" in (await shell("installations", "list")).out
    assert (await shell("installations", "list", "--json")).json[0]["unauthorised_since"]


async def removed(services: Services, installation_id: int) -> None:
    """Saleor takes the app's token no more."""
    async with services.database.transaction() as session:
        used = (await session.get_one(Installation, installation_id)).token_sealed
        await record_token_check(session, installation_id, services.now(), token_sealed=used, authorised=False)
    services.installations.invalidate()


async def test_an_app_that_was_removed_in_saleor_is_not_called_installed(
    shell: Shell, services: Services, account: MerchantAccount
) -> None:
    await removed(services, account.installation_id)
    assert "removed or switched off" in (await shell("installations", "list")).out
    said = await shell("attention", "--json")
    assert said.status == 1
    assert [finding["what"] for finding in said.json] == ["unauthorised"]
    await install(services)
    assert (await shell("attention")).status == 0


@one_database
async def test_before_the_first_installation_the_manifest_is_named(shell: Shell, services: Services) -> None:
    assert f"{APP}/api/manifest" in (await shell("installations", "list")).out
    assert (await shell("installations", "list", "--json")).json == []


@one_database
async def test_an_operator_says_where_the_dashboard_is(shell: Shell, services: Services, installed: int) -> None:
    said = await shell("installations", "set", "--dashboard-url", "https://dashboard.example.com")
    assert said.out == f"The Dashboard of {SALEOR} is at https://dashboard.example.com/.\n"
    assert "https://dashboard.example.com/" in (await shell("installations", "list")).out
    await install(services)  # installed once more: what the operator has said stands
    listed = (await shell("installations", "list", "--json")).json
    assert [installation["dashboard_url"] for installation in listed] == ["https://dashboard.example.com/"]

    await install(services, OTHER)
    (await shell("installations", "set", "--no-dashboard-url")).failed("choose one with --saleor")
    said = await shell("installations", "set", "--saleor", SALEOR, "--no-dashboard-url", "--json")
    assert said.json["dashboard_url"] is None
    assert (await shell("installations", "set", "--no-dashboard-url", "--saleor", SALEOR)).out == (
        f"The Dashboard of {SALEOR} is at an unknown address.\n"
    )
    await services.installations.set_staff_dashboard(installed, "https://staff.example.com/")
    assert "set by staff" in (await shell("installations", "list")).out
    [first, _] = (await shell("installations", "list", "--json")).json
    assert (first["dashboard_url"], first["dashboard_named_by"]) == ("https://staff.example.com/", "staff")
    (await shell("installations", "set", "--dashboard-url", "javascript:alert(1)")).failed("must be like", status=2)
    (await shell("installations", "set")).failed("--dashboard-url", status=2)


@one_database
async def test_what_channels_lack_is_told_by_their_saleor(shell: Shell, services: Services, pos: PointOfSale) -> None:
    listed = (
        ChannelSettings(slug="uah", name="Україна", currency="UAH"),
        ChannelSettings(slug="pl", name="Polska", currency="PLN"),
    )
    async with serving(SaleorSettings(channels=listed)) as running, open_stub() as stub:
        token = (await running.saleor.install(stub.manifest_url)).token
        assert token is not None
        installation = await install(services, running.saleor.api_url, token)
        account = await add_account(services, installation, storefront_origins=[])
        assert (await shell("channels", "check")).status == 1
        await services.accounts.map_channel("uah", account.id)

        said = await shell("channels", "check")
        assert said.status == 0, said.err
        assert "has no storefront" in " ".join(said.out.split())
        told = (await shell("channels", "check", "--json")).json
        assert not told["unreachable"]
        assert [(channel["channel"], channel["works"], channel["missing"]) for channel in told["channels"]] == [
            ("pl", False, ["account"]),
            ("uah", True, ["storefront"]),
        ]
    said = await shell("channels", "check")
    assert "Saleor does not list its channels right now" in said.err
    assert "uah" in said.out


@one_database
async def test_a_channel_that_saleor_does_not_have_is_not_mapped(
    shell: Shell, services: Services, pos: PointOfSale
) -> None:
    listed = (
        ChannelSettings(slug="uah", name="Україна", currency="UAH"),
        ChannelSettings(slug="pl", name="Polska", currency="PLN"),
    )
    async with serving(SaleorSettings(channels=listed)) as running, open_stub() as stub:
        token = (await running.saleor.install(stub.manifest_url)).token
        assert token is not None
        account = await add_account(services, await install(services, running.saleor.api_url, token))
        await services.accounts.map_channel("gone", account.id)
        for slug in ("uha", "gone"):
            (await shell("channels", "map", slug, account.id)).failed(
                f"{running.saleor.api_url} has no channel '{slug}': nothing was changed; it has pl, uah"
            )
        said = await shell("channels", "map", "uah", account.id)
        assert (said.status, said.err) == (0, "")
    assert {route.channel for route in await services.accounts.routes()} == {"gone", "uah"}


async def test_a_saleor_moves_and_everything_follows(
    shell: Shell, services: Services, account: MerchantAccount
) -> None:
    await services.accounts.map_channel("uk", account.id)
    (await shell("installations", "move", SALEOR, OTHER)).failed("has not installed this app")
    await install(services, OTHER, "the-new-token")
    said = await shell("installations", "move", SALEOR, OTHER)
    assert (said.status, said.err) == (0, "")
    assert f"0 payments, 1 merchant account and 1 channel of the old address belong to {OTHER} now." in " ".join(
        said.out.split()
    )
    assert [installation["saleor"] for installation in (await shell("installations", "list", "--json")).json] == [OTHER]
    assert [channel["channel"] for channel in (await shell("channels", "list", "--json")).json] == ["uk"]
    (await shell("installations", "move", OTHER, OTHER)).failed("same installation")
