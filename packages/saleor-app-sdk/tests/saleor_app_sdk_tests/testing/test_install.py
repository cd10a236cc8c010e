"""Apps come and go as in the recorded 24 installations."""

import json
from pathlib import Path
from typing import Any

import httpx2
import pytest

from integration_base_tests.loopback import Behaviour, ReceivedRequest, Silence, json_reply, text_reply
from saleor_app_sdk.testing import FakeSaleor, SaleorSettings, Serving, serving
from saleor_app_sdk_tests.testing.conftest import SHORT
from saleor_app_sdk_tests.testing.recordings import recording
from saleor_app_sdk_tests.testing.stub import Stub

CASES: dict[str, Any] = recording("install/install_cases")


def recorded_headers(request: dict[str, Any]) -> list[str]:
    return [name for name, _ in request["headers"]]


async def ask_app(saleor: FakeSaleor, token: str | None) -> Any:
    query = "{ app { id identifier name isActive permissions { code } } }"
    async with httpx2.AsyncClient() as http:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return (await http.post(saleor.api_url, json={"query": query}, headers=headers)).json()


async def test_installation_asks_as_saleor_asks(saleor: FakeSaleor, stub: Stub) -> None:
    done = await saleor.install(stub.manifest_url)

    [first, second, token] = stub.asked
    real = CASES["ok"]["requests"]
    assert [request.path for request in stub.asked] == ["/manifest", "/manifest", "/register"]
    for ours, theirs in zip((first, second, token), real, strict=True):
        assert [name for name, _ in ours.headers] == recorded_headers(theirs)
    unchanged = {"User-Agent", "Accept-Encoding", "Accept", "Connection", "Saleor-Schema-Version", "Content-Length"}
    assert {token.header(name) for name in unchanged} == {dict(real[2]["headers"])[name] for name in unchanged}
    assert token.header("Saleor-Api-Url") == saleor.api_url
    assert token.header("Saleor-Domain") == token.header("X-Saleor-Domain") == saleor.url.removeprefix("http://")
    assert token.body == json.dumps({"auth_token": done.token}).encode()
    assert len(done.token or "") == 30


async def test_token_works_while_it_is_handed_over(serving_saleor: Serving, stub: Stub) -> None:
    saleor = serving_saleor.saleor
    seen: list[bool] = []

    def register(asked: ReceivedRequest) -> Behaviour:
        seen.append(serving_saleor.engine.state.app_by_token(asked.json["auth_token"]) is not None)
        return json_reply({"success": True})

    stub.answers["/register"] = register
    done = await saleor.install(stub.manifest_url)

    assert seen == [True]
    answer = await ask_app(saleor, done.token)
    assert answer["data"]["app"] == {
        "id": done.app_id,
        "identifier": stub.manifest["id"],
        "name": stub.manifest["name"],
        "isActive": True,
        "permissions": [{"code": "HANDLE_PAYMENTS"}],
    }


async def test_token_is_refused_until_the_app_is_activated(saleor: FakeSaleor, stub: Stub) -> None:
    done = await saleor.install(stub.manifest_url, activate=False)
    real = CASES["token-used-inside-register-not-activated"]["inreg"]["app_query"]

    answer = await ask_app(saleor, done.token)
    assert answer["data"] == real["data"]
    assert answer["errors"][0]["message"] == real["errors"][0]["message"]
    assert answer["errors"][0]["extensions"] == real["errors"][0]["extensions"]

    await saleor.activate()
    assert (await ask_app(saleor, done.token))["data"]["app"]["id"] == done.app_id


async def test_reinstallation_makes_a_new_app_and_kills_the_old_token(saleor: FakeSaleor, stub: Stub) -> None:
    before = await saleor.install(stub.manifest_url)
    await saleor.uninstall()
    after = await saleor.install(stub.manifest_url)

    assert before.app_id != after.app_id
    assert (await ask_app(saleor, before.token))["data"] == {"app": None}
    assert (await ask_app(saleor, after.token))["data"]["app"]["id"] == after.app_id


ERROR = {"error": {"message": "my own error text"}}
REFUSALS: dict[str, tuple[dict[str, Behaviour], dict[str, Any]]] = {
    "register-500": ({"/register": json_reply(ERROR, status=500)}, {}),
    "register-403": ({"/register": json_reply(ERROR, status=403)}, {}),
    "register-slow-25s": ({"/register": Silence()}, {}),
    "manifest-500": ({"/manifest": json_reply({}, status=500)}, {}),
    "manifest-307": ({"/manifest": text_reply("", 307, Location="/elsewhere")}, {}),
    "version-not-satisfied": ({}, {"requiredSaleorVersion": ">=4"}),
}


@pytest.mark.parametrize("case", REFUSALS)
async def test_installation_fails_as_in_saleor(case: str, saleor: FakeSaleor, stub: Stub) -> None:
    answers, changes = REFUSALS[case]
    stub.answers.update(answers)
    stub.manifest.update(changes)

    await saleor.set_faults(**SHORT if Silence() in answers.values() else {})
    done = await saleor.install(stub.manifest_url)

    real = CASES[case]
    assert (done.status, done.message) == (real["result"]["status"], real["result"]["message"])
    assert [error.model_dump() for error in done.fetch_errors] == real["fetchManifest"]["errors"]
    assert await saleor.apps() == []


HOOK_CHANGES: dict[str, dict[str, Any]] = {
    "relative-targetUrl": {"targetUrl": "/hook"},
    "bad-event": {"syncEvents": ["NOPE"]},
    "sync-event-in-async": {"syncEvents": [], "asyncEvents": ["TRANSACTION_INITIALIZE_SESSION"]},
}


@pytest.mark.parametrize("case", HOOK_CHANGES)
async def test_bad_webhook_fails_the_whole_installation(case: str, saleor: FakeSaleor, stub: Stub) -> None:
    stub.manifest["webhooks"][1].update(HOOK_CHANGES[case])

    done = await saleor.install(stub.manifest_url)

    real = CASES[case]
    assert (done.status, done.message) == (real["result"]["status"], real["result"]["message"])
    assert [error.model_dump() for error in done.fetch_errors] == real["fetchManifest"]["errors"]


async def test_sync_events_may_be_left_out(saleor: FakeSaleor, stub: Stub) -> None:
    for hook in stub.manifest["webhooks"]:
        del hook["syncEvents"]

    assert (await saleor.install(stub.manifest_url)).status == CASES["no-syncEvents"]["result"] == "INSTALLED"
    checkout = await saleor.create_checkout()
    await saleor.initialize(checkout.id)
    assert len(stub.asked_for("transaction_initialize_session")) == 1


async def test_redirected_token_is_lost_and_the_app_installed(saleor: FakeSaleor, stub: Stub) -> None:
    stub.answers["/register"] = text_reply("", 302, Location=f"{stub.url}/elsewhere")

    done = await saleor.install(stub.manifest_url)

    assert done.status == CASES["register-302"]["result"] == "INSTALLED"
    assert stub.asked_for("/elsewhere") == []


async def test_same_identifier_cannot_be_installed_twice(saleor: FakeSaleor, installed: Stub) -> None:
    again = await saleor.install(installed.manifest_url)

    real = CASES["again-same-id-while-installed"]["result"]["message"]
    assert again.status == "FAILED"
    assert again.message == real.replace("Second", installed.manifest["name"])
    assert len(await saleor.apps()) == 1


async def test_app_without_permission_gets_no_webhooks(saleor: FakeSaleor, stub: Stub) -> None:
    await saleor.install(stub.manifest_url, permissions=[])
    checkout = await saleor.create_checkout()

    session = await saleor.initialize(checkout.id)

    assert [error.code for error in session.errors] == ["NOT_FOUND"]
    assert stub.asked_for("transaction_initialize_session") == []


async def test_subscription_must_fit_the_schema_of_this_saleor(stub: Stub, tmp_path: Path) -> None:
    schema = tmp_path / "schema.graphql"
    schema.write_text(
        """
        type Query { shop: String }
        type Subscription { event: Event }
        interface Event { version: String }
        type TransactionInitializeSession implements Event { version: String merchantReference: String! }
        """
    )
    query = "subscription {{ event {{ ... on TransactionInitializeSession {{ version {field} }} }} }}"
    [hook] = [hook for hook in stub.manifest["webhooks"] if hook["name"] == "transaction_initialize_session"]
    stub.manifest["webhooks"] = [hook]
    async with serving(SaleorSettings(schema_path=schema)) as running:
        hook["query"] = query.format(field="nope")
        refused = await running.saleor.install(stub.manifest_url)
        hook["query"] = query.format(field="merchantReference")
        installed = await running.saleor.install(stub.manifest_url)

    real = CASES["bad-query"]
    assert (refused.status, refused.message) == (real["result"]["status"], real["result"]["message"])
    assert [error.model_dump() for error in refused.fetch_errors] == real["fetchManifest"]["errors"]
    assert installed.status == "INSTALLED"


@pytest.mark.parametrize("query", ["", "oops {", "{ shop }", "subscription { event { id } } subscription B { x }"])
async def test_subscription_must_be_one(query: str, saleor: FakeSaleor, stub: Stub) -> None:
    stub.manifest["webhooks"][0]["query"] = query
    refused = await saleor.install(stub.manifest_url)
    assert refused.status == "FAILED"
    assert "Subscription query is not valid" in (refused.message or "")


async def test_identity_of_the_app_is_required(saleor: FakeSaleor, stub: Stub) -> None:
    del stub.manifest["name"]
    refused = await saleor.install(stub.manifest_url)
    assert refused.message == "name: ['Field required']"
    stub.manifest.update(name="Capture payment", permissions=["MANAGE_APPS"])
    assert (await saleor.install(stub.manifest_url)).status == "FAILED"
    stub.manifest.update(permissions=[], tokenTargetUrl="/register")
    assert (await saleor.install(stub.manifest_url)).status == "FAILED"


async def test_nobody_at_the_manifest_address(saleor: FakeSaleor) -> None:
    refused = await saleor.install("http://127.0.0.1:9/manifest")
    assert (refused.status, refused.message) == (
        "FAILED",
        "Failed to connect to app. Try later or contact with app support.",
    )


async def test_app_that_wants_no_token_gets_none(saleor: FakeSaleor, stub: Stub) -> None:
    del stub.manifest["tokenTargetUrl"]
    assert (await saleor.install(stub.manifest_url)).status == CASES["no-tokenTargetUrl"]["result"]
    assert stub.asked_for("/register") == []


async def test_stopped_app_is_not_asked(saleor: FakeSaleor, installed: Stub) -> None:
    await saleor.deactivate()
    checkout = await saleor.create_checkout()
    assert [error.code for error in (await saleor.initialize(checkout.id)).errors] == ["NOT_FOUND"]


WIDGET = {
    "label": "Payments",
    "mount": "ORDER_DETAILS_WIDGETS",
    "target": "WIDGET",
    "url": "https://app.example/widget",
    "permissions": ["HANDLE_PAYMENTS"],
    "options": {"widgetTarget": {"method": "POST"}},
}


@pytest.mark.parametrize(
    ("version", "changed", "refused"),
    [
        ("3.23.28", {}, None),
        ("3.22.67", {}, None),
        ("3.21.69", {}, "mount or target"),
        ("3.23.28", {"permissions": ["MANAGE_STAFF"]}, "permission"),
        ("3.23.28", {"url": "widget"}, "url"),
    ],
)
async def test_a_widget_must_fit_this_saleor_and_the_app(
    version: str, changed: dict[str, Any], refused: str | None, stub: Stub
) -> None:
    stub.manifest["extensions"] = [WIDGET | changed]
    async with serving(SaleorSettings(version=version)) as running:
        done = await running.saleor.install(stub.manifest_url)
    assert (done.status == "INSTALLED") is (refused is None)
    assert (refused or "") in (done.message or "")
