"""Reads the fenced blocks of a Markdown file."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_FENCE = re.compile(r"^(?P<fence>`{3,})(?P<language>[^\n`]*)\n(?P<body>.*?)^(?P=fence) *$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """One fenced block; `line` is that of its first line of content, from 1."""

    language: str
    line: int
    text: str


@dataclass(frozen=True)
class Command:
    """One command of a console block, without the prompt, and the output that the page shows for it."""

    line: int
    text: str
    output: str


def pages() -> list[Path]:
    """The README and every page of the documentation."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(page: Path) -> Iterator[Block]:
    """Every fenced block of the page, in order."""
    text = page.read_text(encoding="utf-8")
    for match in _FENCE.finditer(text):
        line = text.count("\n", 0, match.start("body")) + 1
        yield Block(language=match["language"].strip(), line=line, text=match["body"])


def commands(block: Block) -> Iterator[Command]:
    """The commands of a console block: lines that start with `$ `, each followed by its output."""
    current: Command | None = None
    for offset, line in enumerate(block.text.splitlines(keepends=True)):
        if line.startswith("$ "):
            if current is not None:
                yield current
            current = Command(line=block.line + offset, text=line[2:].strip(), output="")
        elif current is not None:
            current = Command(line=current.line, text=current.text, output=current.output + line)
    if current is not None:
        yield current
