"""Where secrets come from; and that nothing of them is shown, whatever is wrong with them."""

import sys
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.commands.account_keys import NAMES, read_keys, read_new_keys
from app.commands.failure import CommandFailed
from tests.commands.conftest import KEYS, NEW_KEYS

LINES = [f'{name} = "{value}"' for name, value in KEYS.items()]


@pytest.fixture(autouse=True)
def nothing_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NAMES.values():
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "secrets.toml"
    file.touch(mode=0o600)
    return file


def test_a_file_that_a_shell_could_read_too_is_read(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text("\n".join(line.replace(" = ", "=") for line in LINES))
    keys = read_keys(file)

    assert [keys.api_key, keys.api_secret, keys.endpoints_key] == list(KEYS.values())
    assert capsys.readouterr() == ("", "")


def test_a_dash_is_standard_input(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Unlike /dev/stdin it is readable for a command that another user's shell has started."""
    monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO("\n".join(LINES).encode())))
    assert read_keys(Path("-")).endpoints_key == KEYS["GATEWAY_ENDPOINTS_KEY"]
    assert capsys.readouterr() == ("", "")


def test_space_around_a_secret_is_not_part_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in KEYS.items():
        monkeypatch.setenv(name, f" {value}\n")
    assert read_keys(None).api_secret == KEYS["GATEWAY_API_SECRET"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (LINES[0], "has no GATEWAY_API_SECRET and no GATEWAY_ENDPOINTS_KEY: give all three secrets in one place"),
        (
            "\n".join([*LINES, 'secret-9be2 = "x"']),
            "may only contain GATEWAY_API_KEY, GATEWAY_API_SECRET, GATEWAY_ENDP",
        ),
        ("\n".join([*LINES, '[more]\nGATEWAY_API_KEY = "x"']), "may only contain"),
        ("\n".join([*LINES[:2], "GATEWAY_ENDPOINTS_KEY = 7"]), "GATEWAY_ENDPOINTS_KEY must be text in quotes"),
        ("\n".join([*LINES[:2], 'GATEWAY_ENDPOINTS_KEY = " "']), "GATEWAY_ENDPOINTS_KEY must be text in quotes"),
        ("GATEWAY_API_KEY = secret-9be2", "it is not TOML (at line 1, column 19); write lines like GATEWAY_API_KEY = "),
        ('GATEWAY_API_KEY = "secret-9be2', "it is not TOML (at end of document)"),
        (b"\xff\xfe", "it is not UTF-8"),
        (None, "cannot be read: No such file or directory"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_without_its_content(
    file: Path, content: str | bytes | None, words: str
) -> None:
    if content is None:
        file.unlink()
    else:
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(CommandFailed) as failure:
        read_keys(file)

    assert words in failure.value.message
    assert failure.value.exit_code == 2
    assert "secret-9be2" not in failure.value.message


@given(
    secret=st.from_regex(r"[ -~]{8,40}", fullmatch=True),
    before=st.sampled_from(["", "GATEWAY_API_KEY = ", 'GATEWAY_API_KEY = "', "GATEWAY_API_KEY=", '"', "[", '[[a]]\n"']),
    after=st.sampled_from(["", '"', "\n", "]", '"\nGATEWAY_API_KEY = 1']),
)
def test_no_error_shows_what_was_in_the_file(
    tmp_path_factory: pytest.TempPathFactory, secret: str, before: str, after: str
) -> None:
    file = tmp_path_factory.mktemp("secrets") / "file"
    file.touch(mode=0o600)
    file.write_text(before + secret + after)
    with pytest.raises(CommandFailed) as failure:
        read_keys(file)  # never complete: there is at most one of the three

    shown = failure.value.message.replace(str(file), "")
    assert not any(secret[start : start + 8] in shown for start in range(len(secret) - 7)) or secret in _FIXED
    assert failure.value.__cause__ is None
    assert failure.value.__context__ is None


# What the messages themselves hold, should a "secret" be a part of it.
_FIXED = 'GATEWAY_API_KEY and no GATEWAY_API_SECRET and no GATEWAY_ENDPOINTS_KEY = "..."'


def test_secrets_of_two_places_are_never_mixed(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.write_text("\n".join(LINES[:2]))
    monkeypatch.setenv("GATEWAY_ENDPOINTS_KEY", NEW_KEYS["GATEWAY_ENDPOINTS_KEY"])
    with pytest.raises(CommandFailed, match="has no GATEWAY_ENDPOINTS_KEY"):
        read_keys(file)
    with pytest.raises(CommandFailed, match="the environment has no GATEWAY_API_KEY and no GATEWAY_API_SECRET"):
        read_keys(None)


def test_where_nobody_can_be_asked_it_is_said_how_to_give_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdin, "isatty", lambda: False, raising=False)
    for read in (read_keys, read_new_keys):
        with pytest.raises(
            CommandFailed, match=r"this is not an interactive terminal: set GATEWAY_API_KEY, .* or use --secrets-file"
        ):
            read(None)


def test_only_what_is_new_need_be_given_to_replace_secrets(file: Path) -> None:
    file.write_text('GATEWAY_API_SECRET = "secret-new-2"')
    assert read_new_keys(file) == {"api_secret": "secret-new-2"}

    file.write_text("")
    with pytest.raises(CommandFailed, match="no new secret was given"):
        read_new_keys(file)
