"""Who may read the secret key file, and what is said to whoever may not."""

import os
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from app.bootstrap import open_deployment
from app.errors import SettingsError
from app.ops.doctor.deployment import Deployment
from app.ops.doctor.findings import Level
from app.ops.doctor.storage import check_key_file
from app.settings import Settings


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    settings = Settings(data_dir=tmp_path / "data")
    settings.open_vault()
    return settings.model_copy(update={"secret_key_file": settings.key_file})


@pytest.fixture
async def deployment(settings: Settings) -> AsyncIterator[Deployment]:
    async with open_deployment(settings) as deployment:
        yield deployment


@contextmanager
def no_right_to_read(file: Path) -> Iterator[None]:
    """Nothing is forbidden to root: then become somebody else."""
    file.chmod(0)
    is_root = os.geteuid() == 0
    if is_root:
        os.seteuid(10001)
    try:
        yield
    finally:
        if is_root:
            os.seteuid(0)


async def test_a_file_that_may_not_be_read(deployment: Deployment) -> None:
    with no_right_to_read(deployment.key_file):
        (found,) = await check_key_file(deployment)
        user = os.geteuid()
    assert (found.level, found.what) == (Level.ERROR, f"The user {user} may not read the secret key file.")
    assert f"chown {user}" in str(found.remedy)


async def test_a_new_installation_is_not_told_to_put_back_what_it_never_had(deployment: Deployment) -> None:
    deployment.key_file.unlink()
    (found,) = await check_key_file(deployment)
    assert str(found.remedy).startswith("If the app has run before, put the key file back from its copy")
    assert "Otherwise start the app once" in str(found.remedy)


def test_the_start_says_that_the_file_may_not_be_read(settings: Settings) -> None:
    with no_right_to_read(settings.key_file), pytest.raises(SettingsError) as told:
        settings.open_vault()
    advice = r"as root, run `chown \d+ /.*` and `chmod 400 /.*`"
    assert re.fullmatch(rf"APP_SECRET_KEY_FILE: user \d+ may not read /.*: {advice}", str(told.value))


@pytest.mark.parametrize("mode", [0o644, 0o640])
async def test_whoever_follows_the_advice_does_not_take_the_apps_own_right_away(
    deployment: Deployment, mode: int
) -> None:
    """In a container the file is often somebody else's, and the app reads it by the rights of others."""
    file = deployment.key_file
    owner = file.stat().st_uid
    file.chmod(mode)
    (of_another,) = await check_key_file(deployment, user=owner + 1, groups=())
    (of_its_own,) = await check_key_file(deployment, user=owner, groups=())
    assert of_another.level is of_its_own.level is Level.WARNING
    assert f"chown {owner + 1}" in str(of_another.remedy)
    assert "chmod 600" not in str(of_another.remedy)
    assert "chmod 600" in str(of_its_own.remedy)


@pytest.mark.parametrize(
    ("mode", "level"),
    [(0o440, Level.FINE), (0o640, Level.FINE), (0o660, Level.WARNING), (0o444, Level.WARNING)],
)
async def test_a_file_that_root_lets_only_the_apps_group_read(deployment: Deployment, mode: int, level: Level) -> None:
    """Kubernetes mounts secrets so. An access list, as systemd uses for credentials, looks like root's own group."""
    if os.geteuid() != 0:
        pytest.skip("only root can give a file to root")
    file = deployment.key_file
    os.chown(file, 0, 10001)
    file.chmod(mode)
    levels = [(await check_key_file(deployment, user=10001, groups=groups))[0].level for groups in ({10001}, {1})]
    assert levels == [level, Level.WARNING]
    os.chown(file, 0, 0)
    (by_access_list,) = await check_key_file(deployment, user=10001, groups={10001})
    assert by_access_list.level is (Level.FINE if mode == 0o440 else Level.WARNING)
