"""The health check in the Dashboard: what ``doctor`` says of one store; drift is seen, mended by a button, and fine."""

import asyncio
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest

from app.bootstrap import open_saleor
from app.web.dashboard.set_up import health
from integration_base_tests.loopback import ReceivedRequest, Reply, serve_replies
from tests.commands.conftest import one_database
from tests.doctor.conftest import DoctorEnvironment, open_doctor_environment
from tests.doctor.test_drift import CHARGE, OLD_QUERY, REFUND, change, create, delete

PAGE = "/parts/set-up/health"
BUTTON = "Update the webhooks to this release"


LOOKING = "Still checking"


@dataclass
class Staff:
    """Somebody in the store's Dashboard."""

    around: DoctorEnvironment
    permissions: tuple[str, ...] = ("HANDLE_PAYMENTS", "MANAGE_APPS")

    async def ask(self, method: str, path: str = PAGE, *, language: str = "en") -> httpx2.Response:
        saleor = self.around.saleor
        await saleor.sign_in("olena@example.com", self.permissions)
        (app,) = await saleor.apps()
        headers = {
            "Authorization": f"Bearer {await saleor.access_token(app.id)}",
            "Saleor-Api-Url": saleor.api_url,
            "Accept-Language": language,
        }
        async with httpx2.AsyncClient(base_url=self.around.stack.app.url, trust_env=False) as http:
            return await http.request(method, path, headers=headers)

    async def sees(self, method: str = "POST", path: str = PAGE) -> str:
        """Return the page, looked at anew, and without what must never be on it."""
        answer = await self.ask(method, path)
        while method == "GET" and LOOKING in answer.text:  # on a busy machine it takes longer than a page waits for
            answer = await self.ask(method, path)
        assert answer.status_code == 200, answer.text
        settings = self.around.stack.settings
        unseen = [str(settings.data_dir), settings.database, str(settings.key_file), *await self.around.secrets()]
        assert not [text for text in unseen if text in answer.text]
        return answer.text


@pytest.fixture
def staff(around: DoctorEnvironment) -> Staff:
    return Staff(around)


async def test_drift_is_seen_mended_by_the_button_and_fine_again(around: DoctorEnvironment, staff: Staff) -> None:
    async with open_saleor(around.stack.settings) as saleor:
        await delete(around, saleor, CHARGE)
        await change(around, saleor, REFUND, query=OLD_QUERY)
        await create(around, saleor, "https://log.example.com/hook")
    page = await staff.sees("GET")
    assert "Critical: 1. Warnings: 1." in page
    assert f"Saleor does not notify the app of {CHARGE}: the webhook is missing." in page
    assert f"The webhook for {REFUND} is outdated: its query." in page
    assert BUTTON in page
    assert "saleor-gateway" not in page, "that is for a terminal"

    done = await staff.sees("POST", f"{PAGE}/webhooks")
    assert "The webhooks were updated to this release." in done
    assert f"Fixed: Saleor does not notify the app of {CHARGE}: the webhook is missing." in done
    assert "Everything is fine." in done, "it was looked again"
    assert "https://log.example.com/hook" in done, "what is not the app's is left alone"
    assert BUTTON not in done
    assert await around.faults() == {}
    assert "Nothing was changed." in await staff.sees("POST", f"{PAGE}/webhooks")


@one_database
async def test_everything_is_fine(around: DoctorEnvironment, staff: Staff) -> None:
    page = await staff.sees("GET")
    assert "Everything is fine." in page
    of_the_operator = {"key-file", "database", "migrations", "installations"}
    said = [finding for finding in await around.findings() if finding["check"] not in of_the_operator]
    assert page.count(">Fine</span>") == len(said)
    assert "Усе гаразд." in (await staff.ask("GET", language="uk")).text


@one_database
async def test_what_was_found_is_shown_for_a_minute_unless_somebody_asks_anew(
    around: DoctorEnvironment, staff: Staff
) -> None:
    assert "Everything is fine." in await staff.sees("GET")
    await around.saleor.set_faults(jwks_status=500)
    assert "Everything is fine." in await staff.sees("GET")
    assert "signing keys cannot be fetched" in await staff.sees("POST")


@one_database
async def test_other_stores_are_nobodys_business(around: DoctorEnvironment, staff: Staff) -> None:
    await around.services.installations.save(
        saleor_api_url="https://other.example.com/graphql/", saleor_domain="other.example.com", schema_version="3.23",
        app_id="QXBwOjE=", token="another-token", jwks=None,
    )  # fmt: skip
    page = await staff.sees()
    assert "other.example.com" not in page
    assert "Everything is fine." in page


@one_database
async def test_what_only_the_operator_can_mend_is_said_as_such(tmp_path: Path, database_url: str) -> None:
    async with open_doctor_environment(tmp_path, database_url, worker=False) as around:
        page = await Staff(around).sees()
    assert "No worker has been seen" in page
    assert "For the app operator" in page


@one_database
@pytest.mark.parametrize(("method", "path"), [("GET", ""), ("POST", ""), ("GET", "/findings"), ("POST", "/webhooks")])
async def test_only_who_may_set_up_sees_and_changes(around: DoctorEnvironment, method: str, path: str) -> None:
    answer = await Staff(around, ("HANDLE_PAYMENTS",)).ask(method, PAGE + path)
    assert answer.status_code == 403


@one_database
async def test_what_takes_long_is_shown_when_it_is_there(
    around: DoctorEnvironment, staff: Staff, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "_WAIT", 0.05)
    answers = asyncio.Event()

    async def slow(_heard: ReceivedRequest) -> Reply:
        await answers.wait()
        return Reply(503)

    async with serve_replies(slow) as gateway:
        await around.account(base_url=gateway)
        page = (await staff.ask("GET")).text
        assert LOOKING in page
        assert 'data-follow="/set-up/health/findings"' in page
        assert "data-final" not in page
        answers.set()
        monkeypatch.setattr(health, "_WAIT", 30)
        found = await staff.sees("GET", f"{PAGE}/findings")
    assert "data-final" in found
    assert "Critical: 1." in found


@one_database
async def test_what_saleor_refuses_is_told(around: DoctorEnvironment, staff: Staff) -> None:
    async with open_saleor(around.stack.settings) as saleor:
        await create(around, saleor, "https://old.example.com/api/webhooks/transaction-refund-requested")
    await around.saleor.set_faults(webhook_in_use=True)
    page = await staff.sees("POST", f"{PAGE}/webhooks")
    assert "Saleor did not let the app change everything." in page
    assert "Refused by Saleor: Saleor notifies the app of" in page
    await around.saleor.set_faults(graphql_status=503)
    answer = await staff.ask("POST", f"{PAGE}/webhooks")
    assert answer.status_code == 503
    assert "Saleor did not respond." in answer.json()["detail"]["message"]
