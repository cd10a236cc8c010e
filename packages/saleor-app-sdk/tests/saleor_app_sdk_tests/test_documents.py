"""Documents as files: which one for which Saleor, and with which fragments."""

from pathlib import Path

import pytest

from saleor_app_sdk.documents import Documents
from saleor_app_sdk.versions import OLDEST_SUPPORTED, parse_version


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "fragments").mkdir()
    (tmp_path / "plain.graphql").write_text("{ app { id } }")
    (tmp_path / "grown.graphql").write_text("{ old: app { id } }")
    (tmp_path / "grown.3.22.graphql").write_text("{ newer: app { id } }")
    (tmp_path / "grown.3.30.graphql").write_text("{ newest: app { id } }")
    return tmp_path


@pytest.mark.parametrize(
    ("version", "word"),
    [
        ((3, 20), "old"),
        ((3, 21), "old"),
        ((3, 22), "newer"),
        ((3, 29), "newer"),
        ((3, 30), "newest"),
        ((4, 0), "newest"),
    ],
)
def test_the_newest_that_this_saleor_understands(folder: Path, version: tuple[int, int], word: str) -> None:
    assert f"{word}:" in Documents(folder).text("grown", version)


def test_one_that_never_grew_is_for_everybody(folder: Path) -> None:
    assert Documents(folder).text("plain", (3, 23)) == "{ app { id } }\n"
    assert Documents(folder).names == ("grown", "plain")


def test_fragments_come_along_once_each_and_with_their_own(folder: Path) -> None:
    (folder / "with.graphql").write_text("{ a: app { ...Outer } b: app { ...Outer ...Inner } }")
    (folder / "fragments" / "Outer.graphql").write_text("fragment Outer on App { ...Inner }")
    (folder / "fragments" / "Inner.graphql").write_text("fragment Inner on App { id }")
    (folder / "fragments" / "Unused.graphql").write_text("fragment Unused on App { id }")
    text = Documents(folder).text("with")
    assert text.count("fragment Outer on") == text.count("fragment Inner on") == 1
    assert "Unused" not in text


def test_unknown_names(folder: Path) -> None:
    with pytest.raises(KeyError):
        Documents(folder).text("no_such_thing")
    (folder / "with.graphql").write_text("{ app { ...Missing } }")
    with pytest.raises(FileNotFoundError):
        Documents(folder).text("with")
    (folder / "bad-name.graphql").write_text("{ app { id } }")
    with pytest.raises(ValueError, match="bad-name"):
        Documents(folder).text("plain")


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("3.23", (3, 23)),
        ("3.23.28", (3, 23)),
        ("3.24.0-a.0", (3, 24)),
        ("10.1", (10, 1)),
        (None, OLDEST_SUPPORTED),
        ("", OLDEST_SUPPORTED),
        ("3", OLDEST_SUPPORTED),
        ("v3.23", OLDEST_SUPPORTED),
        ("3.99999", OLDEST_SUPPORTED),
    ],
)
def test_versions(text: str | None, version: tuple[int, int]) -> None:
    assert parse_version(text) == version
