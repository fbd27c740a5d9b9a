"""`workerset replay`: recorded events through a controller, offline."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from workerset._native import CancelBuild, StartBuild, Withdraw
from workerset.cli._output import config_options, line, make_config, output_option, write_json, write_lines
from workerset.cli._script import BadLineError, Script, Step
from workerset.cli.status import describe as describe_inventory
from workerset.observability import describe as describe_notice

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from rich.text import Text

    from workerset._native import Inventory


@click.command()
@click.argument("file")
@click.option(
    "--builds",
    type=click.Choice(["auto", "recorded"]),
    default="auto",
    show_default=True,
    help="auto: every build succeeds at once. recorded: only as the lines with op build say.",
)
@click.option("--each", is_flag=True, help="Show the inventory after every event.")
@config_options
@output_option
def replay(
    *,
    file: str,
    builds: str,
    each: bool,
    profile: str,
    namespace: str | None,
    namespace_prefix: str | None,
    as_json: bool,
) -> None:
    """Run the events of FILE (- for stdin), one JSON object a line, through a controller.

    Shows what the controller asks for and reports after every event, and the inventory at the end. Exit status 2 if a
    line cannot be used; what came before it is shown.
    """
    script = Script(make_config(profile, namespace, namespace_prefix), recorded=builds == "recorded")
    try:
        with _open(file) as lines:
            for number, text in enumerate(lines, 1):
                if text.strip():
                    _show(script.run(number, text), script.inventory() if each else None, script, as_json)
    except BadLineError as error:
        raise click.UsageError(f"{file}: {error}") from error
    except UnicodeDecodeError as error:
        raise click.UsageError(f"{file}: not UTF-8: {error}") from error
    inventory = script.inventory()
    if as_json:
        write_json({"inventory": inventory.to_dict()})
    else:
        write_lines([line(), line((f"at {script.now:g}", "bold")), *_inventory_lines(inventory, script)])


def _open(file: str) -> AbstractContextManager[TextIO]:
    if file == "-":
        return nullcontext(sys.stdin)
    try:
        return Path(file).open(encoding="utf-8")
    except OSError as error:
        raise click.UsageError(f"{file}: {error.strerror}") from error


def _show(step: Step, inventory: Inventory | None, script: Script, as_json: bool) -> None:
    if as_json:
        told: dict[str, Any] = {
            "event": step.event,
            "at": step.at,
            "commands": [command.to_dict() for command in step.commands],
            "notices": [notice.to_dict() for notice in step.notices],
        }
        if inventory is not None:
            told["inventory"] = inventory.to_dict()
        write_json(told)
        return
    lines = [line((f"{step.event}  at {step.at:g}  {step.what}", "bold"))]
    lines += [line((f"     {_command_text(command)}", "cyan")) for command in step.commands]
    lines += [line(f"     {type(notice).__name__}: {describe_notice(notice)}") for notice in step.notices]
    write_lines(lines if inventory is None else lines + _inventory_lines(inventory, script))


def _inventory_lines(inventory: Inventory, script: Script) -> list[Text]:
    return describe_inventory(inventory, script.controller)


def _command_text(command: StartBuild | CancelBuild | Withdraw) -> str:
    token = command.spec.token if isinstance(command, StartBuild) else command.token
    return f"{type(command).__name__}: generation {token.generation} of {token.worker_set} ({token.mdc_checksum})"
