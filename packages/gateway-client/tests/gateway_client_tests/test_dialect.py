"""What the interface leaves open has a name in one place (laws of money, 16)."""

import os
import subprocess
import sys
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

import httpx2
import pytest

from gateway_client.client import GatewayClient
from gateway_client.credentials import Credentials
from gateway_client.dialect import DIALECTS, INTERFACE, PUBLIC, Dialect, Inclusion, PartCapture, TaxesForm, ThreeDs
from gateway_client.errors import InvalidRequestError
from gateway_client.models import FiscalProduct, HostedPayment, Payout, Recipient, Sector, SplitItem, Taxes
from gateway_client.notification import encode, read_notification
from gateway_client.signature import sign
from gateway_client_tests.counterpart import PAYMENT, ScriptedServer
from gateway_client_tests.examples import SHOP, hosted, payout
from integration_base_tests.loopback import json_reply, text_reply

FORM = "https://pay.example/api/v1/checkout/abc/form"
CARD_NUMBER = "4242424242424242"


async def sent_by(
    dialect: Dialect, request: HostedPayment | Payout, credentials: Credentials, gateway: ScriptedServer
) -> dict[str, Any]:
    """Return the body that a client with that dialect sends."""
    async with httpx2.AsyncClient(trust_env=False) as http:
        client = GatewayClient(http, credentials, dialect=dialect)
        if isinstance(request, Payout):
            gateway.will_answer(json_reply({**PAYMENT, "method": "credit", "order_id": request.order_id}))
            await client.pay_out(request, timeout=30)
        else:
            gateway.will_answer(text_reply("", 303, location=FORM))
            await client.create_hosted(request, timeout=30)
    members: dict[str, Any] = gateway.last.json
    return members


class TestPresets:
    def test_an_account_chooses_one_and_changes_single_fields(self) -> None:
        dialect = Dialect.of("interface", {"part_capture": "releases_rest", "time_zone": "Europe/Kyiv"})
        assert dialect.part_capture is PartCapture.RELEASES_REST
        assert dialect.zone.key == "Europe/Kyiv"
        assert dialect.capture_path == INTERFACE.capture_path == "/api/v1/split/capture"
        assert Dialect.of("public", {"part_capture": None}) == PUBLIC

    def test_zones_are_known_on_a_system_that_has_none(self) -> None:
        """A small one has no database of them, and there no account could take money."""
        code = "from gateway_client.dialect import Dialect; print(Dialect(time_zone='Europe/Kyiv').zone)"
        told = subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"PYTHONTZPATH": ""},
            capture_output=True,
            text=True,
            check=True,
        )
        assert told.stdout == "Europe/Kyiv\n"

    @pytest.mark.parametrize("changes", [{"part_capture": "no such word"}, {"no_such_field": "x"}])
    def test_what_is_no_choice_is_refused(self, changes: dict[str, str]) -> None:
        with pytest.raises((ValueError, KeyError)):
            Dialect.of("interface", changes)

    def test_a_library_that_says_nothing_assumes_nothing(self) -> None:
        assert {"interface": Dialect(), "public": PUBLIC} == DIALECTS


class TestWhatIsSent:
    async def test_the_language_of_the_page_only_where_its_values_are_known(
        self, credentials: Credentials, gateway: ScriptedServer
    ) -> None:
        request = hosted(customer_lang="UK")
        assert "customer_lang" not in await sent_by(INTERFACE, request, credentials, gateway)
        assert (await sent_by(PUBLIC, request, credentials, gateway))["customer_lang"] == "UK"

    @pytest.mark.parametrize(
        ("dialect", "word"),
        [(INTERFACE, "always"), (PUBLIC, "supported"), (Dialect(payout_3ds_bypass=ThreeDs.NEVER), "never")],
    )
    async def test_three_d_secure_of_payouts(
        self, dialect: Dialect, word: str, credentials: Credentials, gateway: ScriptedServer
    ) -> None:
        recipient = Recipient(recipient_first_name="Olena")
        sent = await sent_by(dialect, payout(cc_number=CARD_NUMBER, properties=recipient), credentials, gateway)
        assert sent["order_3ds_bypass"] == word

    async def test_who_is_paid_out_is_told_only_where_the_gateway_knows_the_fields(
        self, credentials: Credentials, gateway: ScriptedServer
    ) -> None:
        """Gateway facts, 14; the interface has neither field for payouts, and requires nothing of a recipient."""
        who = {"customer_patronym": "Petrivna", "customer_tax_id": "3123456789", "customer_birthday": "1991-08-24"}
        request = payout(cc_number=CARD_NUMBER, **who)
        sent = await sent_by(INTERFACE, request, credentials, gateway)
        assert {name: sent.get(name) for name in who} == dict.fromkeys(who) | {"customer_birthday": "1991-08-24"}
        assert who.items() <= (await sent_by(PUBLIC, request, credentials, gateway)).items()

    @pytest.mark.parametrize(
        ("sector", "amount", "missing"),
        [
            (Sector.GENERAL, "30000.01", []),
            (Sector.GAMBLING, "30000.01", ["customer_fname", "customer_lname", "customer_birthday"]),
            (Sector.MICROFINANCE, "30000.00", ["customer_fname", "customer_lname", "customer_birthday"]),
            (
                Sector.MICROFINANCE,
                "30000.01",
                ["customer_fname", "customer_lname", "customer_birthday", "customer_tax_id"],
            ),
        ],
    )
    async def test_what_some_sectors_must_say_of_a_recipient(
        self, sector: Sector, amount: str, missing: list[str], credentials: Credentials, gateway: ScriptedServer
    ) -> None:
        request = payout(cc_number=CARD_NUMBER, amount=amount)
        async with httpx2.AsyncClient(trust_env=False) as http:
            client = GatewayClient(http, credentials, dialect=PUBLIC, sector=sector)
            gateway.will_answer(json_reply({**PAYMENT, "method": "credit", "order_id": request.order_id}))
            if not missing:
                await client.pay_out(request, timeout=30)
                return
            with pytest.raises(InvalidRequestError) as refused:
                await client.pay_out(request, timeout=30)
        assert [rule.field for rule in refused.value.broken] == missing

    async def test_a_request_that_chooses_is_sent_as_it_is(
        self, credentials: Credentials, gateway: ScriptedServer
    ) -> None:
        sent = await sent_by(INTERFACE, hosted(order_3ds_bypass="supported"), credentials, gateway)
        assert sent["order_3ds_bypass"] == "supported"

    @pytest.mark.parametrize("taxes", TaxesForm)
    async def test_taxes_of_products_and_of_those_in_a_split(
        self, taxes: TaxesForm, credentials: Credentials, gateway: ScriptedServer
    ) -> None:
        product = FiscalProduct(id=SHOP, name="Mug", amount="100.00", qty=1, unit="pc", taxes=Taxes(type="vat", prc=20))
        split = (SplitItem(sub_merchant_id=SHOP, amount="100.00", products=(product,)),)
        dialect = Dialect(product_taxes=taxes, hold_split=Inclusion.SENT)
        sent = await sent_by(dialect, hosted(products=(product,), split=split), credentials, gateway)
        expected: object = {"type": "vat", "prc": 20}
        if taxes is TaxesForm.LIST:
            expected = [expected]
        assert [sent["products"][0]["taxes"], sent["split"][0]["products"][0]["taxes"]] == [expected, expected]


class TestTimes:
    """They name no zone: 14:30 in Kyiv is 12:30 UTC, in winter."""

    AT_NOON = datetime(2026, 11, 21, 12, 30, tzinfo=UTC)

    async def test_of_a_look_up(self, credentials: Credentials, gateway: ScriptedServer) -> None:
        async with httpx2.AsyncClient(trust_env=False) as http:
            client = GatewayClient(http, credentials, dialect=Dialect(time_zone="Europe/Kyiv"))
            record = {**PAYMENT, "created_at": "2026-11-21T14:30:00.000", "processed_at": "2026-11-21T12:30:00Z"}
            gateway.will_answer(json_reply([record]))
            [found] = await client.get_order(PAYMENT["order_id"], timeout=30)
        assert (found.created_at, found.processed_at) == (self.AT_NOON, self.AT_NOON)  # a zone that is named counts

    def test_of_a_notification(self) -> None:
        data = encode({**PAYMENT, "processed_at": "2026-11-21T14:30:00.000"})
        form = urlencode({"data": data, "signature": sign(data, "secret")}).encode()
        told = read_notification(form, ["secret"], Dialect(time_zone="Europe/Kyiv").zone)
        assert told.record.processed_at == self.AT_NOON
