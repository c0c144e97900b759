"""The JSON Schema of the document, as shipped with the package."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

SCHEMA_FILE = Path(__file__).parent.parent / "data" / "schema-v1.json"


def schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of what ``--json`` prints: strict, nulls where allowed."""
    loaded: dict[str, Any] = json.loads(SCHEMA_FILE.read_text("utf-8"))
    return loaded
