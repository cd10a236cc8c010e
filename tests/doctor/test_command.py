"""``doctor`` sees everything fine where it is, and each fault where there is one."""

import json
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text, update
from sqlmodel import col

from app import DISTRIBUTION
from app.bootstrap import utc_now
from app.settings import Settings
from app.store.processes import RunningProcess, record_heartbeat
from app.store.tables import Process
from app.store.vault import create_key_file
from integration_base_tests.loopback import ReceivedRequest, Reply, json_reply, serve_replies
from integration_base_tests.tls_server import https_server
from saleor_app_sdk.testing import FakeSaleor
from tests.commands.conftest import Shell, one_database
from tests.conftest import MigratedDatabases
from tests.doctor.conftest import DoctorEnvironment, open_doctor_environment

CLOSED = "http://127.0.0.1:9"
ELSEWHERE = ("error webhooks", "error extensions")
"""What differs in Saleor as well from what the settings say, when they name another address."""


async def test_everything_is_fine(around: DoctorEnvironment) -> None:
    found = await around.findings()
    assert {finding["level"] for finding in found} == {"fine"}, found
    of_the_app = {finding["check"] for finding in found if finding["saleor"] is None}
    assert of_the_app == {"key-file", "database", "migrations", "address", "worker", "installations"}
    of_the_store = {finding["check"] for finding in found if finding["saleor"] == around.saleor.api_url}
    assert of_the_store == {
        "saleor", "signing-keys", "clock", "permissions", "webhooks", "extensions", "channels", "account",
        "events", "notifications", "look-ups",
    }  # fmt: skip
    told = await Shell(around.environment)("doctor", "--saleor", around.saleor.api_url)
    assert (told.status, told.err) == (0, "")
    assert told.out.startswith("The app\n  fine  Secret key file  The secret key file is there")
    assert told.out.endswith("Everything is fine.\n"), told.out
    assert f" {around.stack.app.url} leads to this app." in told.out


@one_database
async def test_nothing_is_changed_at_the_gateway(around: DoctorEnvironment) -> None:
    await around.findings()
    assert await around.stack.gateway.payments() == []


@pytest.mark.fault("database-away")
async def test_a_database_that_is_away(around: DoctorEnvironment) -> None:
    """It is told as a fault among others, and no password with it."""
    away = "postgresql://me:pass-word-of-mine@127.0.0.1:9/shop"
    told = await Shell(around.environment)("doctor", APP_DATABASE_URL=away)
    assert told.status == 1
    assert "No server is listening at 127.0.0.1:9" in " ".join(told.out.split())
    assert "pass-word-of-mine" not in told.out + told.err
    found = json.loads((await Shell(around.environment)("doctor", "--json", APP_DATABASE_URL=away)).out)
    assert {(finding["check"], finding["level"]) for finding in found} == {
        ("key-file", "fine"), ("database", "error"), ("address", "warning"),
    }  # fmt: skip


async def test_a_database_that_was_never_migrated(
    around: DoctorEnvironment, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    empty = f"sqlite:///{tmp_path / 'empty.sqlite'}"
    (tmp_path / "empty.sqlite").touch()
    if around.environment["APP_DATABASE_URL"].startswith("postgresql"):
        empty = request.getfixturevalue("new_postgresql")()
    faults = await around.faults(APP_DATABASE_URL=empty)
    assert faults["error migrations"] == "The database is empty: it was never migrated."


@one_database
async def test_a_database_of_another_version(around: DoctorEnvironment) -> None:
    async with around.services.database.transaction() as session:
        await (await session.connection()).execute(text("UPDATE alembic_version SET version_num = '9999'"))
    faults = await around.faults()
    assert "is at revision 9999, which this version of the app does not support" in faults["error migrations"]
    async with around.services.database.transaction() as session:
        await (await session.connection()).execute(text("UPDATE alembic_version SET version_num = '0999.0001'"))
    faults = await around.faults()
    assert "of a newer version of the app. This version works with it." in faults["warning migrations"]


@one_database
async def test_a_database_that_is_not_there_is_not_made(around: DoctorEnvironment, tmp_path: Path) -> None:
    file = tmp_path / "elsewhere.sqlite"
    assert "error database" in await around.faults(APP_DATABASE_URL=f"sqlite:///{file}")
    assert not file.exists()


def mode(number: int) -> Callable[[Path], None]:
    return lambda file: file.chmod(number)


@one_database
@pytest.mark.parametrize(
    ("breaks", "fault", "words"),
    [
        (mode(0o640), "warning key-file", "its mode is 0640"),
        (mode(0o604), "warning key-file", "its mode is 0604"),
        (Path.unlink, "error key-file", "There is no secret key file."),
        (lambda file: file.write_text("no key\n"), "error key-file", "The secret key file cannot be used."),
        (lambda file: file.write_text(""), "error key-file", "The secret key file cannot be used."),
    ],
)
async def test_a_secret_key_file_that_is_not_as_it_should_be(
    around: DoctorEnvironment, breaks: Callable[[Path], None], fault: str, words: str
) -> None:
    breaks(around.stack.settings.key_file)
    assert words in (await around.faults())[fault]


@pytest.mark.fault("key-lost")
@one_database
async def test_another_key_file_than_the_apps(around: DoctorEnvironment, tmp_path: Path) -> None:
    create_key_file(tmp_path / "another.key")
    faults = await around.faults(APP_SECRET_KEY_FILE=str(tmp_path / "another.key"))
    assert list(faults) == ["error installations"]
    assert "No key in the secret key file decrypts the tokens" in faults["error installations"]


async def address_findings(around: DoctorEnvironment, address: str) -> Sequence[dict[str, Any]]:
    return [finding for finding in await around.findings(APP_BASE_URL=address) if finding["check"] == "address"]


async def test_an_address_at_which_nobody_answers(around: DoctorEnvironment) -> None:
    faults = await around.faults(APP_BASE_URL=CLOSED)
    assert list(faults) == ["error address", *ELSEWHERE]
    assert faults["error address"].startswith("Nothing answers at http://127.0.0.1:9")


@one_database
async def test_an_address_that_does_not_resolve(around: DoctorEnvironment) -> None:
    (told,) = await address_findings(around, "https://shop.invalid")
    assert told["what"] == (
        "https://shop.invalid cannot be reached from the app's own machine: its name does not resolve to an address."
    )
    assert "orrect the name, or its DNS record" in told["to_do"]


@one_database
async def test_an_address_whose_certificate_nobody_vouches_for(around: DoctorEnvironment, tmp_path: Path) -> None:
    async with https_server("localhost", tmp_path, []) as (port, _):
        (told,) = await address_findings(around, f"https://localhost:{port}")
    assert "its certificate is from no authority that the app's machine trusts" in told["what"]
    assert "ave the server send its whole certificate chain" in told["to_do"]


@one_database
@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (Reply(301, headers={"Location": "https://elsewhere.example.com"}), "redirects elsewhere (HTTP 301)"),
        (Reply(200, b"<html>It works!"), "is not the app (HTTP 200)"),
        (Reply(404), "is not the app (HTTP 404)"),
        (Reply(200, b"[]" * 10_000), "is not the app (HTTP 200)"),
        (Reply(503), "cannot reach its database"),
        (json_reply({"status": "ok", "process": "0" * 32}), "Another copy of the app answers"),
    ],
)
async def test_an_address_that_leads_elsewhere(around: DoctorEnvironment, reply: Reply, words: str) -> None:
    async def answer(_heard: ReceivedRequest) -> Reply:
        return reply

    async with serve_replies(answer) as elsewhere:
        faults = await around.faults(APP_BASE_URL=elsewhere)
        assert list(faults) == ["error address", *ELSEWHERE]
        assert words in faults["error address"]
        for_browsers = await around.faults(APP_IFRAME_BASE_URL=elsewhere)
    assert list(for_browsers) == ["error frame-address", "error extensions"]
    assert words in for_browsers["error frame-address"]


@one_database
async def test_an_address_that_leads_to_another_copy_of_the_app(
    around: DoctorEnvironment, migrated: MigratedDatabases, tmp_path: Path
) -> None:
    """The proxy still leads to the old server: everything there looks as it should, and it is not this one."""
    (tmp_path / "old").mkdir()
    async with open_doctor_environment(tmp_path / "old", await migrated.sqlite(tmp_path / "old")) as old:
        faults = await around.faults(APP_BASE_URL=old.stack.app.url)
    assert faults.keys() == {"error address", *ELSEWHERE}
    assert faults["error address"] == (
        f"Another copy of the app answers at {old.stack.app.url}: it uses another database."
    )


@one_database
async def test_an_address_that_a_saleor_elsewhere_cannot_use(around: DoctorEnvironment) -> None:
    (installation,) = await around.services.installations.all()
    await around.services.installations.save(
        saleor_api_url="https://shop.example.com/graphql/", saleor_domain="shop.example.com", schema_version="3.23",
        app_id="QXBwOjE=", token="another-token", jwks=None,
    )  # fmt: skip
    shell = Shell(around.environment)
    found = (await shell("doctor", "--json", "--saleor", "https://shop.example.com")).json
    (fault,) = [finding for finding in found if finding["check"] == "address"]
    assert "is an address of this machine or a private network" in fault["what"]
    assert fault["to_do"] == "Set APP_BASE_URL to the public address."
    assert "error address" not in await around.faults("--saleor", installation.saleor_api_url)


@one_database
async def test_an_address_without_tls(around: DoctorEnvironment) -> None:
    found = await around.findings(APP_BASE_URL="http://payments.example.com")
    words = [finding["what"] for finding in found if finding["check"] == "address"]
    assert words[0].startswith("http://payments.example.com is not https")


@one_database
async def test_a_port_that_the_gateway_does_not_call(around: DoctorEnvironment) -> None:
    found = await around.findings(APP_BASE_URL="https://payments.example.com:9443")
    (words,) = [finding["what"] for finding in found if "443 or 8443" in finding["what"]]
    assert words.startswith("the gateway cannot notify https://payments.example.com:9443/api/webhooks/gateway/")


@pytest.mark.fault("no-worker")
async def test_no_worker(tmp_path: Path, database_url: str) -> None:
    async with open_doctor_environment(tmp_path, database_url, worker=False) as around:
        faults = await around.faults()
        assert list(faults) == ["error worker"]
        assert faults["error worker"].startswith("No worker has been seen: nothing is reported to Saleor")


@pytest.mark.fault("no-worker")
async def test_a_worker_that_stands_still(around: DoctorEnvironment) -> None:
    long_ago = utc_now() - timedelta(minutes=5)
    async with around.services.database.transaction() as session:
        await session.exec(update(Process).where(col(Process.works).is_(True)).values(seen_at=long_ago))
    faults = await around.faults()
    assert list(faults) == ["error worker"]
    assert faults["error worker"].startswith(f"No worker has been seen since {long_ago:%Y-%m-%d %H:%M} UTC")


@pytest.mark.fault("two-versions")
@one_database
async def test_processes_of_two_versions(around: DoctorEnvironment) -> None:
    async with around.services.database.transaction() as session:
        await record_heartbeat(session, RunningProcess("0.0.9", serves=True, works=False), utc_now())
    assert await around.faults() == {
        "warning worker": f"Processes of different versions are running: 0.0.9, {version(DISTRIBUTION)}."
    }


@one_database
async def test_nobody_has_installed_the_app(tmp_path: Path, database_url: str) -> None:
    settings = Settings(database_url=database_url, data_dir=tmp_path / "data")
    settings.open_vault()
    environment = {"APP_DATABASE_URL": database_url, "APP_DATA_DIR": str(settings.data_dir), "APP_BASE_URL": CLOSED}
    told = await Shell(environment)("doctor")
    assert told.status == 1, "nothing runs"
    assert "No store has installed the app yet." in told.out
    assert f"{CLOSED}/api/manifest" in told.out


Breaks = Callable[[FakeSaleor], Awaitable[None]]


@pytest.mark.parametrize(
    ("breaks", "faults"),
    [
        (lambda saleor: saleor.deactivate(), {"error saleor": "Saleor does not give the app access"}),
        (lambda saleor: saleor.set_faults(refuse_token=True), {"error saleor": "Saleor does not give the app access"}),
        (lambda saleor: saleor.set_faults(graphql_status=503), {"error saleor": "Saleor does not answer."}),
        (
            lambda saleor: saleor.set_faults(graphql_status=401),
            {"error saleor": "Saleor's API does not answer, but something in its place: HTTP 401."},
        ),
        (
            lambda saleor: saleor.set_faults(jwks_status=500),
            {"error signing-keys": "Saleor's signing keys cannot be fetched"},
        ),
    ],
    ids=["switched off", "token refused", "down", "behind a password", "no keys"],
)
async def test_what_is_wrong_with_saleor(around: DoctorEnvironment, breaks: Breaks, faults: dict[str, str]) -> None:
    await breaks(around.saleor)
    await around.saleor.wait_for_background()  # what it tells the app of it
    found = await around.faults()
    assert list(found) == list(faults)
    assert all(found[name].startswith(words) for name, words in faults.items())


@one_database
async def test_a_saleor_whose_address_leads_to_another(around: DoctorEnvironment) -> None:
    async def redirect(_request: ReceivedRequest) -> Reply:
        return Reply(301, headers={"Location": "https://new.example.com/graphql/"})

    async with serve_replies(redirect) as address:
        await around.services.installations.save(
            saleor_api_url=f"{address}/graphql/",
            saleor_domain="s",
            schema_version="3.23",
            app_id="QXBwOjE=",
            token="the-token",
            jwks=None,
        )
        faults = await around.faults("--saleor", f"{address}/graphql/")
    assert faults["error saleor"] == "Saleor's API address leads to another: https://new.example.com/graphql/."


@one_database
async def test_an_installation_that_was_not_activated(around: DoctorEnvironment) -> None:
    await around.services.installations.save_pending(
        saleor_api_url="http://127.0.0.1:9/graphql/", saleor_domain="s", schema_version="3.23", token="one-that-waits"
    )
    faults = await around.faults("--saleor", "http://127.0.0.1:9/graphql/")
    assert faults["error saleor"] == "Saleor does not accept the app's token yet."


@one_database
async def test_another_id_than_the_app_was_installed_with(around: DoctorEnvironment) -> None:
    found = await around.findings(APP_ID="another.app")
    (fault,) = [finding for finding in found if finding["check"] == "saleor"]
    assert fault["to_do"] == "Set APP_ID back to gateway.payments.app, or remove the app and install it again."


@one_database
async def test_channels_in_which_nobody_can_pay(around: DoctorEnvironment) -> None:
    (installation,) = await around.services.installations.all()
    await around.account(currencies=["EUR"])
    assert (await around.faults())["error channels"] == "Shoppers cannot pay in any channel."
    await around.account(currencies=["UAH"])
    await around.services.accounts.map_channel("closed", around.account_id)
    assert await around.faults() == {
        "warning channels": "In closed shoppers cannot pay: the channel no longer exists in Saleor."
    }
    await around.services.accounts.unmap_channel(installation.id, "closed")
    await around.services.accounts.unmap_channel(installation.id, "uah")
    faults = await around.faults()
    assert faults["error channels"] == "Shoppers cannot pay in any channel."


@one_database
async def test_a_store_without_an_account_that_is_switched_on(around: DoctorEnvironment) -> None:
    await around.account(enabled=False)
    assert (await around.faults())["error account"].startswith("No merchant account is switched on")


@one_database
async def test_keys_that_the_gateway_does_not_take(around: DoctorEnvironment) -> None:
    await around.services.accounts.change_keys(around.account_id, api_key="another-key")
    faults = await around.faults()
    assert list(faults) == ["error account"]
    assert "rejects these keys" in faults["error account"]


@pytest.mark.fault("gateway-down")
@one_database
async def test_a_gateway_that_is_away(around: DoctorEnvironment) -> None:
    await around.account(base_url=CLOSED)
    faults = await around.faults()
    assert list(faults) == ["error account"]
    assert faults["error account"].startswith("cannot connect to 127.0.0.1:9")


@one_database
async def test_an_account_that_names_no_storefront(around: DoctorEnvironment) -> None:
    await around.account(storefront_origins=[])
    faults = await around.faults()
    assert list(faults) == ["warning account"]
    assert faults["warning account"].startswith("no storefront is named")


@one_database
@pytest.mark.parametrize(("area", "missed"), [("balances_url", "balances"), ("register_url", "the register")])
async def test_an_area_that_the_keys_may_not_use(around: DoctorEnvironment, area: str, missed: str) -> None:
    async def answer(_heard: ReceivedRequest) -> Reply:
        return json_reply({"message": "no", "args": {"code": "S-403"}}, 401)

    async with serve_replies(answer) as elsewhere:
        await around.account(**{area: elsewhere})
        faults = await around.faults()
    assert list(faults) == ["warning account"]
    assert faults["warning account"].startswith(f"{missed}: not permitted. Without it")
