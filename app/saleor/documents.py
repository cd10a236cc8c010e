"""GraphQL documents kept as files, chosen by Saleor's version and completed with the fragments that they use.

``name.graphql`` is what every supported Saleor understands. Where a newer one has more to offer, ``name.3.22.graphql``
replaces it from that version on: one field that a Saleor does not know fails a whole installation. What no older one
knows at all has only such a file. A fragment stands once, in ``fragments/Name.graphql`` beside the documents.
"""

import re
from functools import cache, cached_property
from pathlib import Path

from graphql import FragmentSpreadNode, Visitor, parse, visit

from app.saleor.versions import OLDEST_SUPPORTED, Version

_FILE = re.compile(r"(?P<name>[A-Za-z_]+)(\.(?P<major>[0-9]+)\.(?P<minor>[0-9]+))?\.graphql")


class Documents:
    """The documents of one folder, read when first needed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._complete: dict[tuple[str, Version], str] = {}

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names that can be asked for, in alphabetical order."""
        return tuple(sorted(self._files))

    def versions(self, name: str) -> tuple[Version, ...]:
        """Return the versions from which on there is a file of its own, oldest first."""
        return tuple(sorted(self._files[name]))

    def text(self, name: str, version: Version = OLDEST_SUPPORTED) -> str:
        """Return the document for that version of Saleor, with its fragments; KeyError if it has none."""
        chosen = max((since for since in self._files[name] if since <= version), default=OLDEST_SUPPORTED)
        if (name, chosen) not in self._complete:
            self._complete[name, chosen] = self._with_fragments(self._files[name][chosen].read_text())
        return self._complete[name, chosen]

    @cached_property
    def _files(self) -> dict[str, dict[Version, Path]]:
        files: dict[str, dict[Version, Path]] = {}
        for path in self._folder.glob("*.graphql"):
            said = _FILE.fullmatch(path.name)
            if said is None:
                msg = f"not a name for a GraphQL document: {path.name}"
                raise ValueError(msg)
            since = (int(said["major"]), int(said["minor"])) if said["major"] else OLDEST_SUPPORTED
            files.setdefault(said["name"], {})[since] = path
        return files

    def _with_fragments(self, text: str) -> str:
        parts = [text]
        added: set[str] = set()
        wanted = set(_spreads(text))
        while missing := sorted(wanted - added):
            for name in missing:
                part = (self._folder / "fragments" / f"{name}.graphql").read_text()
                parts.append(part)
                wanted |= _spreads(part)
                added.add(name)
        return "\n".join(part.strip() + "\n" for part in parts)


@cache  # fragments are part of many documents, and parsing is what takes the time of a start
def _spreads(text: str) -> frozenset[str]:
    found: set[str] = set()

    class Collector(Visitor):
        def enter_fragment_spread(self, node: FragmentSpreadNode, *_: object) -> None:
            found.add(node.name.value)

    visit(parse(text), Collector())
    return frozenset(found)
