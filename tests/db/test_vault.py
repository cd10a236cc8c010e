"""Secrets at rest: opened only in their own place, by a key that is still there."""

import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.db.vault import KEY_BYTES, Vault, VaultError, create_key_file, read_keys

OLD, NEW = b"\x01" * KEY_BYTES, b"\x02" * KEY_BYTES


@given(secret=st.text(), place=st.text())
def test_what_is_sealed_opens_in_its_place_only(secret: str, place: str) -> None:
    vault = Vault([NEW])
    sealed = vault.seal(secret, place)
    assert vault.open(sealed, place) == secret
    with pytest.raises(VaultError):
        vault.open(sealed, place + "/elsewhere")


def test_after_a_rotation_old_secrets_still_open_and_new_ones_are_sealed_with_the_new_key() -> None:
    sealed_before = Vault([OLD]).seal("s3cret", "account/a/api_key")
    rotated = Vault([NEW, OLD])
    assert rotated.open(sealed_before, "account/a/api_key") == "s3cret"
    with pytest.raises(VaultError):
        Vault([OLD]).open(rotated.seal("s3cret", "account/a/api_key"), "account/a/api_key")


def test_a_damaged_secret_is_refused_and_not_shown() -> None:
    sealed = Vault([NEW]).seal("s3cret", "p")
    damaged = sealed[:-2] + ("A" if sealed[-2] != "A" else "B") + sealed[-1]
    with pytest.raises(VaultError) as caught:
        Vault([NEW]).open(damaged, "p")
    assert "s3cret" not in str(caught.value)
    assert "s3cret" not in repr(Vault([NEW]))


@pytest.mark.parametrize("keys", [[], [b"short"]])
def test_a_vault_without_a_proper_key_is_refused(keys: list[bytes]) -> None:
    with pytest.raises(VaultError):
        Vault(keys)


def test_the_key_file_is_made_once_and_only_its_owner_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "data" / "secret.key"
    create_key_file(path)
    keys = read_keys(path)
    create_key_file(path)
    assert read_keys(path) == keys
    assert [len(key) for key in keys] == [KEY_BYTES]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_key_file_with_something_else_in_it_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "secret.key"
    path.write_text("not a key!")
    with pytest.raises(VaultError):
        Vault(read_keys(path))


def test_a_digest_tells_neither_what_it_is_of_nor_what_it_would_be_elsewhere() -> None:
    old, new = b"\x01" * KEY_BYTES, b"\x02" * KEY_BYTES
    (before,) = Vault([old]).digests("olena@example.com", "here")
    assert Vault([old]).digests("olena@example.com", "here") == (before,)
    assert Vault([old]).digests("olena@example.com", "there") != (before,)
    now = Vault([new, old]).digests("olena@example.com", "here")
    assert now[1] == before != now[0]
    assert {len(each) for each in now} == {32}
