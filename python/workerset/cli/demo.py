"""`workerset demo`: the admission contract in a few seconds, on a real file store in a temporary folder."""

from __future__ import annotations

import asyncio
import logging
import sys
import tempfile
from pathlib import Path

import click

from workerset.cli._output import line, output_option, write_error, write_json, write_lines
from workerset.cli._story import Story, StoryError


@click.command()
@output_option
def demo(as_json: bool) -> None:
    """Tell what admission does, on real files and without a server.

    Workers register as Dynamo workers do, in a temporary folder. Every claim is checked against the controller as it is
    told; exit status 1 if one does not hold.
    """
    told: list[dict[str, str]] = []

    def tell(title: str, text: str) -> None:
        told.append({"title": title, "text": text})
        if not as_json:
            write_lines([line((title, "bold")), *map(line, text.split("\n")), line()])

    # The rejections that the story provokes are part of what it tells, not news for stderr.
    admission = logging.getLogger("workerset.admission")
    level = admission.level
    admission.setLevel(logging.CRITICAL)
    failure = ""
    try:
        with tempfile.TemporaryDirectory(prefix="workerset-demo-") as folder:
            asyncio.run(Story(Path(folder), tell).run())
    except StoryError as error:
        failure = str(error)
    finally:
        admission.setLevel(level)
    if as_json:
        write_json({"ok": not failure, "failure": failure or None, "steps": told})
    if failure:
        write_error(f"workerset: the demo failed: {failure}")
        sys.exit(1)
