"""The hook of mkdocs: generated pages, figures, and the kept output of blocks that need a GPU.

mkdocs loads this file by its path, with the repository as the working folder.
"""

from __future__ import annotations

import posixpath
import re
import sys
from html import escape
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent
sys.path.insert(0, str(ROOT))

from boundby.prescribe.catalogue import RULES  # noqa: E402 -- after the path is set
from tools.manual.blocks import DOCS, NO_PAGES, gpu_blocks, kept_output  # noqa: E402
from tools.manual.drawings import FIGURES  # noqa: E402
from tools.manual.pages import pages  # noqa: E402

LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((\.\./[^)\s]+)\)")
FIGURE = re.compile(r"^<!-- figure: ([a-z-]+) -->$", re.MULTILINE)


def on_config(config: Any) -> Any:  # noqa: ANN401 -- mkdocs is no dependency
    """Fill the navigation: prescriptions, decisions, and pages that it does not name."""
    decisions = sorted(path.name for path in (DOCS / "decisions").glob("*.md"))
    lists = {
        "PRESCRIPTIONS": ["prescriptions/index.md", *(f"prescriptions/{r.id}.md" for r in RULES)],
        "DECISIONS": [f"decisions/{name}" for name in decisions],
    }
    named = str(config["nav"])
    pages_of_docs = sorted(path.name for path in DOCS.glob("*.md") if path.name not in NO_PAGES)
    lists["REST"] = [page for page in pages_of_docs if page not in named]
    config["nav"] = _filled(config["nav"], lists)
    return config


def _filled(part: Any, lists: dict[str, list[str]]) -> Any:  # noqa: ANN401 -- YAML
    """A part of the navigation with the names of lists replaced by the lists."""
    if isinstance(part, list):
        filled = [_filled(each, lists) for each in part]
        return [item for each in filled for item in (each if isinstance(each, list) else [each])]
    if isinstance(part, dict):
        return {title: _filled(each, lists) for title, each in part.items()}
    return lists.get(part, part)


def on_files(files: Any, config: Any) -> Any:  # noqa: ANN401 -- mkdocs is no dependency
    """Add the pages that are made from topics, rules, commands and schemas."""
    from mkdocs.structure.files import File  # noqa: PLC0415 -- only while mkdocs runs

    for path, text in pages().items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:  # noqa: ANN401 -- mkdocs'
    """Draw the figures, and put the output of a GPU below the blocks that need one."""
    return drawn(with_outputs(without_repository(markdown, page.file.src_uri), page.file.src_uri))


def without_repository(markdown: str, path: str) -> str:
    """The page with links to files of the repository as their paths: the site has no copies."""

    def named(found: re.Match[str]) -> str:
        inside = posixpath.normpath(posixpath.join("docs", posixpath.dirname(path), found[2]))
        return found[0] if inside.startswith("docs/") else f"{found[1]} (`{inside}`)"

    return LINK.sub(named, markdown)


def drawn(markdown: str) -> str:
    """The page with its figures inline."""

    def figure(found: re.Match[str]) -> str:
        shown = FIGURES[found[1]]
        return f"<figure>{shown.svg}<figcaption>{escape(shown.says)}</figcaption></figure>"

    return FIGURE.sub(figure, markdown)


def with_outputs(markdown: str, path: str) -> str:
    """The page with what a GPU printed below each block that needs one."""
    parts, at = [], 0
    for block in gpu_blocks(path, markdown):
        end = markdown.index(block.source, at) + len(block.source)
        parts += [markdown[at:end], "\n", kept_output(block)]
        at = end
    return "".join((*parts, markdown[at:]))
