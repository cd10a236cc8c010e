"""What is said about each status and code, and that the status alone decides."""

from datetime import UTC, datetime

import pytest

from gateway_client.declined import Declined
from gateway_client.models import read_record
from gateway_client.statuses import TABLE, CodeKind, Status, explain, read_status
from gateway_client_tests.counterpart import PAYMENT

INTERFACE = {"1000": "success", "1004": "success", "1009": "success", "2122": "pending", "6007": "failure"}
PUBLIC = [
    "1002", "2001", "2012", "2013", "2102", "2119", "2123", "2124", "2201", "4000", "4001", "4009", "4010", "4012",
    "4119", "4124", "4139", "4144", "4147", "4148", "4149", "4150", "4151", "4152",
]  # fmt: skip


def test_every_code_of_the_interface_and_every_published_one_is_in_the_table() -> None:
    assert {code: str(TABLE[code].status) for code in INTERFACE} == INTERFACE
    assert set(TABLE) == set(INTERFACE) | set(PUBLIC)


@pytest.mark.parametrize("code", TABLE)
def test_each_code_has_a_reason_and_a_kind_that_fits(code: str) -> None:
    row = TABLE[code]
    kinds = {
        Status.SUCCESS: {CodeKind.DONE},
        Status.PENDING: {CodeKind.WAIT, CodeKind.SHOPPER, CodeKind.STAFF},
        Status.FAILURE: {CodeKind.RETRY, CodeKind.FINAL, CodeKind.CANCELLED},
    }
    assert row.kind in kinds[row.status]
    assert row.reason
    assert not row.reason.endswith(".")


def test_codes_where_the_shopper_must_act() -> None:
    assert {code for code, row in TABLE.items() if row.kind is CodeKind.SHOPPER} == {"2102", "2122", "2123", "2124"}


@pytest.mark.parametrize("status", Status)
@pytest.mark.parametrize("code", [None, "", "9999", "5017", "x"])
def test_an_unknown_code_leaves_it_to_the_status(status: Status, code: str | None) -> None:
    row = explain(status, code)
    assert row.status is status
    assert row.code == (code or "")


def test_a_code_that_contradicts_the_status_does_not_decide() -> None:
    row = explain(Status.FAILURE, "1000")
    assert (row.status, row.kind) == (Status.FAILURE, CodeKind.RETRY)
    assert explain(Status.PENDING, "1004").status is Status.PENDING


def test_which_statuses_are_final() -> None:
    assert [status.final for status in Status] == [False, False, True, True]
    assert read_status(" Success ") is Status.SUCCESS


def test_declined_by_a_limit() -> None:
    info = {"retry_after": "2026-11-22T00:00:00.000", "description": "Daily limit of the card"}
    record = read_record({**PAYMENT, "status": "failure", "status_code": "4012", "limit_info": info})
    declined = Declined.of(record)
    assert declined.code == "4012"
    assert declined.try_again
    assert declined.retry_after == datetime(2026, 11, 22, tzinfo=UTC)
    assert declined.limit == "Daily limit of the card"
    assert (declined.kind, declined.reason) == (CodeKind.RETRY, f"{TABLE['4012'].reason}.")


def test_declined_for_a_reason_that_nobody_published() -> None:
    record = read_record({**PAYMENT, "status": "failure", "status_code": "5005", "status_description": "Do not honour"})
    declined = Declined.of(record)
    assert (declined.code, declined.reason, declined.try_again) == ("5005", "Do not honour", True)
    silent = Declined.of(read_record({**PAYMENT, "status": "failure", "status_description": "", "status_code": None}))
    assert (silent.code, silent.reason, silent.retry_after, silent.limit) == (None, "Declined.", None, None)


@pytest.mark.parametrize(("code", "again"), [("4150", False), ("4144", True), ("4119", True), ("6007", False)])
def test_whether_another_attempt_makes_sense(code: str, again: bool) -> None:
    assert Declined.of(read_record({**PAYMENT, "status": "failure", "status_code": code})).try_again is again


def test_what_is_not_declined() -> None:
    with pytest.raises(ValueError, match="not declined"):
        Declined.of(read_record(PAYMENT))
