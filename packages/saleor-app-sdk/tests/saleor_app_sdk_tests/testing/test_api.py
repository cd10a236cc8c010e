"""The app tells and asks: GraphQL with a token, and what can go wrong with it."""

from collections.abc import AsyncIterator
from decimal import Decimal
from typing import Any

import httpx2
import pytest

from integration_base_tests.loopback import json_reply
from saleor_app_sdk.testing import ChannelSettings, FakeSaleor, SaleorSettings, serving
from saleor_app_sdk.testing.vocabulary import WebhookEvent
from saleor_app_sdk_tests.testing.recordings import recording
from saleor_app_sdk_tests.testing.reporting_app import ReportingApp
from saleor_app_sdk_tests.testing.stub import Stub

REAL: dict[str, Any] = recording("scenarios/event_report")


@pytest.fixture
async def teller(saleor: FakeSaleor, installed: Stub) -> AsyncIterator[ReportingApp]:
    """An installed app with a transaction that waits for the shopper."""
    answer = {"result": "CHARGE_ACTION_REQUIRED", "pspReference": "p-1"}
    installed.answer(WebhookEvent.TRANSACTION_INITIALIZE_SESSION, json_reply(answer))
    checkout = await saleor.create_checkout()
    session = await saleor.initialize(checkout.id)
    [app] = await saleor.apps()
    async with httpx2.AsyncClient() as http:
        yield ReportingApp(http, saleor.api_url, app.token, session.required_transaction.id)


async def test_report_is_recorded_and_remembered(saleor: FakeSaleor, teller: ReportingApp) -> None:
    told = await teller.told(
        type="CHARGE_SUCCESS",
        pspReference="p-1",
        amount=569.5,
        actions=["REFUND"],
        metadata=[{"key": "k", "value": "v"}],
    )

    assert told["errors"] == []
    assert told["alreadyProcessed"] is False
    assert told["transaction"] == {
        "id": teller.transaction_id,
        "actions": ["REFUND"],
        "chargedAmount": {"amount": 569.5, "currency": "UAH"},
        "metadata": [{"key": "k", "value": "v"}],
    }
    [report] = await saleor.reports()
    assert report.arguments["amount"] == "569.5"
    assert report.event is not None
    assert report.event.amount == Decimal("569.50")
    assert (await teller.told(type="CHARGE_SUCCESS", pspReference="p-1", amount="569.50"))["alreadyProcessed"] is True


async def test_report_by_token_instead_of_id(saleor: FakeSaleor, teller: ReportingApp) -> None:
    transaction = await saleor.transaction(teller.transaction_id)
    told = await teller.told(id=None, token=transaction.token, time="2026-11-20T10:00:00")
    assert told["transactionEvent"]["createdAt"] == "2026-11-20T10:00:00+00:00"


async def test_refused_report_is_remembered_with_its_errors(saleor: FakeSaleor, teller: ReportingApp) -> None:
    await teller.told(type="CHARGE_SUCCESS", pspReference="p-1", amount=10)

    told = await teller.told(type="CHARGE_SUCCESS", pspReference="p-1", amount=20)

    real = REAL["charge-success-other-amount"]["result"]["data"]["transactionEventReport"]
    assert told["errors"] == real["errors"]
    assert (told["transaction"], told["transactionEvent"], told["alreadyProcessed"]) == (None, None, None)
    _, refused = await saleor.reports()
    assert [error.code for error in refused.errors] == ["INCORRECT_DETAILS"]
    assert (await saleor.transaction(teller.transaction_id)).event_types()[-1] == "CHARGE_FAILURE"


async def test_transaction_that_is_not_there(teller: ReportingApp) -> None:
    told = await teller.told(id="VHJhbnNhY3Rpb25JdGVtOjAwMDAwMDAwLTAwMDAtNDAwMC04MDAwLTAwMDAwMDAwMDAwMA==")
    assert told["errors"] == REAL["unknown-tx"]["data"]["transactionEventReport"]["errors"]


def denial(answer: dict[str, Any]) -> Any:
    """Return what of an error answer does not depend on the document."""
    return [(error["message"], error["path"], error["extensions"]) for error in answer["errors"]], answer["data"]


async def test_garbage_id_is_an_error_at_top_level(teller: ReportingApp) -> None:
    answer = await teller.report(id="garbage")
    assert answer.status_code == 200
    assert denial(answer.json()) == denial(REAL["garbage-id"])


async def test_dead_token_is_denied_with_status_200(saleor: FakeSaleor, teller: ReportingApp) -> None:
    wrong = ReportingApp(teller._http, saleor.api_url, "wrong", teller.transaction_id)
    answer = await wrong.report()
    assert answer.status_code == 200
    assert denial(answer.json()) == denial(REAL["no-token"]["result"])

    await saleor.set_faults(refuse_token=True)
    assert denial((await teller.report()).json()) == denial(REAL["no-token"]["result"])
    assert await saleor.reports() == []


async def test_other_apps_transaction_is_denied(saleor: FakeSaleor, teller: ReportingApp, stub: Stub) -> None:
    await saleor.uninstall()
    stub.manifest["id"] = "another.app"
    await saleor.install(stub.manifest_url)
    [app] = await saleor.apps()
    other = ReportingApp(teller._http, saleor.api_url, app.token, teller.transaction_id)

    assert denial((await other.report()).json()) == denial(REAL["staff-token"]["result"])


@pytest.mark.parametrize("variables", [{"amount": -5}, {"time": "yesterday"}, {"type": "PAID"}, {"pspReference": None}])
async def test_bad_variables_are_http_400(variables: dict[str, Any], teller: ReportingApp) -> None:
    answer = await teller.report(**variables)
    assert answer.status_code == REAL["amount-neg"]["result"]["http"] == 400
    assert "data" not in answer.json()
    assert answer.json()["errors"][0]["extensions"] == {"exception": {"code": "GraphQLError"}}


@pytest.mark.parametrize("query", ["{ nope }", "{ app { ", "mutation { transactionEventReport { errors { code } } }"])
async def test_bad_document_is_http_400(query: str, teller: ReportingApp) -> None:
    assert (await teller.post(query)).status_code == 400


async def test_request_that_is_no_graphql_is_http_400(saleor: FakeSaleor) -> None:
    async with httpx2.AsyncClient() as http:
        assert (await http.post(saleor.api_url, content=b"oops")).status_code == 400
        assert (await http.post(saleor.api_url, json=[])).status_code == 400


async def test_name_of_a_transaction_can_be_set(teller: ReportingApp, saleor: FakeSaleor) -> None:
    query = """mutation($id: ID!) {
      transactionUpdate(id: $id, transaction: {name: "Visa ****4242"}) { transaction { name } errors { code } }
    }"""
    answer = await teller.post(query, {"id": teller.transaction_id})
    assert answer.json()["data"]["transactionUpdate"] == {"transaction": {"name": "Visa ****4242"}, "errors": []}
    assert (await saleor.transaction(teller.transaction_id)).name == "Visa ****4242"


async def test_app_problems_are_counted_and_dismissed(teller: ReportingApp, saleor: FakeSaleor) -> None:
    create = """mutation {
      appProblemCreate(input: {key: "keys:1", message: "No keys", criticalThreshold: 2}) {
        appProblem { count isCritical } errors { code }
      }
    }"""
    await teller.post(create)
    twice = (await teller.post(create)).json()["data"]["appProblemCreate"]
    assert twice == {"appProblem": {"count": 2, "isCritical": True}, "errors": []}
    [app] = await saleor.apps()
    assert [problem["key"] for problem in app.problems] == ["keys:1"]

    await teller.post('mutation { appProblemDismiss(input: {byApp: {keys: ["keys:1"]}}) { errors { code } } }')
    [app] = await saleor.apps()
    assert app.problems == []


async def test_older_saleor_knows_no_payment_method_details(stub: Stub) -> None:
    query = """mutation($id: ID!) {
      transactionEventReport(id: $id, type: INFO, pspReference: "i", paymentMethodDetails: {other: {name: "Bank"}}) {
        errors { code }
      }
    }"""
    for version, status in {"3.21.69": 400, "3.22.67": 200}.items():
        async with serving(SaleorSettings(version=version)) as running, httpx2.AsyncClient() as http:
            done = await running.saleor.install(stub.manifest_url)
            teller = ReportingApp(http, running.saleor.api_url, done.token or "", "garbage")
            assert (await teller.post(query, {"id": "garbage"})).status_code == status


async def test_poisoned_transaction_is_unreadable_until_actions_are_reported(
    saleor: FakeSaleor, teller: ReportingApp, installed: Stub
) -> None:
    installed.answer(
        WebhookEvent.TRANSACTION_CHARGE_REQUESTED, json_reply({"pspReference": "c-1", "actions": ["CHARGE"]})
    )
    await saleor.charge(teller.transaction_id, Decimal(5))
    await saleor.wait_for_background()

    broken = (await teller.report()).json()
    assert broken["data"]["transactionEventReport"]["transaction"] is None
    assert broken["errors"][0]["message"].endswith('"TransactionActionEnum" but received: CHARGE')
    healed = await teller.told(actions=["CANCEL"])
    assert healed["transaction"]["actions"] == ["CANCEL"]


async def test_saleor_is_down_for_a_while(saleor: FakeSaleor, teller: ReportingApp) -> None:
    await saleor.set_faults(graphql_status=503, graphql_times=2)

    statuses = [(await teller.report()).status_code for _ in range(3)]

    assert statuses == [503, 503, 200]
    assert len(await saleor.reports()) == 1


async def test_saleor_fails_inside(saleor: FakeSaleor, teller: ReportingApp) -> None:
    await saleor.set_faults(graphql_internal_error=True)
    answer = (await teller.report()).json()
    assert (answer["errors"][0]["message"], answer["data"]) == ("Internal Server Error", None)
    await saleor.clear_faults()
    assert (await teller.told())["errors"] == []


@pytest.mark.parametrize("body", ["null", "5", '{"errors": 7}', "<h1>Hello</h1>"])
async def test_something_else_answers_in_saleors_place(saleor: FakeSaleor, teller: ReportingApp, body: str) -> None:
    await saleor.set_faults(graphql_body=body, graphql_times=1)
    answer = await teller.report()
    assert (answer.status_code, answer.text) == (200, body)
    assert await saleor.reports() == []
    assert (await teller.told())["errors"] == []


async def test_answer_is_lost_after_the_work_is_done(saleor: FakeSaleor, teller: ReportingApp) -> None:
    await saleor.set_faults(graphql_answer_lost=True, graphql_times=1)
    with pytest.raises(httpx2.RemoteProtocolError):
        await teller.report(type="CHARGE_SUCCESS", pspReference="p-1", amount=569.5)

    again = await teller.told(type="CHARGE_SUCCESS", pspReference="p-1", amount=569.5)

    assert again["alreadyProcessed"] is True


async def test_saleor_is_slow(saleor: FakeSaleor, teller: ReportingApp) -> None:
    await saleor.set_faults(graphql_delay=5)
    with pytest.raises(httpx2.ReadTimeout):
        await teller._http.post(saleor.api_url, json={"query": "{ shop { version } }"}, timeout=0.2)


async def test_keys_are_not_to_be_had(saleor: FakeSaleor) -> None:
    await saleor.set_faults(jwks_status=500)
    async with httpx2.AsyncClient() as http:
        assert (await http.get(f"{saleor.url}/.well-known/jwks.json")).status_code == 500
        await saleor.set_faults(jwks_body="5")
        assert (await http.get(f"{saleor.url}/.well-known/jwks.json")).json() == 5


async def test_any_app_may_ask_for_the_channels(stub: Stub) -> None:
    listed = (
        ChannelSettings(slug="uah", name="Україна", currency="UAH"),
        ChannelSettings(slug="pl", name="Polska", currency="PLN", active=False),
    )
    asked = {"query": "{ channels { id slug name currencyCode isActive } }"}
    async with serving(SaleorSettings(channels=listed)) as running, httpx2.AsyncClient() as http:
        installed = await running.saleor.install(stub.manifest_url, permissions=[])
        headers = {"Authorization": f"Bearer {installed.token}"}
        answer = await http.post(running.saleor.api_url, json=asked, headers=headers)
        assert [
            (channel["slug"], channel["currencyCode"], channel["isActive"])
            for channel in answer.json()["data"]["channels"]
        ] == [
            ("uah", "UAH", True),
            ("pl", "PLN", False),
        ]
        stranger = await http.post(running.saleor.api_url, json=asked)
        assert stranger.json()["data"] == {"channels": None}


class TestStorefronts:
    """They pay over the API as well, from browsers of any origin, without a token."""

    async def ask(self, http: httpx2.AsyncClient, saleor: FakeSaleor, query: str) -> Any:
        answer = await http.post(saleor.api_url, json={"query": query}, headers={"Origin": "https://shop.test"})
        assert answer.headers["access-control-allow-origin"] == "*"
        return answer.json()["data"]

    async def test_a_checkout_is_paid_and_completed(self, saleor: FakeSaleor, installed: Stub) -> None:
        installed.answer(WebhookEvent.PAYMENT_GATEWAY_INITIALIZE_SESSION, json_reply({"data": {"available": True}}))
        waits = {"result": "CHARGE_ACTION_REQUIRED", "pspReference": "p-1", "data": {"checkoutUrl": "https://pay"}}
        installed.answer(WebhookEvent.TRANSACTION_INITIALIZE_SESSION, json_reply(waits))
        paid = {"result": "CHARGE_SUCCESS", "pspReference": "p-1", "amount": "569.50"}
        installed.answer(WebhookEvent.TRANSACTION_PROCESS_SESSION, json_reply(paid))
        checkout, [app] = (await saleor.create_checkout()).id, await saleor.apps()
        asked = "transaction { id } transactionEvent { type } data errors { code }"
        async with httpx2.AsyncClient(trust_env=False) as http:
            preflight = await http.options(saleor.api_url, headers={"Origin": "https://shop.test"})
            assert "content-type" in preflight.headers["access-control-allow-headers"]
            gateway = f'{{ id: "{app.identifier}" }}'
            offered = await self.ask(
                http, saleor,
                f'mutation {{ paymentGatewayInitialize(id: "{checkout}", paymentGateways: [{gateway}])'
                " { gatewayConfigs { id data } errors { code } } }",
            )  # fmt: skip
            [config] = offered["paymentGatewayInitialize"]["gatewayConfigs"]
            assert config == {"id": app.identifier, "data": {"available": True}}
            arguments = f'id: "{checkout}", paymentGateway: {gateway}'
            begun = await self.ask(http, saleor, f"mutation {{ transactionInitialize({arguments}) {{ {asked} }} }}")
            assert begun["transactionInitialize"]["data"] == {"checkoutUrl": "https://pay"}
            too_early = await self.ask(http, saleor, _complete(checkout))
            assert too_early["checkoutComplete"]["errors"] == [{"code": "CHECKOUT_NOT_FULLY_PAID"}]
            transaction = begun["transactionInitialize"]["transaction"]["id"]
            done = await self.ask(http, saleor, f'mutation {{ transactionProcess(id: "{transaction}") {{ {asked} }} }}')
            assert done["transactionProcess"]["transactionEvent"] == {"type": "CHARGE_SUCCESS"}
            completed = await self.ask(http, saleor, _complete(checkout))
            assert completed["checkoutComplete"]["order"]["number"]
            nobodys = await self.ask(http, saleor, f'mutation {{ transactionProcess(id: "nobodys") {{ {asked} }} }}')
            assert nobodys["transactionProcess"]["errors"] == [{"code": "NOT_FOUND"}]


def _complete(checkout: str) -> str:
    return f'mutation {{ checkoutComplete(id: "{checkout}") {{ order {{ number }} errors {{ code }} }} }}'
