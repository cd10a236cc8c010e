"""A person uses the app's page in the Dashboard; a stranger would like to."""

from typing import Any

import httpx2
import pytest

from integration_base_tests.clock import Clock
from saleor_app_sdk.dashboard_token import DashboardTokens
from saleor_app_sdk.errors import NotPermittedError, NotVerifiedError
from saleor_app_sdk.keyring import Keyring
from saleor_app_sdk_tests.dashboard_tokens import claims, forgeries, jwt
from saleor_app_sdk_tests.fake_saleor import API_URL, InMemoryStore, MinimalSaleor, Row, SigningKey, signing_key


@pytest.fixture
def tokens(store: InMemoryStore, http: httpx2.AsyncClient, clock: Clock, installed: Row) -> DashboardTokens:
    return DashboardTokens(store, Keyring(store, http, clock), clock)


@pytest.fixture
def key(saleor: MinimalSaleor) -> SigningKey:
    return saleor.key


async def test_staff_are_known_by_what_saleor_says_of_them(
    tokens: DashboardTokens, key: SigningKey, clock: Clock, installed: Row
) -> None:
    user = await tokens.check(API_URL, jwt(key, claims(clock)), "HANDLE_PAYMENTS")
    assert (user.id, user.email, user.installation) == ("VXNlcjox", "staff@example.com", installed)
    assert user.permissions == {"HANDLE_PAYMENTS", "MANAGE_ORDERS"}
    assert user.expires_at.timestamp() == clock().timestamp() + 300


async def test_a_token_that_names_nobody_has_no_id(tokens: DashboardTokens, key: SigningKey, clock: Clock) -> None:
    user = await tokens.check(API_URL, jwt(key, claims(clock, user_id=None, email=None)))
    assert (user.id, user.email) == ("", "")


@pytest.mark.threat("missing-permission")
async def test_what_the_person_may_not_do_is_named(tokens: DashboardTokens, key: SigningKey, clock: Clock) -> None:
    token = jwt(key, claims(clock))
    with pytest.raises(NotPermittedError, match="MANAGE_APPS") as refusal:
        await tokens.check(API_URL, token, "HANDLE_PAYMENTS", "MANAGE_APPS")
    assert (refusal.value.status, refusal.value.code) == (403, "NOT_PERMITTED")


@pytest.mark.threat("missing-permission")
async def test_what_the_app_may_do_is_not_what_the_person_may_do(
    tokens: DashboardTokens, key: SigningKey, clock: Clock
) -> None:
    token = jwt(key, claims(clock, permissions=["MANAGE_APPS"], user_permissions=[]))
    with pytest.raises(NotPermittedError):
        await tokens.check(API_URL, token, "MANAGE_APPS")


@pytest.mark.threat("forged-dashboard-token")
async def test_a_token_is_over_after_its_time(tokens: DashboardTokens, key: SigningKey, clock: Clock) -> None:
    token = jwt(key, claims(clock))
    clock.forward(seconds=304)
    await tokens.check(API_URL, token)
    clock.forward(seconds=1)
    with pytest.raises(NotVerifiedError) as refusal:
        await tokens.check(API_URL, token)
    assert (refusal.value.status, refusal.value.code) == (401, "EXPIRED_TOKEN")


@pytest.mark.threat("forged-dashboard-token")
@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"iss": "https://other.example.com/graphql/"}, "FOREIGN_TOKEN"),
        ({"iss": None}, "FOREIGN_TOKEN"),
        ({"type": "access"}, "FOREIGN_TOKEN"),
        ({"type": "refresh"}, "FOREIGN_TOKEN"),
        ({"app": "QXBwOjI="}, "FOREIGN_TOKEN"),
        ({"app": None}, "FOREIGN_TOKEN"),
        ({"exp": None}, "EXPIRED_TOKEN"),
        ({"exp": True}, "EXPIRED_TOKEN"),
        ({"exp": "tomorrow"}, "EXPIRED_TOKEN"),
        ({"exp": 10**30}, "EXPIRED_TOKEN"),
    ],
    ids=str,
)
async def test_saleors_own_signature_is_not_enough(
    tokens: DashboardTokens, key: SigningKey, clock: Clock, changed: dict[str, Any], code: str
) -> None:
    with pytest.raises(NotVerifiedError) as refusal:
        await tokens.check(API_URL, jwt(key, claims(clock, **changed)))
    assert refusal.value.code == code


@pytest.mark.threat("forged-dashboard-token")
async def test_a_token_of_before_the_re_install_is_another_apps(
    tokens: DashboardTokens, key: SigningKey, clock: Clock, store: InMemoryStore, installed: Row
) -> None:
    store.put(Row(API_URL, app_id="QXBwOjk=", token="new", jwks=installed.jwks, jwks_fetched_at=clock()))
    with pytest.raises(NotVerifiedError, match="another app"):
        await tokens.check(API_URL, jwt(key, claims(clock)))


@pytest.mark.threat("forged-dashboard-token")
async def test_an_installation_whose_app_is_not_known_yet_takes_nobodys_token(
    tokens: DashboardTokens, key: SigningKey, clock: Clock, store: InMemoryStore, installed: Row
) -> None:
    store.put(Row(API_URL, app_id="", token="new", jwks=installed.jwks, jwks_fetched_at=clock()))
    for app in ("", None):
        with pytest.raises(NotVerifiedError, match="another app"):
            await tokens.check(API_URL, jwt(key, claims(clock, app=app)))


@pytest.mark.threat("forged-dashboard-token")
@pytest.mark.parametrize("what", forgeries(signing_key("first"), {}))
async def test_forged(tokens: DashboardTokens, key: SigningKey, clock: Clock, what: str) -> None:
    with pytest.raises(NotVerifiedError) as refusal:
        await tokens.check(API_URL, forgeries(key, claims(clock))[what])
    assert refusal.value.status == 401
    assert refusal.value.code in {"BAD_TOKEN", "MISSING_TOKEN"}


async def test_a_saleor_that_has_not_installed_us(tokens: DashboardTokens, key: SigningKey, clock: Clock) -> None:
    elsewhere = "https://other.example.com/graphql/"
    with pytest.raises(NotVerifiedError) as refusal:
        await tokens.check(elsewhere, jwt(key, claims(clock, iss=elsewhere)))
    said = (refusal.value.status, refusal.value.code, refusal.value.message)
    with pytest.raises(NotVerifiedError) as refusal:
        await tokens.check(API_URL, jwt(signing_key("second"), claims(clock)))
    assert said == (refusal.value.status, refusal.value.code, refusal.value.message), "strangers learn who uses the app"
    with pytest.raises(NotVerifiedError) as refusal:
        await tokens.check("", jwt(key, claims(clock)))
    assert refusal.value.code == "MISSING_SALEOR_API_URL"


async def test_saleor_changes_its_key_while_the_page_is_open(
    tokens: DashboardTokens, saleor: MinimalSaleor, clock: Clock
) -> None:
    saleor.key = signing_key("second")
    assert (await tokens.check(API_URL, jwt(saleor.key, claims(clock)))).email == "staff@example.com"
    assert saleor.key_fetches == 1


async def test_the_key_is_not_fetched_for_every_request(
    tokens: DashboardTokens, saleor: MinimalSaleor, clock: Clock
) -> None:
    for _ in range(5):
        await tokens.check(API_URL, jwt(saleor.key, claims(clock)))
    assert saleor.key_fetches == 0
