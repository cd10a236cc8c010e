"""``payments list`` and ``payments show``."""

from decimal import Decimal
from uuid import UUID

from app.core.vocabulary import EventState, Kind, State
from app.services import Services
from app.store.tables import MerchantAccount
from tests.commands.books import ORDER, TRANSACTION, event, moment_after, notification, operation, store_payment
from tests.commands.conftest import SALEOR, Shell, one_database
from tests.payments.problems import issue_saying

PROBLEM = "The gateway reports 90.00 UAH, but 100.00 UAH was requested."


async def a_story(services: Services, account: MerchantAccount) -> None:
    """A payment was made; a refund of a part of it is not known yet, and Saleor refused an event."""
    await store_payment(
        services,
        account,
        [
            operation(message="Successful [1000]"),
            operation(
                Kind.REFUND, State.UNKNOWN, amount=Decimal("30.00"), created_at=moment_after(minutes=5),
                updated_at=moment_after(minutes=5), next_poll_at=moment_after(minutes=6), message="No answer",
            ),
        ],
        [
            event(),
            event("REFUND_FAILURE", EventState.REFUSED, created_at=moment_after(minutes=5), last_error="INVALID"),
        ],
        [notification()],
        order_number="1042",
        problem=PROBLEM,
    )  # fmt: skip


async def test_the_newest_payments_come_first(shell: Shell, services: Services, account: MerchantAccount) -> None:
    await a_story(services, account)
    await store_payment(services, account, [operation(state=State.INIT)], order_id="second", transaction_id="2")
    said = await shell("payments", "list")

    assert said.status == 0
    assert said.out.index("second") < said.out.index(ORDER)
    for words in ("waiting for the", "of 100.00", "Saleor order 1042", "100.00", "UAH", "2026-11-21", "12:00:00"):
        assert words in said.out
    assert PROBLEM.split(maxsplit=1)[0] in said.out
    assert "olena" not in said.out
    listed = (await shell("payments", "list", "--json")).json
    assert [payment["order_id"] for payment in listed] == ["second", ORDER]
    assert [payment["order_id"] for payment in (await shell("payments", "list", "--limit", "1", "--json")).json] == [
        "second"
    ]


async def test_those_with_a_problem_can_be_had_alone(
    shell: Shell, services: Services, account: MerchantAccount
) -> None:
    await store_payment(services, account, [operation(state=State.INIT)], order_id="second", transaction_id="2")
    assert (await shell("payments", "list", "--problems")).out == "No payment has a problem.\n"
    await a_story(services, account)

    (only,) = (await shell("payments", "list", "--problems", "--json")).json
    assert only | {"updated_at": None} == {
        "order_id": ORDER,
        "transaction_id": TRANSACTION,
        "order_number": "1042",
        "channel": "default-channel",
        "account": account.id,
        "flow": "CHARGE",
        "amount": Decimal("100.00"),
        "charged": Decimal("100.00"),
        "refunded": Decimal("0.00"),
        "charged_back": Decimal("0.00"),
        "currency": "UAH",
        "status": "paid",
        "standing": "paid, refund under way",
        "problem": issue_saying(PROBLEM).message,
        "created_at": "2026-11-21T12:00:00.000Z",
        "updated_at": None,
        "expires_at": None,
    }


async def test_a_payment_tells_its_story(shell: Shell, services: Services, account: MerchantAccount) -> None:
    await a_story(services, account)
    said = await shell("payments", "show", ORDER, "--every-step")

    assert said.status == 0
    told = " ".join(said.out.split())
    for words in (
        "100.00 UAH: paid, refund under way",
        f"{SALEOR} (order 1042, channel default-channel)",
        f"Shop ({account.id})",
        "100.00 charged, 0.00 refunded",
        "possible actions refund",
        f"Problem: {PROBLEM}",
        "12:00:01 gateway notifies: payment succeeded, 100.00 UAH: Successful [1000]",
        "12:05:00 Saleor asks to refund 30.00 UAH",
        "12:05:00 app concludes that the refund of 30.00 UAH (requested in Saleor) has an unknown outcome: No answer",
        "Saleor refused it permanently (INVALID)",
        "Waiting for (UTC) 2026-11-21 12:06:00 the app looks up the refund",
    ):
        assert words in told, said.out
    assert "olena" not in told
    assert "4242" not in told


@one_database
async def test_a_payment_reads_as_on_its_page(shell: Shell, services: Services, account: MerchantAccount) -> None:
    amount = Decimal("1708.50")
    await store_payment(
        services,
        account,
        [
            operation(message="Successful [1000]", amount=amount),
            operation(
                Kind.REFUND, amount=amount, created_at=moment_after(minutes=5), updated_at=moment_after(minutes=5)
            ),
        ],
        [event(amount=amount), event("REFUND_SUCCESS", created_at=moment_after(minutes=5), amount=amount)],
        amount=amount,
    )
    said = (await shell("payments", "show", ORDER)).out
    activity = " ".join(said[said.index("Activity (UTC)") :].split())
    assert activity == (
        "Activity (UTC)"
        " 2026-11-21 12:05:00 gateway responds that the refund of 1,708.50 UAH (requested in Saleor) succeeded"
        " 2026-11-21 12:00:01 gateway responds that the payment succeeded: Successful [1000]"
        " 2026-11-21 12:00:00 Saleor requests a payment: 1,708.50 UAH, charged immediately"
        " --every-step shows all steps."
    )
    for stream in (
        said,
        (await shell("payments", "show", ORDER, "--every-step")).out,
        (await shell("events", "list")).out,
    ):
        assert "_SUCCESS" not in stream
    assert "1,708.50" in (await shell("payments", "list")).out
    # Scripts get the same as ever: codes, and the oldest first.
    story = (await shell("payments", "show", ORDER, "--json")).json["timeline"]
    assert story[0]["words"] == "requests a payment: 1708.50 UAH, charged immediately"
    assert [entry["type"] for entry in story if entry["what"] == "reported"] == ["CHARGE_SUCCESS", "REFUND_SUCCESS"]


@one_database
async def test_a_pipe_gets_rows_that_are_not_wrapped(
    shell: Shell, services: Services, account: MerchantAccount
) -> None:
    reason = "The gateway's record does not match, for a reason that needs more than a line of a terminal."
    await store_payment(services, account, problem=reason)
    assert reason not in (await shell("payments", "list")).out
    piped = await shell("payments", "list", "--problems", COLUMNS=None)
    assert f"problem: {reason}" in piped.out


async def test_a_script_gets_it_all(shell: Shell, services: Services, account: MerchantAccount) -> None:
    await a_story(services, account)
    story = (await shell("payments", "show", TRANSACTION, "--json")).json

    assert (story["authorized"], story["charged"], story["refunded"]) == (Decimal("0.00"), Decimal("100.00"), 0)
    assert (story["saleor"], story["account_name"], story["possible"]) == (SALEOR, "Shop", ["REFUND"])
    whats = [(entry["who"], entry["what"]) for entry in story["timeline"]]
    assert sorted(whats) == sorted(
        [
            ("Saleor", "payment_asked"), ("app", "asked"), ("app", "recorded"), ("gateway", "notified"),
            ("app", "reported"), ("Saleor", "requested"), ("app", "asked"), ("app", "concluded"), ("app", "reported"),
        ]
    )  # fmt: skip
    refused = next(entry for entry in story["timeline"] if entry.get("state") == "refused")
    assert (refused["type"], refused["last_error"], refused["amount"]) == ("REFUND_FAILURE", "INVALID", 100)
    assert story["waiting_for"] == [
        {
            "words": "the app looks up the refund of 30.00 UAH, unless the gateway notifies it before",
            "until": "2026-11-21T12:06:00.000Z",
        }
    ]


@one_database
async def test_schedule_of_a_subscription_is_shown_as_it_was_requested(
    shell: Shell, services: Services, account: MerchantAccount
) -> None:
    plan = {"interval_unit": "week", "interval_count": 2, "start_date": "2027-01-21"}
    await store_payment(services, account, [operation(request={"init_recurring": plan})])
    shown = await shell("payments", "show", ORDER)
    assert "charged every 2 weeks, as the storefront asked, from 2027-01-21" in " ".join(shown.out.split())
    stated = {"unit": "week", "every": 2, "starts_on": "2027-01-21", "ends_on": None}
    assert (await shell("payments", "show", ORDER, "--json")).json["subscription"] == stated


@one_database
async def test_a_payment_is_found_by_each_of_its_names(
    shell: Shell, services: Services, account: MerchantAccount
) -> None:
    await store_payment(services, account)
    for name in (ORDER, ORDER.upper(), str(UUID(ORDER)), TRANSACTION, f" {TRANSACTION} "):
        assert (await shell("payments", "show", name, "--json")).json["order_id"] == ORDER
    assert "Nothing is pending." in (await shell("payments", "show", ORDER)).out
    (await shell("payments", "show", "1042")).failed(
        "there is no payment '1042': use an order ID, an order number, a tr"
    )


@one_database
async def test_where_there_is_no_payment(shell: Shell, services: Services) -> None:
    assert (await shell("payments", "list")).out == "There are no payments yet.\n"
    assert (await shell("payments", "list", "--json")).json == []
    (await shell("payments", "list", "--limit", "0")).failed("--limit", status=2)


async def test_payments_are_searched_and_narrowed(shell: Shell, services: Services, account: MerchantAccount) -> None:
    digest = services.emails.digest_to_store(account.installation_id, "olena@example.com")
    await store_payment(services, account, order_number="1042", email_digest=digest)
    await store_payment(
        services, account, order_id="second", transaction_id="2", amount=Decimal("1234.50"), channel="eur"
    )
    found: dict[str, list[tuple[str, ...]]] = {
        "second": [("--search", "1 234,50"), ("--search", "second"), ("--channel", "eur"), ("--search", "1234.50 UAH")],
        ORDER: [
            ("--search", "#1042"), ("--search", ORDER[:8]), ("--search", "100.00"), ("--channel", "default-channel"),
            ("--since", "2026-11-21", "--until", "2026-11-22", "--limit", "1", "--after", "second"),
            ("--saleor", SALEOR, "--account", "Shop", "--search", TRANSACTION),
        ],
    }  # fmt: skip
    for order_id, narrowings in found.items():
        for words in narrowings:
            listed = (await shell("payments", "list", *words, "--json")).json
            assert [payment["order_id"] for payment in listed] == [order_id], words
    days = ("payments", "list", "--json", "--since", "2026-11-21", "--until")
    assert len((await shell(*days, "2026-11-21")).json) == 2  # the last day is in it
    assert (await shell(*days, "2026-11-21T12:00")).json == []  # a time without a zone is in UTC
    assert len((await shell(*days, "2026-11-21T14:01+02:00")).json) == 2
    (await shell(*days, "tomorrow")).failed("is not a date", status=2)
    assert (await shell("payments", "list", "--search", "1042.00")).out == "No matching payments found.\n"

    said = await shell("payments", "list", "--by-email", "--json", typed="Olena@example.com\n")
    assert [payment["order_id"] for payment in said.json] == [ORDER]


@one_database
async def test_an_address_is_asked_for_and_never_an_argument(shell: Shell, services: Services) -> None:
    (await shell("payments", "list", "--search", "a@example.com")).failed("shell's history", status=2)
    (await shell("payments", "list", "--by-email", typed="olena")).failed("not an e-mail address", status=2)
    (await shell("payments", "list", "--by-email", "--search", "1042")).failed("either", status=2)


async def test_what_is_found_can_be_written_as_csv(shell: Shell, services: Services, account: MerchantAccount) -> None:
    await store_payment(services, account, order_number="1042")
    await store_payment(services, account, order_id="second", transaction_id="2", channel="eur")
    said = await shell("payments", "list", "--csv", "--channel", "eur")
    header, line = said.out.splitlines()
    assert header.startswith("Started (UTC),Order number,Gateway order ID,")
    assert line.startswith("2026-11-21 12:00:00,,second,2,100.00,UAH,paid,")
    assert len((await shell("payments", "list", "--csv")).out.splitlines()) == 3
    style = ("--language", "uk", "--time-zone", "Europe/Kyiv")
    header = (await shell("payments", "list", "--csv", *style)).out.splitlines()[0]
    assert header.startswith("Розпочато (Europe/Kyiv);Номер замовлення;")
    (await shell("payments", "list", "--csv", "--language", "xx")).failed("none of en, uk", status=2)
    (await shell("payments", "list", "--csv", "--time-zone", "../x")).failed("not a time zone", status=2)
    (await shell("payments", "list", "--csv", "--xlsx")).failed("either --csv or --xlsx", status=2)
    (await shell("payments", "list", "--csv", "--limit", "1")).failed("writes all results", status=2)
