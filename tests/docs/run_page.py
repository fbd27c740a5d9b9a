"""Runs the `python` blocks of a page as one program, as a reader would who copies them one after the other."""

import sys
from pathlib import Path
from typing import Any

from tests.docs.snippets import blocks


def run(page: Path) -> None:
    """Run every block in one namespace; a failure points to the line in the page."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks(page):
        if block.language == "python":
            source = "\n" * (block.line - 1) + block.text
            exec(compile(source, str(page), "exec"), namespace)


if __name__ == "__main__":
    run(Path(sys.argv[1]))
