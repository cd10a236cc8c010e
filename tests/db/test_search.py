"""Payments are found by what they are called, and listed page by page."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from app.core.ids import OrderId
from app.core.payment import Operation, Payment
from app.core.vocabulary import Flow, Kind, PaymentStatus, State
from app.store.accounts import AccountRepository
from app.store.database import Database
from app.store.installations import InstallationRepository
from app.store.personal import BlindIndex
from app.store.search import FoundSum, FoundSums, PaymentFilter, PaymentNames, channels_of, payments_page, sum_payments
from app.store.tables import MerchantAccount
from app.store.vault import KEY_BYTES, Vault
from tests.db.rows import NOON, an_account, an_installation, store
from tests.payments.aggregates import an_operation

ZERO = Decimal("0.00")
ORDER = "73ef833999b946b38461a8976f6359bb"


async def keep(
    database: Database, account: MerchantAccount, order_id: str, *operations: Operation, **different: Any
) -> Payment:
    """Keep a payment with those operations."""
    usual: dict[str, Any] = {
        "installation_id": account.installation_id,
        "account_id": account.id,
        "transaction_id": f"transaction of {order_id}",
        "order_id": order_id,
        "flow": Flow.CHARGE,
        "amount": Decimal("569.50"),
        "currency": "UAH",
        "channel": "uah",
        "source_id": "checkout",
        "created_at": NOON,
        "updated_at": NOON,
    }
    payment = Payment(**(usual | different))
    await store(database, payment, operations)
    return payment


async def orders(database: Database, wanted: PaymentFilter, most: int = 100, after: Payment | None = None) -> list[str]:
    """Return the orders of a page."""
    async with database.transaction() as session:
        return [payment.order_id for payment in await payments_page(session, wanted, most=most, after=after)]


@pytest.fixture
async def other_store(installations: InstallationRepository, accounts: AccountRepository) -> MerchantAccount:
    """The account of another store."""
    return await an_account(accounts, await an_installation(installations, "https://next-door.example.com/graphql/"))


async def test_the_newest_come_first_and_pages_neither_repeat_nor_leave_out(
    database: Database, account: MerchantAccount
) -> None:
    """Several are begun at the same moment, and one whose row is newer was begun earlier."""
    begun: Sequence[datetime] = [NOON + timedelta(seconds=seconds) for seconds in (0, 2, 1, 1, 1, 2, 0)]
    kept = [await keep(database, account, f"order{row}", created_at=at) for row, at in enumerate(begun)]
    expected = ["order5", "order1", "order4", "order3", "order2", "order6", "order0"]
    by_order = {payment.order_id: payment for payment in kept}
    assert await orders(database, PaymentFilter()) == expected
    for most in (1, 2, 3):
        seen: list[str] = []
        while page := await orders(database, PaymentFilter(), most, by_order[OrderId(seen[-1])] if seen else None):
            seen += page
        assert seen == expected


async def test_each_filter_alone_and_all_together(
    database: Database, account: MerchantAccount, other_store: MerchantAccount
) -> None:
    store = account.installation_id
    await keep(database, account, "plain", an_operation(Kind.CREATE, State.INIT, id=None, idempotency_key="create"))
    await keep(database, account, "problem", problem_since=NOON, channel="eur", created_at=NOON + timedelta(hours=1))
    await keep(database, account, "paid", status=PaymentStatus.PAID, channel="eur")
    await keep(database, account, "refunded", status=PaymentStatus.REFUNDED)
    await keep(
        database,
        other_store,
        "theirs",
        an_operation(Kind.CREATE, State.INIT, id=None, idempotency_key="create"),
        problem_since=NOON,
        channel="pln",
    )

    async def found(**wanted: Any) -> set[str]:
        return set(await orders(database, PaymentFilter(**wanted)))

    assert await found(installation_id=store) == {"plain", "problem", "paid", "refunded"}
    assert await found(problems=True) == {"problem", "theirs"}
    assert await found(problems=True, installation_id=store) == {"problem"}
    assert await found(status=PaymentStatus.PENDING) == {"plain", "problem", "theirs"}
    assert await found(status=PaymentStatus.PAID) == {"paid"}
    assert await found(status=PaymentStatus.PENDING, installation_id=store) == {"plain", "problem"}
    assert await found(status=PaymentStatus.FAILED) == set()
    assert await found(channel="eur") == {"problem", "paid"}
    assert await found(account_id=other_store.id) == {"theirs"}
    assert await found(since=NOON + timedelta(hours=1)) == {"problem"}
    assert await found(until=NOON + timedelta(hours=1)) == {"plain", "paid", "refunded", "theirs"}
    assert await found(since=NOON, until=NOON) == set()
    everything = {"installation_id": store, "problems": True, "channel": "eur", "account_id": account.id}
    assert await found(**everything, since=NOON, amount=Decimal("569.50"), names=PaymentNames(["problem"])) == {
        "problem"
    }
    assert await found(**everything, status=PaymentStatus.FAILED) == set()
    async with database.transaction() as session:
        assert await channels_of(session, store) == ["eur", "uah"]
        assert await channels_of(session, other_store.installation_id) == ["pln"]
        assert await channels_of(session, 4711) == []


async def test_what_is_found_is_counted_and_summed_as_far_as_that_is_quick(
    database: Database, account: MerchantAccount, other_store: MerchantAccount, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.store.search.MAX_COUNTED", 4)
    for number, (status, currency) in enumerate(
        [
            (PaymentStatus.FAILED, "UAH"),
            (PaymentStatus.PAID, "UAH"),
            (PaymentStatus.PAID, "UAH"),
            (PaymentStatus.PAID, "EUR"),
        ]
    ):
        state = State.SUCCESS if status is PaymentStatus.PAID else State.FAILURE
        create = an_operation(Kind.CREATE, state, Decimal(f"{number}.10"), id=None, currency=currency)
        await keep(
            database, account, f"order{number}", create, status=status, currency=currency,
            amount=Decimal(f"{number}.10"), created_at=NOON + timedelta(minutes=number),
        )  # fmt: skip
    await keep(database, other_store, "theirs", status=PaymentStatus.PAID)

    async def summed(**wanted: Any) -> FoundSums:
        async with database.transaction() as session:
            return await sum_payments(session, PaymentFilter(installation_id=account.installation_id, **wanted))

    sums = await summed()
    assert not sums.more
    assert set(sums.all) == {
        FoundSum(account.id, PaymentStatus.PAID, "UAH", False, 2, Decimal("3.20"), ZERO, ZERO),
        FoundSum(account.id, PaymentStatus.PAID, "EUR", False, 1, Decimal("3.10"), ZERO, ZERO),
        FoundSum(account.id, PaymentStatus.FAILED, "UAH", False, 1, ZERO, ZERO, ZERO),
    }
    assert (sums.count(), sums.count(PaymentStatus.PAID), sums.count(PaymentStatus.REFUNDED)) == (4, 3, 0)
    assert (await summed(status=PaymentStatus.FAILED)).count() == 1
    assert (await summed(since=NOON + timedelta(minutes=3))).all == [
        FoundSum(account.id, PaymentStatus.PAID, "EUR", False, 1, Decimal("3.10"), ZERO, ZERO)
    ]

    await keep(database, account, "older", status=PaymentStatus.REFUNDED, created_at=NOON - timedelta(minutes=9))
    await keep(database, account, "oldest", status=PaymentStatus.PENDING, created_at=NOON - timedelta(days=9))
    sums = await summed()
    assert sums.more
    assert sums.count(PaymentStatus.PENDING) == 0  # not among the newest, of which no more are read than one too many


async def test_what_was_charged_is_summed_and_not_what_was_asked_for(
    database: Database, account: MerchantAccount
) -> None:
    def done(kind: Kind, amount: str, state: State = State.SUCCESS) -> Operation:
        return an_operation(kind, state, Decimal(amount), id=None, charge_id=None)

    await keep(
        database, account, "captured", done(Kind.CREATE, "569.50"), done(Kind.CAPTURE, "300.50"),
        done(Kind.CAPTURE, "100.00", State.FAILURE), done(Kind.REFUND, "20.00"), done(Kind.REFUND, "30.00"),
        done(Kind.REFUND, "40.00", State.PENDING), flow=Flow.AUTHORIZATION, status=PaymentStatus.PAID,
    )  # fmt: skip
    await keep(
        database, account, "subscription", done(Kind.CREATE, "10.00"), done(Kind.RECURRING, "11.00"),
        done(Kind.DISPUTE, "10.00"), status=PaymentStatus.PAID,
    )  # fmt: skip
    await keep(database, account, "declined", done(Kind.CREATE, "569.50", State.FAILURE), status=PaymentStatus.PAID)
    await keep(database, account, "trial", done(Kind.CREATE, "1.00"), status=PaymentStatus.PAID, trial=True)
    async with database.transaction() as session:
        sums = await sum_payments(session, PaymentFilter(installation_id=account.installation_id))
    paid = (account.id, PaymentStatus.PAID, "UAH")
    assert set(sums.all) == {
        FoundSum(*paid, False, 3, Decimal("321.50"), Decimal("50.00"), Decimal("10.00")),
        FoundSum(*paid, True, 1, Decimal("1.00"), ZERO, ZERO),
    }


async def test_a_payment_has_many_names(
    database: Database, account: MerchantAccount, other_store: MerchantAccount
) -> None:
    create = an_operation(
        Kind.CREATE, State.INIT, id=None, idempotency_key="create", psp_reference=ORDER, operation_id="payment-7"
    )
    refund = an_operation(
        Kind.REFUND,
        State.INIT,
        id=None,
        idempotency_key="refund",
        psp_reference="saleors-name",
        operation_id="gateways-name",
    )
    payment = await keep(database, account, ORDER, create, refund, order_number="1042", source_id="T3JkZXI6MTA0Mg==")
    await keep(database, other_store, "theirs", order_number="1042")
    names = [PaymentNames(exact=[name]) for name in ("payment-7", "saleors-name", "gateways-name", ORDER)]
    names += [PaymentNames(exact=[payment.transaction_id]), PaymentNames(beginning=ORDER[:6])]
    names.append(PaymentNames(exact=[payment.source_id]))
    names.append(PaymentNames(exact=["nothing"], beginning="nothing", order_number="1042"))
    for name in names:
        everywhere = {ORDER, "theirs"} if name.order_number else {ORDER}
        assert set(await orders(database, PaymentFilter(names=name))) == everywhere, name
        assert await orders(database, PaymentFilter(names=name, installation_id=account.installation_id)) == [ORDER], (
            name
        )
        assert ORDER not in await orders(
            database, PaymentFilter(names=name, installation_id=other_store.installation_id)
        )


@pytest.mark.threat("injection")
@pytest.mark.parametrize("beginning", ["73ef84", "73ef833999b946b38461a8976f6359bbb", "%", "_3ef83", "73EF83"])
async def test_a_beginning_is_taken_as_it_is(database: Database, account: MerchantAccount, beginning: str) -> None:
    await keep(database, account, ORDER)
    assert await orders(database, PaymentFilter(names=PaymentNames(beginning=beginning))) == []


async def test_amounts_are_exact(database: Database, account: MerchantAccount) -> None:
    await keep(database, account, "less", amount=Decimal("569.49"))
    await keep(database, account, "euros", currency="EUR")
    await keep(database, account, "hryvnias")
    assert await orders(database, PaymentFilter(amount=Decimal("569.5"))) == ["hryvnias", "euros"]
    assert await orders(database, PaymentFilter(amount=Decimal("569.50"), currency="EUR")) == ["euros"]


@pytest.mark.parametrize(
    ("written", "typed"),
    [
        ("olena@пошта.укр", "olena@xn--80a1acn3a.xn--j1amh"),
        ("olena@xn--80a1acn3a.xn--j1amh", "Olena@Пошта.укр"),
        ("юрій@пошта.укр", "юрі\u0438\u0306@пошта.укр"),
        ("юрі\u0438\u0306@xn--80a1acn3a.xn--j1amh", "юрій@пошта.укр"),
        ("olena@a..b", "olena@a..b"),
        ("olena", "olena"),
    ],
)
def test_shoppers_are_found_however_their_domain_is_written(written: str, typed: str) -> None:
    emails = BlindIndex(Vault([b"\x01" * KEY_BYTES]))
    stored = emails.digest_to_store(1, written)
    assert stored in emails.digests_to_search([1], typed)
    assert stored not in emails.digests_to_search([1], "taras@пошта.укр")
    assert stored not in emails.digests_to_search([2], typed)


def test_address_in_one_spelling_is_searched_for_once() -> None:
    emails = BlindIndex(Vault([b"\x01" * KEY_BYTES]))
    assert len(emails.digests_to_search([1], " Olena@example.com ")) == 1


async def test_shoppers_are_found_by_their_address_which_is_kept_nowhere(
    database: Database, account: MerchantAccount, other_store: MerchantAccount
) -> None:
    old, new = b"\x01" * KEY_BYTES, b"\x02" * KEY_BYTES
    before, after = BlindIndex(Vault([old])), BlindIndex(Vault([new, old]))
    store, other = account.installation_id, other_store.installation_id
    await keep(database, account, "older", email_digest=before.digest_to_store(store, "Olena@Example.com"))
    await keep(database, account, "newer", email_digest=after.digest_to_store(store, " olena@example.com "))
    await keep(database, account, "somebody", email_digest=after.digest_to_store(store, "taras@example.com"))
    theirs = await keep(database, other_store, "theirs", email_digest=after.digest_to_store(other, "olena@example.com"))

    async def found(*stores: int) -> list[str]:
        return await orders(database, PaymentFilter(email_digests=after.digests_to_search(stores, "OLENA@example.com")))

    assert await found(store) == ["newer", "older"]
    assert await found(store, other) == ["theirs", "newer", "older"]
    assert await found() == []
    assert theirs.email_digest != after.digest_to_store(
        store, "olena@example.com"
    )  # nobody sees that she bought in both
