"""Secrets at rest: opened only in their own place, by a key that is still there."""

import base64
import os
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.store.vault import KEY_BYTES, Vault, VaultError, add_key, create_key_file, read_keys

OLD, NEW = b"\x01" * KEY_BYTES, b"\x02" * KEY_BYTES


@pytest.mark.threat("swapped-ciphertext")
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


@pytest.mark.threat("swapped-ciphertext")
def test_a_damaged_secret_is_refused_and_not_shown() -> None:
    sealed = Vault([NEW]).seal("s3cret", "p")
    damaged = sealed[:-2] + ("A" if sealed[-2] != "A" else "B") + sealed[-1]
    with pytest.raises(VaultError) as caught:
        Vault([NEW]).open(damaged, "p")
    assert "s3cret" not in str(caught.value)
    assert "s3cret" not in repr(Vault([NEW]))


@pytest.mark.threat("stolen-database")
@pytest.mark.parametrize("keys", [[], [b"short"]])
def test_a_vault_without_a_proper_key_is_refused(keys: list[bytes]) -> None:
    with pytest.raises(VaultError):
        Vault(keys)


@pytest.mark.threat("other-users-of-the-machine")
def test_the_key_file_is_made_once_and_only_its_owner_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "data" / "secret.key"
    create_key_file(path)
    keys = read_keys(path)
    create_key_file(path)
    assert read_keys(path) == keys
    assert [len(key) for key in keys] == [KEY_BYTES]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("room", [0, 20])
def test_a_key_file_is_whole_or_not_there(tmp_path: Path, room: int) -> None:
    """The disk is full at the first start: with half a file the app would not start any more once it is not."""
    path = tmp_path / "secret.key"
    program = (
        "import resource, sys; from pathlib import Path; from app.store.vault import create_key_file;"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({room}, {room})); create_key_file(Path(sys.argv[1]))"
    )
    ran = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True, check=False)
    assert "OSError" in ran.stderr
    assert list(tmp_path.iterdir()) == []
    create_key_file(path)
    assert [len(key) for key in read_keys(path)] == [KEY_BYTES]
    assert list(tmp_path.iterdir()) == [path]


def test_of_processes_that_start_at_once_each_has_the_same_key(tmp_path: Path) -> None:
    path = tmp_path / "secret.key"

    def start(_number: int) -> list[bytes]:
        create_key_file(path)
        return read_keys(path)

    with ThreadPoolExecutor(8) as processes:
        keys = list(processes.map(start, range(32)))
    assert keys == [read_keys(path)] * 32
    assert list(tmp_path.iterdir()) == [path]


def test_a_key_file_with_something_else_in_it_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "secret.key"
    path.write_text("not a key!")
    with pytest.raises(VaultError):
        Vault(read_keys(path))


@pytest.mark.threat("stolen-database")
def test_a_digest_tells_neither_what_it_is_of_nor_what_it_would_be_elsewhere() -> None:
    old, new = b"\x01" * KEY_BYTES, b"\x02" * KEY_BYTES
    (before,) = Vault([old]).digests("olena@example.com", "here")
    assert Vault([old]).digests("olena@example.com", "here") == (before,)
    assert Vault([old]).digests("olena@example.com", "there") != (before,)
    now = Vault([new, old]).digests("olena@example.com", "here")
    assert now[1] == before != now[0]
    assert {len(sealed) for sealed in now} == {32}


def test_a_process_that_was_not_restarted_learns_of_a_new_key_when_it_meets_it(tmp_path: Path) -> None:
    path = tmp_path / "secret.key"
    create_key_file(path)
    running = Vault(read_keys(path), reload=lambda: read_keys(path))
    before = running.seal("before", "p")
    name = add_key(path)
    assert running.key_ids != (name, *running.key_ids)
    assert running.open(Vault(read_keys(path)).seal("s3cret", "p"), "p") == "s3cret"
    assert running.key_ids[0] == name
    assert running.seal("after", "p").startswith(running.newest_prefix)
    path.write_text("half of a k")  # somebody is writing it by hand
    assert running.open(before, "p") == "before"
    with pytest.raises(VaultError):
        running.open(Vault([NEW]).seal("s3cret", "p"), "p")


def test_a_key_that_was_taken_out_of_the_file_opens_until_the_process_ends(tmp_path: Path) -> None:
    path = tmp_path / "secret.key"
    path.write_bytes(base64.urlsafe_b64encode(OLD))
    running = Vault(read_keys(path), reload=lambda: read_keys(path))
    before = running.seal("before", "p")
    path.write_bytes(base64.urlsafe_b64encode(NEW))
    assert running.open(Vault([NEW]).seal("after", "p"), "p") == "after"
    assert running.open(before, "p") == "before"


class TestANewKey:
    def test_stands_before_the_others_for_the_owner_alone(self, tmp_path: Path) -> None:
        path = tmp_path / "secret.key"
        path.write_bytes(base64.urlsafe_b64encode(OLD))
        path.chmod(0o644)
        names = [add_key(path), add_key(path)]
        assert Vault(read_keys(path)).key_ids == (*reversed(names), *Vault([OLD]).key_ids)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert list(tmp_path.iterdir()) == [path]

    def test_goes_where_a_link_leads(self, tmp_path: Path) -> None:
        path, link = tmp_path / "really.key", tmp_path / "secret.key"
        create_key_file(path)
        link.symlink_to(path)
        add_key(link)
        assert link.is_symlink()
        assert len(read_keys(path)) == 2

    def test_of_two_that_are_added_at_once_none_is_lost(self, tmp_path: Path) -> None:
        path = tmp_path / "secret.key"
        create_key_file(path)
        with ThreadPoolExecutor(8) as all_at_once:
            names = list(all_at_once.map(lambda _: add_key(path), range(8)))
        assert sorted(Vault(read_keys(path)).key_ids[:-1]) == sorted(names)

    def test_leaves_alone_what_the_next_one_writes_as_soon_as_the_file_is_replaced(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path, beside = tmp_path / "secret.key", tmp_path / ".secret.key.new"
        create_key_file(path)
        replace = Path.replace

        def and_the_next_one_begins(self: Path, target: Path) -> Path:
            replaced = replace(self, target)
            beside.write_text("the next one's")
            return replaced

        monkeypatch.setattr(Path, "replace", and_the_next_one_begins)
        add_key(path)
        assert beside.read_text() == "the next one's"

    def test_does_not_come_into_a_file_that_is_no_key_file(self, tmp_path: Path) -> None:
        path = tmp_path / "secret.key"
        path.write_text("short")
        with pytest.raises(VaultError):
            add_key(path)
        assert path.read_text() == "short"

    def test_changes_nothing_when_it_cannot_be_written(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        path = tmp_path / "secret.key"
        create_key_file(path)
        before = path.read_bytes()
        monkeypatch.setattr(os, "fsync", broken_disk)
        with pytest.raises(OSError, match="disk"):
            add_key(path)
        assert path.read_bytes() == before
        assert list(tmp_path.iterdir()) == [path]


def broken_disk(_handle: int) -> None:
    raise OSError("the disk is full")
