"""Finds what the content security policy would block: inline styles, inline scripts, on... attributes.

``check_templates.py FOLDER...`` prints each place as file:line and exits 1 when there is any.
"""

import sys
from html.parser import HTMLParser
from pathlib import Path

# A script of one of these types is data, which the policy lets pass.
DATA_TYPES = {"application/json"}


class Finder(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=False)
        self.found: list[tuple[int, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = dict(attrs)
        if tag == "style":
            self._add("a <style> element; put it into static/")
        if tag == "script" and "src" not in names and names.get("type") not in DATA_TYPES:
            self._add("an inline <script>; put it into static/")
        for name, value in attrs:
            if name == "style":
                self._add("a style attribute; use a class")
            elif name.startswith(("on", "hx-on")):
                self._add(f"an {name} attribute; listen in a static script")
            elif (value or "").strip().lower().startswith("javascript:"):
                self._add(f"a javascript: address in {name}")

    def _add(self, what: str) -> None:
        self.found.append((self.getpos()[0], what))


def problems(text: str) -> list[tuple[int, str]]:
    """(line, what) for each thing the policy would block."""
    finder = Finder()
    finder.feed(text)
    finder.close()
    return finder.found


def main(folders: list[str]) -> int:
    lines = [
        f"{file}:{line}: {what}"
        for folder in folders
        for file in sorted(Path(folder).rglob("*.html"))
        for line, what in problems(file.read_text(encoding="utf-8"))
    ]
    print("\n".join(lines) or "templates: nothing inline")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
