"""`workerset checksum` and `workerset diff`."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.helpers import run, url
from tests.discovery.harness import FileBackend
from tests.discovery.records import card, card_record, place
from workerset import ModelCard


def save(folder: Path, name: str, content: dict[str, Any] | bytes) -> str:
    file = folder / name
    file.write_bytes(content if isinstance(content, bytes) else json.dumps(content, indent=2).encode())
    return str(file)


def mdcsum(content: dict[str, Any], profile: str = "1.6") -> str:
    return ModelCard.from_json(json.dumps(content), profile=profile).mdcsum


def test_the_checksum_of_a_card(tmp_path: Path) -> None:
    file = save(tmp_path, "card.json", card())
    result = run("checksum", file)
    assert (result.stdout, result.stderr, result.exit_code) == (f"{mdcsum(card())}  1.6  {file}\n", "", 0)


def test_a_whole_record_and_stdin(tmp_path: Path) -> None:
    file = save(tmp_path, "record.json", card_record(place(1), card()))
    result = run("checksum", file, "-", stdin=json.dumps(card(block_size=32)))
    sums = [line.split()[0] for line in result.stdout.splitlines()]
    assert sums == [mdcsum(card()), mdcsum(card(block_size=32))]


def test_profiles(tmp_path: Path) -> None:
    content = card(aliases=["a"])
    file = save(tmp_path, "card.json", content)
    two = run("checksum", file, "--profile", "1.6", "--profile", "1.3").stdout
    assert two == f"{mdcsum(content)}  1.6  {file}\n{mdcsum(content, '1.3')}  1.3  {file}\n"
    every = json.loads(run("checksum", file, "--profile", "all", "--output", "json").stdout)
    assert [item["profile"] for item in every] == ["1.3", "1.4", "1.5", "1.6"]
    assert every[3] == {
        "card": file,
        "profile": "1.6",
        "mdcsum": mdcsum(content),
        "mdc_checksum": mdcsum(content),
        "error": None,
    }


def test_a_legacy_prefill_card_is_told_as_admission_sees_it(tmp_path: Path) -> None:
    content = card(worker_type=None, model_type="Prefill")
    file = save(tmp_path, "card.json", content)
    admitted = ModelCard.from_json(json.dumps(content)).normalized().mdcsum
    assert admitted != mdcsum(content)
    lines = run("checksum", file).stdout.splitlines()
    assert lines == [
        f"{mdcsum(content)}  1.6  {file}",
        f"{admitted}  1.6  {file} (as admitted, with its prefill role)",
    ]


def test_a_card_that_cannot_be_decoded(tmp_path: Path) -> None:
    good, bad = save(tmp_path, "good.json", card()), save(tmp_path, "bad.json", card(kv_cache_block_size="x"))
    result = run("checksum", bad, good)
    assert result.exit_code == 1
    assert result.stdout == f"{mdcsum(card())}  1.6  {good}\n"
    assert f"{bad}: as 1.6 decodes it: kv_cache_block_size" in result.stderr
    report = json.loads(run("checksum", bad, "--output", "json").stdout)
    assert report[0]["mdcsum"] is None
    assert report[0]["error"].startswith("kv_cache_block_size")


@pytest.mark.parametrize("content", [b"", b"[1]", b"\xff", b'{"card_json":1}', b"[" * 100_000])
def test_what_is_no_card_at_all(content: bytes, tmp_path: Path) -> None:
    result = run("checksum", save(tmp_path, "card.json", content))
    assert (result.stdout, result.exit_code) == ("", 1)
    assert "as 1.6 decodes it: " in result.stderr
    assert isinstance(result.exception, SystemExit)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    result = run("checksum", str(tmp_path / "none"))
    assert result.exit_code == 1
    assert "No such file or directory" in result.stderr


def test_usage() -> None:
    assert run("checksum").exit_code == 2
    assert run("checksum", "a", "--profile", "2").exit_code == 2
    assert run("diff", "a").exit_code == 2


def test_the_differences_of_two_files(tmp_path: Path) -> None:
    a, b = save(tmp_path, "a", card()), save(tmp_path, "b", card_record(place(1), card(block_size=32, aliases=["x"])))
    result = run("diff", a, b)
    assert result.exit_code == 1
    assert result.stdout == (
        f"{mdcsum(card())}  {a}\n{mdcsum(card(block_size=32, aliases=['x']))}  {b}\n"
        '  kv_cache_block_size  16  32\n  aliases              []  ["x"]\n'
    )


def test_equal_cards(tmp_path: Path) -> None:
    a, b = save(tmp_path, "a", card()), save(tmp_path, "b", card(user_data={"other": 1}))
    result = run("diff", a, b)
    assert (result.exit_code, result.stdout) == (0, f"{mdcsum(card())}  {a}\n{mdcsum(card())}  {b}\n")
    report = json.loads(run("diff", a, b, "--output", "json").stdout)
    assert report == {
        "profile": "1.6",
        "equal": True,
        "left": {"card": a, "mdc_checksum": mdcsum(card())},
        "right": {"card": b, "mdc_checksum": mdcsum(card())},
        "differences": [],
    }


def test_the_differences_of_two_instances(backend: FileBackend) -> None:
    result = run("diff", place(0x1F), f"v1/mdc/{place(0x2A)}", "--discovery", url(backend), "--output", "json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["differences"] == [{"field": "kv_cache_block_size", "left": 16, "right": 32}]


def test_an_instance_that_is_not_there(backend: FileBackend) -> None:
    result = run("diff", place(0x1F), "ns/backend/generate/0", "--discovery", url(backend))
    assert (result.stdout, result.exit_code) == ("", 1)
    assert "there is no card record ns/backend/generate/0" in result.stderr


def test_a_difference_in_a_card_that_cannot_be_decoded(tmp_path: Path) -> None:
    result = run("diff", save(tmp_path, "a", card()), save(tmp_path, "b", b"{}"))
    assert result.exit_code == 1
    assert "b: as 1.6 decodes it: " in result.stderr
