"""The group of commands, and what all of them share."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from workerset._native import __version__
from workerset._text import plain
from workerset.cli.cards import checksum, diff
from workerset.cli.demo import demo
from workerset.cli.explain import explain
from workerset.cli.replay import replay
from workerset.cli.status import status

if TYPE_CHECKING:
    from collections.abc import Iterator


class _Plain(click.Group):
    """A group whose errors are plain text: click repeats in them what it was given."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        with _plain_errors():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        with _plain_errors():
            return super().invoke(ctx)


@contextmanager
def _plain_errors() -> Iterator[None]:
    try:
        yield
    except click.exceptions.NoArgsIsHelpError:  # its text is the help
        raise
    except click.UsageError as error:
        raise click.UsageError(plain(error.format_message()), error.ctx) from error


@click.group(cls=_Plain, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="workerset")
@click.option("-v", "--verbose", count=True, help="Log more to stderr: once for INFO, twice for DEBUG.")
def app(verbose: int) -> None:
    """Which LLM workers may serve together: look, explain, and replay.

    Data goes to stdout, logs go to stderr. Exit status: 0, 1 when the answer is not as wished, 2 for wrong usage.
    """
    level = (logging.WARNING, logging.INFO, logging.DEBUG)[min(verbose, 2)]
    logging.basicConfig(level=level, format="%(levelname)s %(name)s: %(message)s")


for command in (checksum, demo, diff, explain, replay, status):
    app.add_command(command)
