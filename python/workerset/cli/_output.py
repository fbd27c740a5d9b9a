"""How commands write, and the options that several of them take."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeVar

import click
from rich.console import Console
from rich.text import Text

from workerset._native import AdmissionConfig, NamespaceFilter
from workerset._text import plain, to_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

_Command = TypeVar("_Command", bound="Callable[..., Any]")

PROFILES: tuple[Literal["1.3", "1.4", "1.5", "1.6"], ...] = ("1.3", "1.4", "1.5", "1.6")


def output_option(command: _Command) -> _Command:
    """`--output text|json`, as the argument `as_json`."""
    return click.option(
        "--output",
        "as_json",
        type=click.Choice(["text", "json"]),
        default="text",
        show_default=True,
        callback=lambda _context, _option, value: value == "json",
        help="What to write to stdout.",
    )(command)


def discovery_option(command: _Command) -> _Command:
    """`--discovery URL`, as the argument `url`."""
    return click.option(
        "--discovery",
        "url",
        metavar="URL",
        help="Where the workers register, e.g. file:///dir. Default: DYN_DISCOVERY_BACKEND and its companions.",
    )(command)


def config_options(command: _Command) -> _Command:
    """`--profile`, `--namespace` and `--namespace-prefix`; `make_config` takes them."""
    for option in (
        click.option(
            "--namespace-prefix", metavar="TEXT", help="Only namespaces that start with this; wins over --namespace."
        ),
        click.option("--namespace", metavar="NAME", help="Only this namespace."),
        click.option(
            "--profile",
            type=click.Choice(PROFILES),
            default="1.6",
            show_default=True,
            help="Whose checksum is computed.",
        ),
    ):
        command = option(command)
    return command


def make_config(profile: str, namespace: str | None = None, namespace_prefix: str | None = None) -> AdmissionConfig:
    """The configuration that those options say."""
    namespaces = NamespaceFilter.all()
    if namespace_prefix is not None:
        namespaces = NamespaceFilter.prefix(namespace_prefix)
    elif namespace is not None:
        namespaces = NamespaceFilter.exact(namespace)
    (chosen,) = (known for known in PROFILES if known == profile)
    return AdmissionConfig(checksum_profile=chosen, namespaces=namespaces)


def line(*parts: str | tuple[str, str]) -> Text:
    """A line of text: parts, some with a style. The only way to make one, so that no text can act on a terminal."""
    return Text.assemble(*(plain(part) if isinstance(part, str) else (plain(part[0]), part[1]) for part in parts))


def write_lines(lines: Iterable[Text]) -> None:
    """Write to stdout. Lines are never broken or cut; coloured on a terminal unless NO_COLOR is set."""
    out = Console(highlight=False, soft_wrap=True, markup=False, emoji=False)
    for each in lines:
        out.print(each)


def write_json(value: Any) -> None:
    """One line of JSON, names in the order given."""
    click.echo(to_json(value))


def write_error(message: str) -> None:
    """One line to stderr."""
    click.echo(plain(message), err=True)


def columns(rows: Sequence[Sequence[str | Text]], indent: int) -> list[Text]:
    """Rows as lines, cells aligned, the last one free. Nothing is cut off."""
    cells = [[line(cell) if isinstance(cell, str) else cell for cell in row] for row in rows]
    widths: dict[int, int] = {}
    for row in cells:
        for place, cell in enumerate(row[:-1]):
            widths[place] = max(widths.get(place, 0), cell.cell_len)
    lines = []
    for row in cells:
        whole = Text(" " * indent)
        for place, cell in enumerate(row):
            whole.append_text(cell)
            if place + 1 < len(row):
                whole.append(" " * (widths[place] - cell.cell_len + 2))
        lines.append(whole)
    return lines


def fail(message: str, hint: str = "") -> NoReturn:
    """Say on stderr what is not as wished, and exit with 1."""
    write_error(f"workerset: {message}")
    if hint:
        write_error("")
        write_error(f"hint: {hint}")
    sys.exit(1)


def short(checksum: str) -> str:
    """Enough of a checksum to tell it from its neighbours."""
    return checksum[:12]


def count(number: int, noun: str) -> str:
    """`1 worker`, `2 workers`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def value_text(value: object) -> str:
    """A card's value in a line of text."""
    return "(absent)" if value is None else to_json(value)
