"""What operators do at night: find a payment, ask the gateway, settle by hand, tell Saleor again, replay."""

import sqlite3
from decimal import Decimal

import pytest
from sqlmodel import select

from app.core.vocabulary import EventState, Kind, State
from app.services import Services
from app.store.tables import MerchantAccount, SaleorEvent
from gateway_client.notification import digest, encode
from tests.commands.books import BEGUN, ORDER, TRANSACTION, event, moment_after, operation, store_payment
from tests.commands.conftest import POS_ID, PointOfSale, Shell, one_database

REFUND = {"amount": Decimal("30.00"), "updated_at": BEGUN, "next_poll_at": moment_after(minutes=1)}


async def a_refund_hangs(services: Services, account: MerchantAccount) -> None:
    refund = operation(Kind.REFUND, State.UNKNOWN, psp_reference="saleors-name", operation_id="gateways-name", **REFUND)
    await store_payment(
        services, account, [operation(operation_id="payment-1"), refund], [event()], order_number="1042"
    )


class TestFinding:
    async def test_by_any_name(self, shell: Shell, services: Services, account: MerchantAccount) -> None:
        await a_refund_hangs(services, account)
        for name in (ORDER, TRANSACTION, "1042", "#1042", "saleors-name", "gateways-name", "payment-1"):
            story = (await shell("payments", "show", name, "--json")).json
            assert story["order_id"] == ORDER, name

    async def test_an_order_with_several_payments(
        self, shell: Shell, services: Services, account: MerchantAccount
    ) -> None:
        await a_refund_hangs(services, account)
        await store_payment(services, account, order_id="second", transaction_id="2", order_number="1042")
        said = await shell("payments", "show", "1042")
        assert ORDER in said.out
        assert "second" in said.out
        assert "use one of their gateway orders" in said.out
        assert [payment["order_id"] for payment in (await shell("payments", "show", "1042", "--json")).json] == [
            "second",
            ORDER,
        ]
        (await shell("payments", "settle", "1042")).failed("several payments match '1042'")

    async def test_lists_are_narrowed_and_paged(
        self, shell: Shell, services: Services, account: MerchantAccount
    ) -> None:
        await a_refund_hangs(services, account)
        for number in range(3):
            await store_payment(
                services, account, order_id=f"number{number}", transaction_id=f"T{number}", channel="pl",
                created_at=moment_after(days=number), updated_at=moment_after(days=number),
            )  # fmt: skip

        async def found(*words: str) -> list[str]:
            return [payment["order_id"] for payment in (await shell("payments", "list", "--json", *words)).json]

        waits = [operation(state=State.INIT, updated_at=moment_after(days=-1))]
        await store_payment(
            services, account, waits, order_id="waits", transaction_id="W", created_at=moment_after(days=-1)
        )
        assert await found("--status", "pending") == ["waits"]
        assert "waits" not in await found("--status", "paid")
        assert await found("--channel", "pl") == ["number2", "number1", "number0"]
        assert await found("--account", "Shop", "--since", "2026-11-22", "--until", "2026-11-22") == ["number1"]
        assert await found("--search", "NUMBER") == ["number2", "number1", "number0"]
        assert await found("--search", "%") == []
        assert await found("--limit", "2") == ["number2", "number1"]
        assert await found("--limit", "2", "--after", "number1") == ["number0", ORDER]
        assert "--after number1" in (await shell("payments", "list", "--limit", "2")).out
        assert (await shell("payments", "list", "--channel", "no")).out == "No matching payments found.\n"


class TestSettling:
    async def test_by_hand(self, shell: Shell, services: Services, account: MerchantAccount) -> None:
        await a_refund_hangs(services, account)
        settle = ("payments", "settle", "1042", "--as", "success")
        (await shell(*settle)).failed("give a --reason", status=2)
        reason = ("--reason", "seen in the portal", "--by", "olena")
        (await shell(*settle, *reason)).failed("this is not an interactive terminal: confirm with --yes", status=2)
        (await shell(*settle, *reason, "--amount", "31", "--yes")).failed("30.00 was requested, so it cannot be 31")
        said = await shell(*settle, *reason, "--amount", "25.5", "--yes")
        assert (said.status, said.out) == (0, f"{ORDER}: partially refunded\n")

        story = (await shell("payments", "show", ORDER, "--json")).json
        assert story["refunded"] == Decimal("25.50")
        [settled] = [entry for entry in story["timeline"] if entry["what"] == "settled"]
        assert (settled["who"], settled["by"], settled["amount"]) == ("staff", "olena", Decimal("25.50"))
        assert "by hand as success (olena): seen in the portal" in settled["words"]
        told = [entry for entry in story["timeline"] if entry.get("type") == "REFUND_SUCCESS"]
        assert [(entry["psp_reference"], entry["amount"]) for entry in told] == [("saleors-name", Decimal("25.50"))]
        (await shell(*settle, *reason, "--yes")).failed("Nothing is open: specify the operation (1 (create")

    @one_database
    async def test_what_goes_only_with_as(self, shell: Shell, services: Services, account: MerchantAccount) -> None:
        await a_refund_hangs(services, account)
        (await shell("payments", "settle", ORDER, "--amount", "1")).failed("require --as", status=2)
        words = ("--as", "success", "--reason", "r", "--amount", "NaN")
        (await shell("payments", "settle", ORDER, *words)).failed("'NaN' is not an amount", status=2)

    @one_database
    async def test_by_asking_the_gateway(
        self, shell: Shell, services: Services, account: MerchantAccount, pos: PointOfSale
    ) -> None:
        await store_payment(services, account, [operation(), operation(Kind.REFUND, State.PENDING, **REFUND)])
        said = await shell("payments", "settle", ORDER)
        assert (said.status, said.out) == (0, f"{ORDER}: paid, refund under way\n")
        assert pos.asked == [f"/api/v1/pos/{POS_ID}/orders/{ORDER}"]
        pos.keys["GATEWAY_API_SECRET"] = "another"
        said = await shell("payments", "settle", ORDER)
        assert said.status == 1
        assert "error: the request to the gateway failed: Invalid credentials\n" in said.err

    @one_database
    async def test_notifications_are_asked_for_again(
        self, shell: Shell, services: Services, account: MerchantAccount, pos: PointOfSale
    ) -> None:
        await a_refund_hangs(services, account)
        said = await shell("payments", "resend", ORDER)
        assert said.status == 0
        assert pos.asked == [f"/api/v1/pos/{POS_ID}/orders/{ORDER}/{method}" for method in ("purchase", "refund")]
        assert said.out == "purchase: the gateway has no record\nrefund: the gateway has no record\n"


class TestEvents:
    async def test_refused_ones_are_told_again(
        self, shell: Shell, services: Services, account: MerchantAccount
    ) -> None:
        refused = event("CHARGE_SUCCESS", EventState.REFUSED, last_error="INCORRECT_DETAILS", psp_reference="a")
        await store_payment(services, account, events=[refused, event("INFO")])
        assert "INCORRECT_DETAILS" in (await shell("events", "list")).out
        [only] = (await shell("events", "list", "--refused", "--json")).json
        assert (only["order_id"], only["type"], only["state"]) == (ORDER, "CHARGE_SUCCESS", "refused")
        assert (await shell("events", "list", "--waiting")).out == "No such events.\n"

        number = str(only["event"])
        assert (await shell("events", "retry", "--all-refused")).out == f"Sent to Saleor again: {number}\n"
        async with services.database.transaction() as session:
            row = (await session.exec(select(SaleorEvent).where(SaleorEvent.psp_reference == "a"))).one()
        assert (row.state, row.next_attempt_at is not None) == (EventState.WAITING, True)
        assert (await shell("events", "retry", number, "--json")).json == {"again": [int(number)], "left": []}
        (await shell("events", "retry")).failed("give the numbers of events, or --all-refused", status=2)
        said = await shell("events", "retry", "99")
        assert (said.status, said.out) == (1, "Sent to Saleor again: nothing\n")


class TestNotifications:
    @staticmethod
    async def keep(services: Services, account: MerchantAccount, order_id: str) -> None:
        record = {
            "pos_id": POS_ID, "mode": "hosted", "method": "purchase", "amount": Decimal("100.00"), "currency": "UAH",
            "order_id": order_id, "payment_id": "payment-1", "status": "success", "status_code": "1000",
            "cc_mask": "424242******4242", "created_at": "2026-11-21T12:00:00Z",
        }  # fmt: skip
        data = encode(record)
        await services.inbox.store(account_id=account.id, digest=digest(data), data=data, order_id=order_id, now=BEGUN)

    async def test_what_came_before_its_payment_is_replayed(
        self, shell: Shell, services: Services, account: MerchantAccount
    ) -> None:
        await self.keep(services, account, ORDER)
        assert (await shell("notifications", "replay", "1")).out == "1 of 1: 1: no payment of ours has this order\n"
        assert (await shell("notifications", "list", "--failed")).out == "No such notifications.\n"
        [only] = (await shell("notifications", "list", "--unmatched", "--json")).json
        assert (only["notification"], only["order_id"]) == (1, ORDER)

        await store_payment(services, account, [operation(state=State.INIT)])
        said = await shell("notifications", "replay", "--unmatched")
        assert said.out == "1 of 1: 1: create success\n"
        assert (await shell("payments", "show", ORDER, "--json")).json["standing"] == "paid"
        assert "4242" not in (await shell("notifications", "list")).out
        (await shell("notifications", "replay")).failed("give the numbers of notifications, or one of", status=2)
        missing = await shell("notifications", "replay", "99", "--json")
        assert missing.json[0]["outcome"] == "there is no such notification"
        assert missing.status == 1
        assert "do not exist" in missing.err

    @pytest.mark.fault("key-lost")
    @one_database
    async def test_what_no_key_opens_is_told(
        self, shell: Shell, services: Services, account: MerchantAccount, environment: dict[str, str]
    ) -> None:
        await store_payment(services, account, [operation(state=State.INIT)])
        await self.keep(services, account, ORDER)
        with sqlite3.connect(environment["APP_DATABASE_URL"].removeprefix("sqlite:///")) as database:
            database.execute("UPDATE notification SET data_sealed = 'v1.00000000.AAAA'")
        database.close()
        said = await shell("notifications", "replay", "1")
        assert said.status == 1
        assert "Traceback" not in said.out + said.err
        assert (await shell("notifications", "list", "--failed", "--json")).json[0]["outcome"] == "no key decrypts it"
        assert "that none of our keys can decrypt" in " ".join((await shell("payments", "show", ORDER)).out.split())
