"""HTML pages of the command, which the package contains."""

from __future__ import annotations

import html
import json
import re
from typing import Mapping

from ._library import FOLDER


def fill(name: str, fields: Mapping[str, str]) -> str:
    """Returns a page: the style replaces @STYLE@, and `fields` the other names between two @."""
    page = (FOLDER / "pages" / name).read_text("utf-8")
    style = (FOLDER / "pages" / "page.css").read_text("utf-8")
    page = page.replace("@STYLE@\n", style)
    return re.sub(r"@([A-Z]+)@", lambda found: fields.get(found[1], found[0]), page)


def escape(text: str) -> str:
    """Returns a text for HTML, which allows no control characters."""
    return html.escape(re.sub(r"[\x00-\x08\x0a-\x1f]", " ", text), quote=False).replace('"', "&quot;")


def to_json(value: object) -> str:
    """Returns JSON for an element `script`."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")


def frame(page: str) -> str:
    """Returns an element that shows a page in a notebook, without access to the notebook."""
    return (f'<iframe srcdoc="{html.escape(page)}" sandbox="allow-scripts" style="width: 100%; height: 40em; border: 0">'
            "</iframe>")
