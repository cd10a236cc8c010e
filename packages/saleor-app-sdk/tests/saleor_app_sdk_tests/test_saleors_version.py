"""A Saleor that is upgraded in place tells nobody; its webhooks say what it is now."""

import httpx2
import pytest

from saleor_app_sdk.versions import format_release, parse_release, parse_version
from saleor_app_sdk_tests.fake_saleor import API_URL, InMemoryStore, refund_body
from saleor_app_sdk_tests.served_app import AppClient

pytestmark = pytest.mark.usefixtures("installed")


@pytest.mark.parametrize(
    ("text", "kept", "line"),
    [
        ("3.22.67", "3.22.67", (3, 22)),
        ("3.24.0-a.0", "3.24.0", (3, 24)),
        ("3.23", "3.23", (3, 23)),
        ("3.23.", "3.23", (3, 23)),
        ("nonsense", None, (3, 21)),
        ("", None, (3, 21)),
        (None, None, (3, 21)),
    ],
)
def test_how_a_version_is_read_and_kept(text: str | None, kept: str | None, line: tuple[int, int]) -> None:
    release = parse_release(text)
    assert (release and format_release(release)) == kept
    assert parse_version(text) == line


@pytest.mark.parametrize(("version", "kept"), [("3.24.1", "3.24.1"), ("3.22.67", "3.22.67"), ("3.23.28", "3.23.28")])
async def test_what_a_verified_webhook_says_is_kept_a_lower_one_too(
    app_client: AppClient, store: InMemoryStore, version: str, kept: str
) -> None:
    answer = await app_client.deliver(refund_body(version=version))
    assert answer.status_code == 200
    assert store.rows[API_URL].schema_version == kept


async def test_what_says_nothing_readable_changes_nothing(app_client: AppClient, store: InMemoryStore) -> None:
    before = store.rows[API_URL].schema_version
    for version in (None, "newest"):
        assert (await app_client.deliver(refund_body(version=version))).status_code == 200
    assert store.rows[API_URL].schema_version == before


async def refused(app_client: AppClient, case: str) -> httpx2.Response:
    """Send a newer version in a request that must not be believed."""
    told = refund_body(version="9.9.9")
    match case:
        case "not signed":
            return await app_client.deliver(told, Saleor_Signature="e30..e30")
        case "for another app":
            return await app_client.deliver(told | {"recipient": {"id": "QXBwOjk=", "identifier": "another"}})
        case _:
            return await app_client.deliver(told | {"issuedAt": "2020-01-01T00:00:00+00:00"})


@pytest.mark.parametrize("case", ["not signed", "for another app", "recorded long ago"])
async def test_nobody_else_says_what_a_saleor_is(app_client: AppClient, store: InMemoryStore, case: str) -> None:
    before = store.rows[API_URL].schema_version
    assert (await refused(app_client, case)).status_code >= 400
    assert store.rows[API_URL].schema_version == before
