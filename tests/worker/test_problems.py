"""Saleor shows of the app what needs a person in its store: once, as long as it does (Saleor contract, B.2.8)."""

from datetime import timedelta

import pytest
from sqlmodel import select

from app.store.tables import Installation, ReportedProblem
from app.worker.problems import COMPARISON_INTERVAL, compare_problems
from saleor_app_sdk.errors import SaleorNotAuthorisedError, SaleorRefusedError, SaleorUnreachableError
from tests.commands.conftest import one_database
from tests.payments.alert_cases import another_amount_is_paid, keys_are_refused, notified_of, settle_amount
from tests.payments.shop import SALEOR, Shop, work_at_once


def busy(*, seconds: int) -> SaleorUnreachableError:
    """Return the error of a Saleor that wants no requests for so long."""
    error = SaleorUnreachableError("too many requests")
    error.pause = seconds
    return error


async def in_a_minute(shop: Shop) -> None:
    """Let a worker do what is due in a minute."""
    shop.clock.now += COMPARISON_INTERVAL
    await shop.work()


async def next_comparison(shop: Shop) -> timedelta | None:
    """Return how long it is until problems are compared again."""
    async with shop.services.database.transaction() as session:
        due = (await session.get_one(Installation, shop.installation.id)).problems_due_at
    return None if due is None else due - shop.clock.now


async def reinstalled(shop: Shop, *, version: str = "3.23", app_id: str = "QXBwOjk=") -> None:
    """The store installs the app anew."""
    await shop.services.installations.save(
        saleor_api_url=SALEOR,
        saleor_domain="shop.example.com",
        schema_version=version,
        app_id=app_id,
        token="another-token",
        jwks=None,
    )


async def test_a_problem_is_shown_while_it_is_there(shop: Shop) -> None:
    await another_amount_is_paid(shop)
    await notified_of(shop)
    await shop.enable_problem_comparison()
    await shop.work()
    of_account = shop.account.id
    assert shop.saleor.shown_problem_keys == [f"mismatch:{of_account}", f"unmatched:{of_account}"]
    assert shop.saleor.problems[0].message.startswith(
        "The gateway's report does not match the request (Main). "
        "Saleor may not show all of this money, or may show another amount."
    )
    shop.saleor.problem_operations.clear()
    for _ in range(3):
        await in_a_minute(shop)
    assert shop.saleor.problem_operations == []  # nothing has changed: nothing is asked
    await settle_amount(shop, "569.49")
    await in_a_minute(shop)
    assert shop.saleor.shown_problem_keys == [f"unmatched:{of_account}"]
    assert shop.saleor.problem_operations == ["app_problem_dismiss"]

    await shop.notify(shop.gateway.book[shop.order_id][0] | {"amount": 1})  # something new does not agree
    await in_a_minute(shop)
    assert sorted(shop.saleor.shown_problem_keys) == [f"mismatch:{of_account}", f"unmatched:{of_account}"]


async def test_it_is_compared_once_a_minute_and_not_more_often(shop: Shop) -> None:
    await shop.enable_problem_comparison()
    assert await shop.work() == 1
    assert await next_comparison(shop) == COMPARISON_INTERVAL
    shop.clock.now += COMPARISON_INTERVAL - timedelta(seconds=1)
    assert await shop.work() == 0
    shop.clock.now += timedelta(seconds=1)
    assert await shop.work() == 1
    assert shop.saleor.problem_operations == []


async def test_refused_keys_are_pressing_and_one_problem_of_the_account(shop: Shop) -> None:
    await keys_are_refused(shop)
    await shop.enable_problem_comparison()
    await shop.work()
    [problem] = shop.saleor.problems
    assert (problem.key, problem.critical, problem.count) == (f"keys:{shop.account.id}", True, 1)


async def test_several_workers_tell_it_once(shop: Shop, second_process: Shop) -> None:
    await another_amount_is_paid(shop)
    await shop.enable_problem_comparison()
    await work_at_once(shop, second_process)
    assert shop.saleor.problem_operations == ["app_problem_create"]


async def test_a_crash_between_telling_and_remembering_shows_nothing_twice(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    await another_amount_is_paid(shop)
    with monkeypatch.context() as crash:
        crash.setattr("app.worker.problems.mark_reported", None)
        with pytest.raises(TypeError):
            await compare_problems(shop.services, shop.saleor, shop.installation.id)
    shop.clock.forward(minutes=5)
    await compare_problems(shop.services, shop.saleor, shop.installation.id)
    assert [problem.count for problem in shop.saleor.problems] == [2]
    await compare_problems(shop.services, shop.saleor, shop.installation.id)
    assert [problem.count for problem in shop.saleor.problems] == [2]


@one_database
@pytest.mark.parametrize(
    ("trouble", "pause"),
    [
        (SaleorUnreachableError("nobody answers"), timedelta(minutes=5)),
        (busy(seconds=60), timedelta(minutes=5)),
        (busy(seconds=1800), timedelta(minutes=30)),
        (SaleorNotAuthorisedError("the app is switched off"), timedelta(hours=1)),
        (SaleorRefusedError("GRAPHQL_ERROR", None, "Cannot query field appProblemCreate"), timedelta(hours=1)),
    ],
)
async def test_a_saleor_that_does_not_take_it_is_asked_later(
    shop: Shop, trouble: SaleorUnreachableError, pause: timedelta
) -> None:
    await another_amount_is_paid(shop)
    await shop.enable_problem_comparison()
    shop.saleor.failures.append(trouble)
    await shop.work()
    assert shop.saleor.shown_problem_keys == []
    assert await next_comparison(shop) == pause
    shop.clock.now += pause
    await shop.work()
    assert shop.saleor.shown_problem_keys == [f"mismatch:{shop.account.id}"]


async def test_an_older_saleor_is_told_nothing_until_it_is_new_enough(shop: Shop) -> None:
    await another_amount_is_paid(shop)
    await reinstalled(shop, version="3.21")
    await shop.work()
    assert (shop.saleor.problem_operations, await next_comparison(shop)) == ([], None)
    await shop.pass_time(hours=3)
    assert shop.saleor.problem_operations == []
    await reinstalled(shop, version="3.22")
    await shop.work()
    assert shop.saleor.shown_problem_keys == [f"mismatch:{shop.account.id}"]


async def test_a_saleor_that_installs_the_app_anew_has_forgotten_and_is_told_again(shop: Shop) -> None:
    await another_amount_is_paid(shop)
    await shop.enable_problem_comparison()
    await shop.work()
    shop.saleor.problems.clear()  # with the app Saleor deletes its problems
    await reinstalled(shop)
    await shop.work()
    assert shop.saleor.shown_problem_keys == [f"mismatch:{shop.account.id}"]
    async with shop.services.database.transaction() as session:
        [told] = (await session.exec(select(ReportedProblem))).all()
    assert told.app_id == "QXBwOjk="


@one_database
async def test_very_many_at_once_are_told_one_job_after_the_other(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    await another_amount_is_paid(shop)
    monkeypatch.setattr("app.worker.problems._MAX_REPORTS_PER_JOB", 1)
    await notified_of(shop)
    await shop.enable_problem_comparison()
    await shop.work()
    assert len(shop.saleor.shown_problem_keys) == 1
    await in_a_minute(shop)
    assert len(shop.saleor.shown_problem_keys) == 2


@one_database
async def test_without_a_token_nobody_is_asked(shop: Shop) -> None:
    await shop.services.installations.save_pending(
        saleor_api_url="https://new.example.com/graphql/",
        saleor_domain="n",
        schema_version="3.23",
        token="not-proven",
    )
    found = await shop.services.installations.find("https://new.example.com/graphql/")
    assert found is not None
    await compare_problems(shop.services, shop.saleor, found.id)
    assert shop.saleor.problem_operations == []


@one_database
async def test_a_saleor_that_becomes_new_enough_in_place_is_told_at_once(shop: Shop) -> None:
    """Nobody installs the app anew: a webhook says what that Saleor is now."""
    await keys_are_refused(shop)
    await reinstalled(shop, version="3.21")
    await shop.work()
    assert await next_comparison(shop) is None
    installation = await shop.services.installations.get(shop.installation.id)
    await shop.services.installations.record_contact(installation, "3.22.35")
    await shop.work()
    assert (shop.saleor.shown_problem_keys, await next_comparison(shop)) == ([], None)
    installation = await shop.services.installations.get(shop.installation.id)
    await shop.services.installations.record_contact(installation, "3.22.67")
    await shop.work()
    assert shop.saleor.shown_problem_keys == [f"keys:{shop.account.id}"]
