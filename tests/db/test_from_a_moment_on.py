"""What counts from a moment on, or until one, counts at that moment too."""

import sqlite3
from datetime import timedelta

import pytest
from sqlalchemy.exc import OperationalError

from app.core.alerts import AlertKind
from app.core.payment import CardToSave, RefusedCard
from app.core.vocabulary import Kind, State
from app.store.attention import troubled_notification_counts, troubled_notifications
from app.store.connection_errors import is_away
from app.store.database import Database
from app.store.installations import OpenInstallation
from app.store.lag import oldest_waiting
from app.store.tables import MerchantAccount, Notification, TurnedAway
from app.store.turned_away import acknowledge_reasons
from tests.db.rows import NOON, a_new_payment, load_by_order, plain, store
from tests.payments.aggregates import an_operation

SECOND = timedelta(seconds=1)


async def test_a_look_up_that_is_due_now_waits(database: Database, account: MerchantAccount) -> None:
    operation = an_operation(Kind.CREATE, State.PENDING, id=None, next_poll_at=NOON)
    await store(database, plain(a_new_payment(account, 1)), [operation])
    async with database.transaction() as session:
        oldest = [
            (await oldest_waiting(session, account.installation_id, [account.id], now)).look_up
            for now in (NOON - SECOND, NOON)
        ]
    assert oldest == [None, NOON]


async def notify(database: Database, account: MerchantAccount, trouble: AlertKind, *seconds: int) -> None:
    async with database.transaction() as session:
        session.add_all(
            Notification(
                account_id=account.id,
                digest=f"{trouble}{after}",
                data_sealed=None,
                order_id=str(after),
                trouble=trouble,
                received_at=NOON + after * SECOND,
            )
            for after in seconds
        )


@pytest.mark.parametrize(("trouble", "counted"), [(AlertKind.FAILED, 2), (AlertKind.UNREADABLE, 3)])
async def test_a_notification_that_has_failed_for_as_long_as_is_waited_is_a_task(
    database: Database, account: MerchantAccount, trouble: AlertKind, counted: int
) -> None:
    """One that failed is tried again for a while; anything else is a task at once."""
    await notify(database, account, trouble, -1, 0, 1)
    async with database.transaction() as session:
        rows = (await session.exec(troubled_notification_counts([account.id], failing_since=NOON))).all()
        newest = await troubled_notifications(session, [account.id], trouble, most=2)
    assert [tuple(row) for row in rows] == [(trouble, account.id, counted, NOON - SECOND)]
    assert [found.order_id for found in newest] == ["1", "0"]


async def test_what_was_refused_since_a_moment_is_acknowledged(
    database: Database, account: MerchantAccount, installation: OpenInstallation
) -> None:
    moments = {"KNOWN_BEFORE": NOON - SECOND, "AT_THAT_MOMENT": NOON, "LATER": NOON + SECOND}
    async with database.transaction() as session:
        session.add_all(
            TurnedAway(
                installation_id=installation.id, channel="uah", code=code, day=NOON.date(), first_at=at, last_at=at
            )
            for code, at in moments.items()
        )
    async with database.transaction() as session:
        await acknowledge_reasons(session, installation.id, "uah", set(moments), since=NOON, now=NOON + 2 * SECOND)
    async with database.transaction() as session:
        rows = [await session.get_one(TurnedAway, (installation.id, "uah", code, NOON.date())) for code in moments]
    assert [row.acknowledged_at for row in rows] == [None, NOON + 2 * SECOND, NOON + 2 * SECOND]


@pytest.mark.parametrize(
    ("message", "away"),
    [
        ("something that nobody has heard of", True),
        ("could not translate host name", True),
        ("Connection refused", True),
        ("connection timed out", True),
        ("lock timeout", False),
        ('database "nothing" does not exist', False),
    ],
)
def test_only_what_does_not_answer_is_to_be_started(message: str, *, away: bool) -> None:
    assert is_away(OperationalError("SELECT 1", {}, Exception(message))) is away


def test_a_file_that_cannot_be_used_is_never_to_be_started() -> None:
    error = sqlite3.OperationalError("something that nobody has heard of")
    error.sqlite_errorname = "SQLITE_NOLFS"
    assert not is_away(OperationalError("SELECT 1", {}, error))


CARD = CardToSave(
    installation_id=1, account_id="account", owner="owner", token_sealed="sealed", mask="4242", brand=None,
    expires_at=None, saved_at=NOON, paid_at=NOON,
)  # fmt: skip


@pytest.mark.parametrize("cards", [{"cards_to_save": [CARD]}, {"refused_cards": [RefusedCard("card", NOON, NOON)]}])
async def test_a_card_alone_waits_to_be_saved(
    database: Database, account: MerchantAccount, cards: dict[str, list[CardToSave | RefusedCard]]
) -> None:
    await store(database, plain(a_new_payment(account, 1)), [an_operation(Kind.CREATE, State.SUCCESS, id=None)])
    async with database.transaction() as session:
        stored = await load_by_order(session, "order1")
        assert stored is not None
        was_changed = stored.is_changed
        for name, changed in cards.items():
            getattr(stored, name).extend(changed)
        assert (was_changed, stored.is_changed) == (False, True)
        stored.cards_to_save.clear()
        stored.refused_cards.clear()
