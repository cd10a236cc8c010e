"""Everything that has pages, in this process: the app, two Saleors with their Dashboards, and the gateway's sandbox."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from urllib.parse import quote

from fastapi import FastAPI

from app.bootstrap import open_services, utc_now
from app.demo.processes import ServerProcess, free_port
from app.flows.trial_payment import Trial, begin_trial
from app.i18n.messages import Money
from app.main import create_app
from app.rules.issues import Issue, IssueCode
from app.rules.problems import cause_of_mismatch
from app.settings import Settings
from gateway_client.sandbox.control.client import SandboxControl
from gateway_client.sandbox.server import running_sandbox
from gateway_client.sandbox.settings import SandboxSettings
from integration_base_tests.loopback import serve_app
from saleor_app_sdk.testing import FakeSaleor, Flow, NewCheckout
from saleor_app_sdk.testing import serving as saleor_serving
from tests.commands.books import store_payment
from tests.journeys.stack import Stack
from tests.journeys.stories import begin, order_id_of, wait_for_event, wait_until_quiet
from tests.journeys.test_a_marketplace import LAMP, MUGS
from tests.payments.problems import raise_problem
from tests.payments.split.people import rules

TRIAL = Trial(
    key="trial",
    by="VXNlcjox",
    amount=Decimal("1.00"),
    currency="UAH",
    email="olena@example.com",
    phone="+380501234567",
    first_name="Olena",
    last_name="Shevchenko",
)

NEW = "new"  # what a page's path ends with that is no name of anything


@dataclass
class AppUnderTest:
    """Where all the pages are. ``known`` is what a parameter of paths, or of one path, can be in ``shop``."""

    shop: Stack
    application: FastAPI
    new_store: FakeSaleor
    known: dict[str, list[str]] = field(default_factory=dict)
    orders: list[str] = field(default_factory=list)

    async def frame(self, saleor: FakeSaleor, path: str) -> str:
        """Return the address at which a Dashboard shows a page of the app."""
        (app,) = await saleor.apps()
        return f"{saleor.url}/dashboard/extensions/app/{quote(app.id)}{path}"


@asynccontextmanager
async def open_app_under_test(
    folder: Path, database_url: str, *, now: Callable[[], datetime] = utc_now, port: int | None = None
) -> AsyncIterator[AppUnderTest]:
    """Open everything, sell something in one store, and leave the other as it is after the installation."""
    port = port or free_port()
    url = f"http://127.0.0.1:{port}"
    settings = Settings(
        base_url=url, port=port, data_dir=folder / "data", database_url=database_url, answer_window_seconds=0.2
    )
    application = create_app(settings, now)
    async with (
        running_sandbox(SandboxSettings(port=0, clock=now)) as (gateway_url, _),
        saleor_serving(clock=now) as saleor,
        saleor_serving(clock=now) as new,
        application.router.lifespan_context(application),
        serve_app(application, port),
        SandboxControl(gateway_url) as gateway,
    ):
        here = ServerProcess("app", [], url, "/readyz", folder / "app.log", {})
        shop = Stack(
            saleor=saleor.saleor, gateway=gateway, app=here, settings=settings, gateway_url=gateway_url, now=now
        )
        for fake_saleor in (saleor.saleor, new.saleor):
            installed = await fake_saleor.install(f"{url}/api/manifest")
            assert installed.status == "INSTALLED", installed.message
        app_under_test = AppUnderTest(shop, application, new.saleor)
        await _sell(app_under_test, now)
        yield app_under_test


async def _sell(app_under_test: AppUnderTest, now: Callable[[], datetime]) -> None:
    """A marketplace sells and refunds; somebody only reserves, somebody is declined, somebody has not paid yet."""
    shop = app_under_test.shop
    account = await shop.open_account(options={"split_rules": rules().model_dump(mode="json")})
    basket = await shop.saleor.create_checkout(NewCheckout(lines=[MUGS, LAMP]))
    _, paid = await begin(shop, checkout_id=basket.id)
    await shop.gateway.pay(order_id_of(paid))
    await wait_for_event(shop, paid.required_transaction.id, "CHARGE_SUCCESS")
    await _order(app_under_test, basket.id)
    await shop.saleor.refund(paid.required_transaction.id, Decimal("20.50"))

    checkout, reserved = await begin(shop, Flow.AUTHORIZATION)
    await shop.gateway.pay(order_id_of(reserved))
    await wait_for_event(shop, reserved.required_transaction.id, "AUTHORIZATION_SUCCESS")
    await _order(app_under_test, checkout)

    _, declined = await begin(shop)
    await shop.gateway.decline(order_id_of(declined))
    await wait_for_event(shop, declined.required_transaction.id, "CHARGE_FAILURE")
    _, waiting = await begin(shop)

    async with open_services(shop.settings, now) as services:
        kept = await services.accounts.find(account)
        assert kept is not None
        odd = await store_payment(services, kept)
        said, requested = Money(Decimal("100.00"), "UAH"), Money(Decimal("90.00"), "UAH")
        issue = Issue(IssueCode.OTHER_AMOUNT, sum=said, asked=requested)
        await raise_problem(services.database, odd, cause_of_mismatch(issue, None, "odd"), issue, services.now())
        trial = await begin_trial(services, kept, TRIAL)
    for session in (paid, reserved):
        await wait_until_quiet(shop, session.required_transaction.id)
    # Nobody has paid two orders that staff took by telephone; for one there is a link.
    taken, linked = await shop.saleor.create_order(), await shop.saleor.create_order()
    await shop.saleor.initialize(linked.id)
    app_under_test.orders += [taken.id, linked.id]
    sessions = (paid, reserved, declined, waiting)
    app_under_test.known = {
        "order_id": [*map(order_id_of, sessions), odd.order_id],
        "account_id": [account],
        "/set-up/accounts/{account_id}": [account, NEW],
        "/set-up/try/{order_id}": [trial.payment.order_id],
    }


async def _order(app_under_test: AppUnderTest, checkout: str) -> None:
    completion = await app_under_test.shop.saleor.complete(checkout)
    assert completion.order is not None, completion.errors
    app_under_test.orders.append(completion.order.id)
