"""`workerset checksum` and `workerset diff`: the compatibility identity of cards that lie in files or in a backend."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import click

from workerset._native import ModelCard
from workerset._native import explain as explain_cards
from workerset.cli import _exact
from workerset.cli._look import CARDS, card_of_record, look
from workerset.cli._output import (
    PROFILES,
    columns,
    fail,
    line,
    make_config,
    output_option,
    value_text,
    write_error,
    write_json,
    write_lines,
)
from workerset.discovery.base import MAX_RECORD_BYTES
from workerset.errors import CardError

_ALL = "all"


@click.command()
@click.argument("cards", metavar="CARD...", nargs=-1, required=True)
@click.option(
    "--profile",
    "profiles",
    type=click.Choice([*PROFILES, _ALL]),
    multiple=True,
    default=("1.6",),
    show_default="1.6",
    help="Whose checksum; may be given again.",
)
@output_option
def checksum(cards: tuple[str, ...], profiles: tuple[str, ...], as_json: bool) -> None:
    """Compute the mdcsum of cards.

    CARD is a file, or - for stdin: a card, or a whole discovery record. A card is read as text, a record as discovery
    reads it. Admission compares the sum after it has given a legacy prefill card its role; where that changes the sum,
    both are told. Exit status 1 if a card cannot be decoded.
    """
    chosen = PROFILES if _ALL in profiles else tuple(dict.fromkeys(profiles))
    report: list[dict[str, Any]] = []
    for name in cards:
        raw = _read(name)
        report += [{"card": name, "profile": profile} | _sums(raw, profile) for profile in chosen]
    if as_json:
        write_json(report)
    for item in report:
        if item["error"] is not None:
            write_error(f"workerset: {item['card']}: as {item['profile']} decodes it: {item['error']}")
        elif not as_json:
            lines = [line(f"{item['mdcsum']}  {item['profile']}  {item['card']}")]
            if item["mdc_checksum"] != item["mdcsum"]:
                admitted = f"{item['mdc_checksum']}  {item['profile']}  {item['card']}"
                lines.append(line(f"{admitted} (as admitted, with its prefill role)"))
            write_lines(lines)
    if any(item["error"] is not None for item in report):
        sys.exit(1)


@click.command()
@click.argument("left", metavar="A")
@click.argument("right", metavar="B")
@click.option("--discovery", "url", metavar="URL", help="A and B are instance keys there, ns/component/endpoint/1f.")
@click.option("--profile", type=click.Choice(PROFILES), default="1.6", show_default=True, help="Whose checksum.")
@output_option
def diff(left: str, right: str, url: str | None, profile: str, as_json: bool) -> None:
    """Show the fields in which two cards differ for admission.

    A and B are files as for `checksum`, or with --discovery the keys of two instances. Fields that feed no checksum are
    not shown. Exit status 1 if the checksums differ.
    """
    if url is None:
        a, b = (_admitted(name, profile) for name in (left, right))
    else:
        seen = look(url, make_config(profile))
        try:
            a, b = (seen.card(key.removeprefix(CARDS), profile) for key in (left, right))
        except CardError as error:
            fail(str(error))
    differences = explain_cards(a, b)
    if as_json:
        write_json(
            {
                "profile": profile,
                "equal": a.mdcsum == b.mdcsum,
                "left": {"card": left, "mdc_checksum": a.mdcsum},
                "right": {"card": right, "mdc_checksum": b.mdcsum},
                "differences": [{"field": item.field, "left": item.left, "right": item.right} for item in differences],
            }
        )
    else:
        lines = columns([(a.mdcsum, left), (b.mdcsum, right)], 0)
        lines += columns([(item.field, value_text(item.left), value_text(item.right)) for item in differences], 2)
        write_lines(lines)
    if a.mdcsum != b.mdcsum:
        sys.exit(1)


def _sums(raw: bytes, profile: str) -> dict[str, Any]:
    try:
        card = _decode(raw, profile)
        return {"mdcsum": card.mdcsum, "mdc_checksum": card.normalized().mdcsum, "error": None}
    except CardError as error:
        return {"mdcsum": None, "mdc_checksum": None, "error": str(error)}


def _admitted(name: str, profile: str) -> ModelCard:
    try:
        return _decode(_read(name), profile).normalized()
    except CardError as error:
        fail(f"{name}: as {profile} decodes it: {error}")


def _decode(raw: bytes, profile: str) -> ModelCard:
    return card_of_record(raw, profile) if _is_record(raw) else ModelCard.from_json(raw, profile=profile)


def _is_record(raw: bytes) -> bool:
    try:
        tree = _exact.loads(raw)
    except ValueError:
        return False
    return isinstance(tree, dict) and "card_json" in tree


def _read(name: str) -> bytes:
    try:
        with nullcontext(sys.stdin.buffer) if name == "-" else Path(name).open("rb") as file:
            raw = file.read(MAX_RECORD_BYTES + 1)
    except OSError as error:
        fail(f"{name}: {error.strerror}")
    if len(raw) > MAX_RECORD_BYTES:
        fail(f"{name}: it has more than {MAX_RECORD_BYTES} bytes, which no frontend reads of a record")
    return raw
