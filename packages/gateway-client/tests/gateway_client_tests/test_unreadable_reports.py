"""Lists in which something cannot be read, and compressed ones: nothing of them is lost in silence."""

import gzip
import zlib
from decimal import Decimal

import pytest

from gateway_client.client import GatewayClient
from gateway_client.errors import OutcomeUnknownError, RefusedError
from gateway_client.models import Status
from gateway_client.models.reports import (
    RegisterLine,
    RegisterTicket,
    TransactionLine,
    UnreadableLine,
)
from gateway_client_tests.counterpart import ScriptedServer, lines
from gateway_client_tests.report_lines import (
    LINE,
    all_of_period,
    all_of_register,
    period,
)
from integration_base import exact_json
from integration_base_tests.loopback import Reply, json_reply


class TestWhatCannotBeRead:
    """No money is lost in silence: a line that cannot be read is one, and says so."""

    @pytest.mark.parametrize(
        ("strange", "field"),
        [
            ({"amount": "100,10"}, "amount"),
            ({"amount": "a lot"}, "amount"),
            ({"amount": ["100.10"]}, "amount"),
            ({"amount": Decimal("1e20")}, "amount"),
            ({"merchantFee": "one and a half"}, "merchantFee"),
            ({"currency": ["UAH"]}, "currency"),
            ({"orderId": {"id": "order1"}}, "orderId"),
            ({"method": 5}, "method"),
            ({"status": True}, "status"),
        ],
    )
    async def test_a_line_says_which_of_its_fields(
        self, client: GatewayClient, gateway: ScriptedServer, strange: dict[str, object], field: str
    ) -> None:
        gateway.will_answer(lines(LINE, LINE | strange, LINE), lines(LINE, LINE | strange, LINE))
        for found in (
            await all_of_period(client),
            await all_of_register(client, RegisterTicket(report_id="r/1", count=3)),
        ):
            first, second, third = found
            assert isinstance(first, TransactionLine)
            assert isinstance(third, TransactionLine)
            assert isinstance(second, UnreadableLine)
            assert (second.number, second.payment_id) == (2, "p-1")
            assert second.order_id == (None if field == "orderId" else LINE["orderId"])
            assert second.why.endswith(f": {field}")
            assert "a lot" not in repr(second)

    async def test_what_decides_nothing_does_not_spoil_a_line(
        self, client: GatewayClient, gateway: ScriptedServer
    ) -> None:
        gateway.will_answer(
            lines(
                LINE
                | {"description": ["odd"], "authCode": {}, "dateTime": "yesterday", "merchantFee": None, "currency": ""}
            )
        )
        [line] = await period(client)
        assert (line.description, line.auth_code, line.date_time, line.merchant_fee) == (None, None, None, None)

    async def test_a_line_that_is_no_record_is_not_counted_as_one(
        self, client: GatewayClient, gateway: ScriptedServer
    ) -> None:
        gateway.will_answer(lines(LINE, {}, LINE), lines(LINE, {"unheard of": 1}))
        first, second, third = await all_of_register(client)
        assert isinstance(second, UnreadableLine)
        assert second.why == "no record"
        assert isinstance(first, RegisterLine)
        assert isinstance(third, RegisterLine)
        with pytest.raises(OutcomeUnknownError, match="1 of 2"):
            await all_of_register(client)

    @pytest.mark.parametrize(
        "words",
        [
            {"message": "Internal error"},
            {"message": "Internal error", "details": None},
            {"code": "E-1"},
            {"message": "Internal error", "status": "failure"},
            {"code": "E-1", "status": 500, "description": "Internal error", "projectId": "the-project"},
        ],
    )
    async def test_an_error_in_the_middle_ends_the_list(
        self, client: GatewayClient, gateway: ScriptedServer, words: dict[str, object]
    ) -> None:
        gateway.will_answer(lines(LINE, words, LINE), lines(LINE, words, LINE))
        with pytest.raises((OutcomeUnknownError, RefusedError)):
            await all_of_period(client)
        with pytest.raises((OutcomeUnknownError, RefusedError)):
            await all_of_register(client)

    async def test_a_record_may_have_fields_that_errors_have(
        self, client: GatewayClient, gateway: ScriptedServer
    ) -> None:
        gateway.will_answer(lines(LINE | {"code": "1000", "message": "Successful"}, {"status": "success"}))
        assert [line.order_id for line in await period(client)] == [LINE["orderId"], None]

    async def test_an_error_in_a_list_does_not_repeat_the_keys(
        self, client: GatewayClient, gateway: ScriptedServer
    ) -> None:
        words = {"message": "not good: key-of-the-api", "code": "R-1"}
        gateway.will_answer(lines(words), json_reply(words, 400))
        for _ in range(2):
            with pytest.raises(RefusedError, match=r"not good: \(not shown\)"):
                await all_of_period(client)

    async def test_an_unknown_status_keeps_its_word(self, client: GatewayClient, gateway: ScriptedServer) -> None:
        gateway.will_answer(lines(LINE | {"status": "charged_back"}, LINE))
        odd, usual = await period(client)
        assert (odd.status, odd.reported_status) == (Status.PENDING, "charged_back")
        assert odd.to_wire()["status"] == "charged_back"
        assert (usual.status, usual.reported_status) == (Status.SUCCESS, None)


WHOLE = b"".join(exact_json.dumps(LINE | {"orderId": str(number)}).encode() + b"\n" for number in range(50))
GZIPPED = gzip.compress(WHOLE, mtime=0)  # else the second is in it, and in the names of tests
DEFLATED = zlib.compress(WHOLE)


class TestCompressedLists:
    """We ask for none; somebody on the way may compress all the same."""

    @pytest.mark.parametrize(
        ("coding", "content"),
        [
            ("gzip", GZIPPED),
            ("x-gzip", GZIPPED),
            ("gzip", gzip.compress(WHOLE[:700], mtime=0) + gzip.compress(WHOLE[700:], mtime=0)),
            ("deflate", DEFLATED),
            ("identity", WHOLE),
        ],
    )
    async def test_are_read(self, client: GatewayClient, gateway: ScriptedServer, coding: str, content: bytes) -> None:
        pieces = tuple(content[at : at + 100] for at in range(0, len(content), 100))
        gateway.will_answer(Reply(headers={"Content-Encoding": coding}, body=pieces))
        assert len(await period(client)) == 50

    @pytest.mark.parametrize(
        ("coding", "content"),
        [
            ("gzip", GZIPPED[:-9]),
            ("gzip", GZIPPED[:10]),
            ("gzip", GZIPPED[:-8] + b"12345678"),
            ("gzip", GZIPPED + b"rubbish"),
            ("gzip", b""),
            ("gzip", WHOLE),
            ("deflate", DEFLATED[:-5]),
            ("br", WHOLE),
            ("gzip, gzip", gzip.compress(GZIPPED, mtime=0)),
        ],
    )
    async def test_are_not_taken_for_shorter_ones(
        self, client: GatewayClient, gateway: ScriptedServer, coding: str, content: bytes
    ) -> None:
        gateway.will_answer(*[Reply(headers={"Content-Encoding": coding}, body=(content,))] * 2)
        with pytest.raises(OutcomeUnknownError):
            await period(client)
        with pytest.raises(OutcomeUnknownError):
            await client.get_order("order1", timeout=30)

    @pytest.mark.threat("decompression-bomb")
    async def test_may_not_fill_the_memory(self, client: GatewayClient, gateway: ScriptedServer) -> None:
        bomb = gzip.compress(b" " * 64 * 1024 * 1024)
        gateway.will_answer(*[Reply(headers={"Content-Encoding": "gzip"}, body=(bomb,))] * 2)
        with pytest.raises(OutcomeUnknownError, match="too long"):
            await period(client)
        with pytest.raises(OutcomeUnknownError, match="too large"):
            await client.get_order("order1", timeout=30)
