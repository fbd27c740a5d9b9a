"""The command `workerset`. Needs the extra `cli` (click, rich)."""

from __future__ import annotations

import sys

_EXTRA = frozenset({"click", "rich"})


def main() -> None:
    """Run the command line and exit: 0, 1 when the answer is not as wished, 2 for wrong usage."""
    try:
        from workerset.cli._app import app  # noqa: PLC0415  # what it needs may be missing
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in _EXTRA:
            raise
        sys.stderr.write(f"workerset: the command line needs {missing}: pip install 'workerset[cli]'\n")
        sys.exit(2)
    app(prog_name="workerset")
