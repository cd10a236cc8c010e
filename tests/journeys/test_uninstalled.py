"""Staff remove the app and install it again: Saleor hears what the gateway told meanwhile, once the app is back."""

from collections.abc import AsyncIterator
from decimal import Decimal
from pathlib import Path

import httpx2
import pytest
from sqlmodel import col, select

from app.core.vocabulary import EventState
from app.store.installations import OpenInstallation
from app.store.tables import SaleorEvent
from integration_base_tests.waiting import eventually
from saleor_app_sdk.testing import SaleorSettings
from tests.commands.conftest import Shell
from tests.doctor.conftest import DoctorEnvironment, open_doctor_environment
from tests.journeys.stories import assert_books_agree, order_id_of, wait_for_event, wait_until_quiet
from tests.journeys.stories import begin as begin_to_pay

pytestmark = pytest.mark.journey

PART = Decimal("100.00")
TELLS_OF_IT, DOES_NOT = "3.23.28", "3.22.67"


@pytest.fixture
async def around(tmp_path: Path, database_url: str, request: pytest.FixtureRequest) -> AsyncIterator[DoctorEnvironment]:
    """A store that sells, at a Saleor of the version that the test names."""
    version = getattr(request, "param", TELLS_OF_IT)
    async with open_doctor_environment(
        tmp_path, database_url, saleor=SaleorSettings(version=version), answer_window=0.2
    ) as surroundings:
        yield surroundings


async def installation(around: DoctorEnvironment) -> OpenInstallation:
    (found,) = await around.services.installations.all()
    return found


async def is_shut_out(around: DoctorEnvironment) -> bool:
    return (await installation(around)).is_shut_out


async def waits(around: DoctorEnvironment) -> list[str]:
    """Return what was to be told, and Saleor has not heard."""
    async with around.services.database.transaction() as session:
        waiting = select(SaleorEvent.type).where(
            col(SaleorEvent.state) == EventState.WAITING, col(SaleorEvent.last_error).is_not(None)
        )
        return list((await session.exec(waiting)).all())


async def installed_again(around: DoctorEnvironment) -> None:
    done = await around.saleor.install(f"{around.stack.app.url}/api/manifest")
    assert done.status == "INSTALLED", done.message


@pytest.mark.law(5, 6)
@pytest.mark.parametrize("around", [TELLS_OF_IT, DOES_NOT], indirect=True)
async def test_a_refund_that_the_gateway_tells_of_while_the_app_is_removed(around: DoctorEnvironment) -> None:
    shop = around.stack
    _, session = await begin_to_pay(shop)
    await shop.gateway.pay(order_id_of(session))
    await wait_for_event(shop, session.required_transaction.id, "CHARGE_SUCCESS")
    await wait_until_quiet(shop, session.required_transaction.id)
    before = await installation(around)
    tells = before.schema_version == TELLS_OF_IT

    await around.saleor.uninstall()
    if tells:
        await eventually(lambda: is_shut_out(around))
        assert (await installation(around)).token == "", "it is no use any more"
    await shop.gateway.portal(order_id_of(session), "refund", PART)
    await shop.gateway.wait_for_webhooks()
    await eventually(lambda: waits(around))
    await eventually(lambda: is_shut_out(around))
    assert await waits(around) == ["REFUND_SUCCESS"], "it was verified, kept and processed"
    assert "REFUND_SUCCESS" not in (await around.saleor.transaction(session.required_transaction.id)).event_types()
    assert "error saleor" in await around.faults()
    [listed] = (await Shell(around.environment)("installations", "list", "--json")).json
    assert listed["unauthorised_since"] is not None
    assert listed["accounts"] == 1

    await installed_again(around)
    after = await wait_for_event(shop, session.required_transaction.id, "REFUND_SUCCESS")
    assert after.amounts.refunded == PART
    await assert_books_agree(shop, session.required_transaction.id)
    known = await installation(around)
    assert (known.id, known.verified, known.is_shut_out) == (before.id, True, False)
    assert known.token != before.token
    assert await around.faults() == {}

    # Nor does anybody forget the new token by what Saleor said of the old one.
    for delivery in await around.saleor.deliveries("app_deleted"):
        async with httpx2.AsyncClient(trust_env=False) as http:
            again = await http.post(delivery.url, headers=dict(delivery.headers), content=delivery.body.encode())
        assert again.status_code == 403
    assert (await installation(around)).token == known.token
    assert len(await around.saleor.deliveries("app_deleted")) == (1 if tells else 0)

    # And staff go on with the payment of before.
    await around.saleor.refund(session.required_transaction.id, PART)
    await wait_until_quiet(shop, session.required_transaction.id)
    assert (await around.saleor.transaction(session.required_transaction.id)).amounts.refunded == 2 * PART
    await assert_books_agree(shop, session.required_transaction.id)


@pytest.mark.long
@pytest.mark.law(5)
@pytest.mark.parametrize("around", [TELLS_OF_IT, DOES_NOT], indirect=True)
async def test_an_app_that_is_switched_off_and_on_again(around: DoctorEnvironment) -> None:
    shop = around.stack
    _, session = await begin_to_pay(shop)
    before = await installation(around)
    tells = before.schema_version == TELLS_OF_IT
    await around.saleor.deactivate()
    if tells:
        await eventually(lambda: is_shut_out(around))
    await shop.gateway.pay(order_id_of(session))
    await eventually(lambda: waits(around))
    await eventually(lambda: is_shut_out(around))
    assert (await installation(around)).token == before.token, "it is good again as soon as the app is on"

    await around.saleor.activate()
    if not tells:  # then the next webhook shows it, or the check of its presence in a quarter of an hour
        await begin_to_pay(shop)
    after = await wait_for_event(shop, session.required_transaction.id, "CHARGE_SUCCESS")
    assert after.amounts.charged > 0
    await assert_books_agree(shop, session.required_transaction.id)
    assert not await is_shut_out(around)
