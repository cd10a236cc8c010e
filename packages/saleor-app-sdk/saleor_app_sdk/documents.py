"""GraphQL documents stored as files, selected by Saleor's version and completed with the fragments that they use.

``name.graphql`` is valid for every supported Saleor. Where a newer version offers more, ``name.3.22.graphql`` replaces
it from that version on: a single field that a Saleor does not know fails a whole installation. An operation that older
versions lack has only a versioned file. A fragment is defined once, in ``fragments/Name.graphql`` beside the documents.
"""

import re
from functools import cache, cached_property
from pathlib import Path

from graphql import FragmentSpreadNode, Visitor, parse, visit

from saleor_app_sdk.versions import OLDEST_SUPPORTED, Version

_FILE = re.compile(r"(?P<name>[A-Za-z_]+)(\.(?P<major>[0-9]+)\.(?P<minor>[0-9]+))?\.graphql")


class Documents:
    """The documents of one folder, loaded when first needed, and those that were added as text."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._added: dict[str, str] = {}
        self._complete: dict[tuple[str, Version], str] = {}

    def add(self, name: str, text: str) -> None:
        """Add a document that is the same for every version and contains its fragments."""
        self._added[name] = text

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the documents, in alphabetical order."""
        return tuple(sorted(self._files))

    def versions(self, name: str) -> tuple[Version, ...]:
        """Return the versions that have a file of their own, oldest first."""
        return (OLDEST_SUPPORTED,) if name in self._added else tuple(sorted(self._files[name]))

    def text(self, name: str, version: Version = OLDEST_SUPPORTED) -> str:
        """Return the document for that version of Saleor, with its fragments; KeyError if it has none."""
        if name in self._added:
            return self._added[name]
        chosen = max((since for since in self._files[name] if since <= version), default=OLDEST_SUPPORTED)
        if (name, chosen) not in self._complete:
            path = self._files[name][chosen]
            self._complete[name, chosen] = _with_fragments(path.read_text(encoding="utf-8"), path.parent)
        return self._complete[name, chosen]

    @cached_property
    def _files(self) -> dict[str, dict[Version, Path]]:
        files: dict[str, dict[Version, Path]] = {}
        for path in self._folder.glob("*.graphql") if self._folder else ():
            match = _FILE.fullmatch(path.name)
            if match is None:
                msg = f"not a name for a GraphQL document: {path.name}"
                raise ValueError(msg)
            since = (int(match["major"]), int(match["minor"])) if match["major"] else OLDEST_SUPPORTED
            files.setdefault(match["name"], {})[since] = path
        return files


def _with_fragments(text: str, folder: Path) -> str:
    parts = [text]
    added: set[str] = set()
    wanted = set(_fragment_names(text))
    while missing := sorted(wanted - added):
        for name in missing:
            part = (folder / "fragments" / f"{name}.graphql").read_text(encoding="utf-8")
            parts.append(part)
            wanted |= _fragment_names(part)
            added.add(name)
    return "\n".join(part.strip() + "\n" for part in parts)


@cache  # fragments are part of many documents, and parsing dominates the start-up time
def _fragment_names(text: str) -> frozenset[str]:
    found: set[str] = set()

    class Collector(Visitor):
        def enter_fragment_spread(self, node: FragmentSpreadNode, *_: object) -> None:
            found.add(node.name.value)

    visit(parse(text), Collector())
    return frozenset(found)
