"""All generated pages of the documentation, by their path below ``docs``."""

from __future__ import annotations

from tools.manual.commands import command_page
from tools.manual.documents import document_page
from tools.manual.topics import topic_pages


def pages() -> dict[str, str]:
    """Markdown by path; none of these is in the repository."""
    return topic_pages() | {
        "reference/commands.md": command_page(),
        "reference/json.md": document_page(),
    }
