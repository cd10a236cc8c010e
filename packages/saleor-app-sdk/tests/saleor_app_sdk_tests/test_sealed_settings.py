"""Settings in the app's private metadata: over HTTP, with a Saleor that keeps them."""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI

from saleor_app_sdk import (
    AppInfo,
    InMemoryInstallationStore,
    SaleorApp,
    SaleorClient,
    SaleorNotAuthorisedError,
    SaleorRefusedError,
    SealedSettings,
    SealedValueError,
    StoredInstallation,
    generate_sealing_key,
)
from saleor_app_sdk.testing import FakeSaleor, serving_app_in_thread

OLD, NEW = generate_sealing_key(), generate_sealing_key()
METADATA = "query { app { privateMetadata { key value } } }"


def create_app(url: str) -> FastAPI:
    info = AppInfo("example.settings", "Settings", "1.0.0", "You", "", permissions=("MANAGE_ORDERS",))
    app = FastAPI()
    app.include_router(SaleorApp(info=info, api_base_url=url, store=InMemoryInstallationStore()).router())
    return app


@pytest.fixture
async def client() -> AsyncIterator[SaleorClient]:
    async with httpx2.AsyncClient() as http:
        yield SaleorClient(http)


@pytest.fixture
async def installation(saleor_url: str) -> AsyncIterator[StoredInstallation]:
    with serving_app_in_thread(create_app) as app_url:
        async with FakeSaleor(saleor_url) as saleor:
            installed = await saleor.install(f"{app_url}/api/manifest", ["MANAGE_ORDERS"])
            assert installed.status == "INSTALLED", installed.message
            assert installed.token is not None
            yield StoredInstallation(saleor.api_url, app_id=installed.app_id, token=installed.token)


async def read_raw(client: SaleorClient, installation: StoredInstallation) -> dict[str, str]:
    data = await client.execute(installation, METADATA, {})
    return {item["key"]: item["value"] for item in data["app"]["privateMetadata"]}


async def write_raw(client: SaleorClient, installation: StoredInstallation, **values: str) -> dict[str, Any]:
    variables = {"id": installation.app_id, "input": [{"key": key, "value": value} for key, value in values.items()]}
    return await client.execute(installation, "update_private_metadata", variables)


async def test_settings_are_written_read_and_deleted_by_name(
    client: SaleorClient, installation: StoredInstallation
) -> None:
    settings = SealedSettings(client, keys=[NEW])
    assert await settings.read(installation) == {}
    await settings.write(installation, {"api_key": "secret-1", "mode": "test"})
    await settings.write(installation, {"mode": "live"})
    assert await settings.read(installation) == {"api_key": "secret-1", "mode": "live"}
    await settings.delete(installation, "mode", "never there")
    assert await settings.read(installation) == {"api_key": "secret-1"}


async def test_metadata_shows_no_value_and_what_else_is_there_stays(
    client: SaleorClient, installation: StoredInstallation
) -> None:
    await write_raw(client, installation, other="plain")
    settings = SealedSettings(client, keys=[NEW])
    await settings.write(installation, {"api_key": "secret-1"})
    raw = await read_raw(client, installation)
    assert set(raw) == {"other", "settings.api_key"}
    assert "secret-1" not in str(raw)
    assert await settings.read(installation) == {"api_key": "secret-1"}
    await settings.delete(installation, "other")
    assert (await read_raw(client, installation))["other"] == "plain"


async def test_value_moved_to_another_setting_does_not_open(
    client: SaleorClient, installation: StoredInstallation
) -> None:
    settings = SealedSettings(client, keys=[NEW], prefix="s_")
    await settings.write(installation, {"limit": "10"})
    raw = await read_raw(client, installation)
    await write_raw(client, installation, s_discount=raw["s_limit"])
    with pytest.raises(SealedValueError, match="s_discount"):
        await settings.read(installation)


async def test_key_is_rotated_by_writing_again(client: SaleorClient, installation: StoredInstallation) -> None:
    await SealedSettings(client, keys=[OLD]).write(installation, {"a": "1"})
    both, new = SealedSettings(client, keys=[NEW, OLD]), SealedSettings(client, keys=[NEW])
    with pytest.raises(SealedValueError, match="no key opens"):
        await new.read(installation)
    await both.write(installation, await both.read(installation))
    assert await new.read(installation) == {"a": "1"}


async def test_saleors_refusals_are_raised(client: SaleorClient, installation: StoredInstallation) -> None:
    settings = SealedSettings(client, keys=[NEW], prefix="")
    with pytest.raises(SaleorRefusedError, match="REQUIRED"):
        await settings.write(installation, {" ": "nameless"})
    stranger = replace(installation, token="revoked")
    for call in (settings.read(stranger), settings.write(stranger, {"a": "1"}), settings.delete(stranger, "a")):
        with pytest.raises(SaleorNotAuthorisedError):
            await call
    another_app = replace(installation, app_id="QXBwOjk5")
    with pytest.raises(SaleorNotAuthorisedError):
        await settings.write(another_app, {"a": "1"})
    assert await read_raw(client, installation) == {}
