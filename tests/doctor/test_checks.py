"""Single checks, at what they look at: what could not be broken from outside without breaking other things as well."""

import os
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import update

from app.bootstrap import open_deployment, utc_now
from app.ops.doctor.accounts import check_account, check_gateway_clocks
from app.ops.doctor.deployment import Deployment
from app.ops.doctor.drift import check_drift
from app.ops.doctor.findings import Level, Subject
from app.ops.doctor.saleors import check_clock, check_saleor
from app.ops.doctor.storage import check_key_file
from app.store.tables import MerchantAccount
from app.store.vault import KEY_BYTES, Vault
from integration_base_tests.loopback import ReceivedRequest, Reply, json_reply, serve_replies
from saleor_app_sdk.addresses import host_of
from tests.commands.conftest import one_database
from tests.doctor.conftest import DoctorEnvironment

pytestmark = one_database


@pytest.fixture
async def deployment(around: DoctorEnvironment) -> AsyncIterator[Deployment]:
    async with open_deployment(around.stack.settings) as deployment:
        yield deployment


async def test_a_key_file_of_another_user(deployment: Deployment) -> None:
    file = deployment.key_file
    if os.geteuid() == 0:
        os.chown(file, 1234, -1)
    owner = file.stat().st_uid
    levels = {user: (await check_key_file(deployment, user=user))[0] for user in (owner, owner + 1, 0)}
    assert [level.level for level in levels.values()] == [Level.FINE, Level.WARNING, Level.FINE]
    assert "belongs to another user" in levels[owner + 1].what


async def test_clocks_that_differ_from_ours(around: DoctorEnvironment, deployment: Deployment) -> None:
    """Ours is ten minutes late: so are Saleor's and the gateway's in its eyes, and each is named by its host."""
    (installation,) = await around.services.installations.all()
    late = lambda: utc_now() + timedelta(minutes=10)  # noqa: E731
    (of_saleor,) = await check_clock(replace(deployment, now=late), installation)
    (of_gateway,) = await check_gateway_clocks(replace(around.services, now=late), installation)
    assert {finding.level for finding in (of_saleor, of_gateway)} == {Level.ERROR}
    assert of_saleor.about == host_of(installation.saleor_api_url)
    assert of_gateway.about == around.stack.gateway_url.partition("://")[2]
    assert all("seconds behind the app's" in finding.what for finding in (of_saleor, of_gateway))


async def test_keys_of_an_account_that_no_key_opens(around: DoctorEnvironment) -> None:
    sealed = Vault([b"\x08" * KEY_BYTES]).seal("secret", "elsewhere")
    async with around.services.database.transaction() as session:
        await session.exec(update(MerchantAccount).values(api_key_sealed=sealed))
    findings = await check_account(around.services, around.account_id)
    (fault,) = [finding for finding in findings if finding.level is Level.ERROR]
    assert fault.what == "No key in the secret key file decrypts the keys of this account."
    assert "secret key file" in (fault.remedy or "")


async def test_point_of_sale_that_an_older_version_kept_as_it_was_typed(around: DoctorEnvironment) -> None:
    async with around.services.database.transaction() as session:
        await session.exec(update(MerchantAccount).values(pos_id="my shop", updated_at=around.services.now()))
    findings = await check_account(around.services, around.account_id)
    (fault,) = [finding for finding in findings if finding.level is Level.ERROR]
    assert "compare the point of sale" in fault.what


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"data": {"app": None}}, "Saleor does not recognize the app's token as that of an app."),
        ({"data": {"app": {"id": "x", "identifier": "another"}}}, "Saleor knows the app by another id"),
    ],
)
async def test_a_token_that_is_not_the_apps(
    around: DoctorEnvironment, deployment: Deployment, answer: Mapping[str, Any], words: str
) -> None:
    async def saleor(_heard: ReceivedRequest) -> Reply:
        return json_reply(answer)

    (installation,) = await around.services.installations.all()
    async with serve_replies(saleor) as there:
        (found,) = await check_saleor(deployment, replace(installation, saleor_api_url=f"{there}/graphql/"))
        assert found.level is Level.ERROR
        assert found.what.startswith(words)


async def test_a_saleor_that_does_not_tell_what_it_has_of_the_app(
    around: DoctorEnvironment, deployment: Deployment
) -> None:
    """It answers, and takes the token: so it is not said of Saleor itself."""

    async def saleor(_heard: ReceivedRequest) -> Reply:
        return json_reply({"data": {"app": {"id": "x", "identifier": "x"}, "shop": None}})

    (installation,) = await around.services.installations.all()
    async with serve_replies(saleor) as there:
        moved = replace(installation, saleor_api_url=f"{there}/graphql/")
        (found,) = await check_drift(deployment, moved, lambda _: {})
    assert (found.subject, found.level) == (Subject.WEBHOOKS, Level.WARNING)
    assert found.what == "Saleor does not report how the app is set up there."
