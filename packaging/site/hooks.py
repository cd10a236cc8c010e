"""Builds the site from the checkout: hooks of MkDocs, which runs them in the environment of ``make docs``.

The pages are read as they are in the checkout, so that their links work there as well as in the site. A page is called
by its path in the checkout, whether it lies in ``docs`` or not; pages that are generated from the code come from
``DOCS_REFERENCE`` and are called ``reference/...``. A link to anything else of the checkout leads to where the source
can be read (``DOCS_SOURCE_URL``), or is no link where that is not known.
"""

import posixpath
import re
from pathlib import Path
from urllib.parse import unquote, urlsplit
from xml.etree.ElementTree import Element

from markdown import Markdown
from markdown.blockprocessors import ListIndentProcessor, OListProcessor, UListProcessor
from markdown.extensions import Extension
from markdown.preprocessors import Preprocessor
from markdown.treeprocessors import Treeprocessor
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from pygments.formatters import HtmlFormatter

REPOSITORY = Path(__file__).parents[2]
OUTSIDE_DOCS = ("*.md", "packages/*/*.md")
INDENT = 2  # of what belongs to an entry of a list; Python-Markdown wants 4
_ENTRY = re.compile(r" *(?:[-*+]|\d+\.) ")
_FIRST_ENTRY = re.compile(r" *(?:[-*+]|1\.) ")
_FENCE_WITH_ROLE = re.compile(r"^( *```\w+) [^\n`]+$", re.MULTILINE)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Read Markdown as forges do: their names of headings, their lists; and find what links lead to."""
    config.mdx_configs.setdefault("toc", {})["slugify"] = name_heading
    config.markdown_extensions.extend([ForgeLists(), _sources])
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Return the pages of the checkout and those that are generated, by their paths in the checkout."""
    reference = sorted((REPOSITORY / config.extra["reference"]).glob("*.md"))
    if not reference:
        raise PluginError(f"{config.extra['reference']} holds no pages: `make docs` generates them")
    found = Files(
        _file(config, f"docs/{file.src_uri}", file.src_uri) if file.src_dir == config.docs_dir else file  # the theme's
        for file in files
    )
    for path in sorted(path for pattern in OUTSIDE_DOCS for path in REPOSITORY.glob(pattern)):
        found.append(_file(config, path.relative_to(REPOSITORY).as_posix()))
    for path in reference:
        found.append(File.generated(config, f"reference/{path.name}", abs_src_path=str(path)))
    colours = HtmlFormatter().get_style_defs(".highlight")
    found.append(File.generated(config, "assets/pygments.css", content=colours))
    found.append(File.generated(config, "assets/site.css", abs_src_path=str(Path(__file__).parent / "site.css")))
    _sources.files, _sources.url = found, config.extra["source_url"]
    return found


def _file(config: MkDocsConfig, path: str, address: str | None = None) -> File:
    """Return a file of the checkout; its address in the site is that of its path, or of ``address``."""
    page = re.sub(r"(^|/)README\.md$", r"\1index.md", address or path)
    html = re.sub(r"\.md$", ".html", page)
    return File(path, str(REPOSITORY), config.site_dir, config.use_directory_urls, dest_uri=html)


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Leave the language of a block of code, and drop its role in the tests, which stands after it."""
    _sources.page = page.file.src_uri
    return _FENCE_WITH_ROLE.sub(r"\1", markdown)


def name_heading(heading: str, separator: str) -> str:
    """Return the anchor of a heading as forges name it; ``tests.docs.pages.anchors`` checks links by the same rule."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", separator)


class ForgeLists(Extension):
    """Lists whose entries are indented as far as their text, as in CommonMark."""

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802 - the library names it
        """Put processors of a smaller indentation into the place of those of the library."""
        indent, md.tab_length = md.tab_length, INDENT
        for kind, name, priority in (
            (ListIndentProcessor, "indent", 90),
            (OListProcessor, "olist", 40),
            (UListProcessor, "ulist", 30),
        ):
            md.parser.blockprocessors.register(kind(md.parser), name, priority)
        md.tab_length = indent
        md.preprocessors.register(_EntrySeparator(md), "entry_separator", 5)


class _EntrySeparator(Preprocessor):
    """Puts an empty line between a paragraph and the entry of a list that ends it, as Python-Markdown wants."""

    def run(self, lines: list[str]) -> list[str]:
        separated: list[str] = []
        first = ""  # line of the paragraph
        for line in lines:
            if first and not _ENTRY.match(first) and _ends_paragraph(line, first):
                separated.append("")
                first = ""
            separated.append(line)
            first = line.rstrip() and (first or line)
        return separated


def _ends_paragraph(line: str, first: str) -> bool:
    """Whether a line begins a list, or the next entry of the one to which the paragraph of ``first`` belongs."""
    is_next_entry = _ENTRY.match(line) is not None and _indent_of(first) > _indent_of(line)
    return is_next_entry or _FIRST_ENTRY.match(line) is not None


def _indent_of(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


class SourceLinks(Extension):
    """Links to files of the checkout that are no pages of the site."""

    files: Files
    url: str
    page: str

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802 - the library names it
        """Look at links after they are made, and before MkDocs looks for what they lead to."""
        md.treeprocessors.register(_SourceLinkProcessor(md), "source_links", 10)

    def resolve(self, link: Element) -> None:
        """Give a link to a source file its address. A link to nothing stays as it is: MkDocs then ends the build."""
        parts = urlsplit(link.get("href", ""))
        if parts.scheme or parts.netloc or not parts.path:
            return
        path = posixpath.normpath(posixpath.join(posixpath.dirname(self.page), unquote(parts.path)))
        if self.files.get_file_from_path(path) is not None or not (REPOSITORY / path).exists():
            return
        link.set("title", path)
        if self.url:
            link.set("href", self.url + path)
        else:
            link.tag = "span"
            del link.attrib["href"]


class _SourceLinkProcessor(Treeprocessor):
    def run(self, root: Element) -> None:
        for link in root.iter("a"):
            _sources.resolve(link)


_sources = SourceLinks()
