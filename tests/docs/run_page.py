"""Runs the Python blocks of one page as one program, each line under its own number; `await` works at the top level."""

import ast
import asyncio
import inspect
import sys
from pathlib import Path
from typing import Any

from tests.docs.snippets import blocks


async def run(page: Path) -> None:
    """Run the blocks in order, in one namespace."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks(page):
        if block.language == "python":
            source = "\n" * (block.line - 1) + block.text
            code = compile(source, page, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
            result = eval(code, namespace)
            if inspect.isawaitable(result):
                await result


if __name__ == "__main__":
    asyncio.run(run(Path(sys.argv[1])))
