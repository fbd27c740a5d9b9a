"""What others wrote cannot act on a terminal or begin a line of its own, in no command, no log and no notice."""

from __future__ import annotations

import json
import logging
import re
import sys
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import workerset
from tests.boundary.samples import OTHER, SUM
from tests.cli.helpers import run, url
from tests.discovery.harness import FileBackend
from tests.discovery.records import card, compact, place, worker
from workerset._log import Log
from workerset._text import plain, to_json
from workerset.observability import describe, log_notice

if TYPE_CHECKING:
    from click.testing import Result

BIDIRECTIONAL = ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")
CONTROLS = "\u061c\u200e\u200f" + "".join(
    char
    for char in map(chr, range(sys.maxunicode + 1))
    if unicodedata.category(char) in ("Cc", "Zl", "Zp") or unicodedata.bidirectional(char) in BIDIRECTIONAL
)
HOSTILE = "\x1b[31m\nINJECTED\r\x9b2J\u202e\u2028\x7f\x00"
UNPRINTABLE = re.compile("[" + re.escape(CONTROLS.replace("\n", "")) + "]")

texts = st.text(st.one_of(st.sampled_from(CONTROLS), st.characters(exclude_categories=["Cs"])), min_size=1, max_size=12)
names = texts.filter(lambda text: "/" not in text)
quick = settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


def check(*written: str) -> None:
    for text in written:
        assert not UNPRINTABLE.search(text), ascii(text)
        assert not any(line.strip().startswith("INJECTED") for line in text.splitlines())


def check_result(result: Result) -> None:
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    check(result.stdout, result.stderr)


def fill(backend: FileBackend, name: str, place_name: str) -> None:
    """A store in which everything that a worker may choose is hostile."""
    namespace = place_name[:40]
    lora = card(f"lora {name}", slug="s", lora={"name": "x"})
    records = worker(1, card(name, slug="s", aliases=[f"alias {name}"], source_path=name), namespace=namespace)
    records |= worker(2, card(name, slug="s", block_size=32, user_data=name), namespace=namespace)
    record = worker(1, lora, namespace=namespace)[f"v1/mdc/{place(1, namespace)}"]
    records[f"v1/mdc/{place(1, namespace)}/x"] = record[:-1] + b',"model_suffix":"x"}'
    records[f"v1/mdc/{place(3, namespace)}"] = compact({"type": name})
    records[f"v1/instances/{place(4, namespace)}"] = compact({"type": "Endpoint"})
    endpoint = json.loads(worker(5, namespace=namespace)[f"v1/instances/{place(5, namespace)}"])
    records[f"v1/instances/{place(5, namespace)}"] = compact(endpoint | {"transport": {name: "x"}})
    key = f"v1/mdc/{place(5, namespace)}"
    records[key] = worker(5, card(name, slug="s"), namespace=namespace)[key]
    for path, value in records.items():
        backend.put(path, value)


@given(name=texts, place_name=names)
@quick
def test_looks_at_a_store(name: str, place_name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    backend = FileBackend(tmp_path_factory.mktemp("store"))
    fill(backend, name, place_name)
    key = place(1, place_name[:40])
    for output in ("text", "json"):
        for command in (
            ["status"],
            ["explain", "--", name],
            ["explain", "--", f"nobody {name}"],
            ["diff", "--", key, place(2, place_name[:40])],
            ["diff", "--", key, f"{key}{name}"],
        ):
            result = run(command[0], "--discovery", url(backend), "--output", output, *command[1:])
            check_result(result)
            assert command != ["status"] or output == "json" or plain(name) in result.stdout, "it is shown, escaped"
            assert output == "text" or not result.stdout or json.loads(result.stdout)


@given(name=texts)
@quick
def test_reads_files(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("files")
    file = folder / re.sub(r"[/\0]", "_", name)[:40]
    try:
        file.write_bytes(compact(card(name, slug="s")))
    except OSError:  # `.` and `..`
        return
    other = folder / "other card"
    other.write_bytes(compact(card(name, slug="s", block_size=32, aliases=[name])))
    bad = folder / "bad card"
    bad.write_bytes(compact(card(name) | {name: 1, "model_type": name, "worker_type": name}))
    events = [
        {"op": "apply", "path": f"v1/mdc/{place(1, name)}", "value": {"type": name}, "at": 1},
        {"op": "reset", "prefix": name, "as_of": 1, "entries": []},
        *(
            {"op": "apply", "path": path, "value": json.loads(value)}
            for path, value in worker(1, card(name, slug="s")).items()
        ),
        {"op": "build", "generation": 1, "outcome": "fail", "reason": name},
        {"op": name},
    ]
    script = folder / "script"
    script.write_text("".join(f"{json.dumps(event)}\n" for event in events))
    for output in ("text", "json"):
        for command in (
            ["checksum", "--profile", "all", "--", str(file), str(bad)],
            ["diff", "--", str(file), str(other)],
            ["diff", "--", str(file), str(bad)],
            ["replay", "--each", "--builds", "recorded", "--", str(script)],
            ["replay", "--", f"{script}{name}"],
            ["checksum", "--", f"{file}{name}"],
        ):
            check_result(run(command[0], "--output", output, *command[1:]))


@given(name=texts)
@quick
def test_refuses_arguments(name: str) -> None:
    for arguments in (
        [name],
        [f"--{name}"],
        ["status", "--output", name],
        ["status", f"--{name}=1"],
        ["status", "--discovery", name],
        ["status", "--discovery", f"file:///nowhere{name}?{name}={name}"],
        ["checksum", "--profile", name, "x"],
    ):
        check_result(run(*arguments))
    check_result(run("status", DYN_DISCOVERY_BACKEND=name.replace("\0", "")))


def test_the_demo() -> None:
    check_result(run("demo"))


def notices(text: str) -> list[workerset.Notice]:
    key = workerset.WorkerSetKey(text, text, text, text, text, "aggregated")
    token = workerset.BuildToken(text, key, SUM, 3, 7)
    return [
        workerset.CohortRejected(text, key, OTHER, SUM, text, 2, (text,)),
        workerset.RecordRefused(text, text),
        workerset.InPlaceChangeRefused(text, text, key, OTHER, SUM, text),
        workerset.BuildCommitted(text, token),
        workerset.BuildRetry(text, token, 1, 2.0, text),
        workerset.BuildBlocked(text, token, text, text, 1, 2.0),
        workerset.MembersChanged(text, key, SUM, (1,), ()),
        workerset.Succession(text, key, OTHER, 1, SUM, 2),
        workerset.HopChanged(text, text, "prefill", False, text),
        workerset.ModelReady(text),
        workerset.ModelNotReady(text),
    ]


@given(text=st.one_of(texts, st.just(CONTROLS)))
@quick
def test_every_notice_is_one_plain_line(text: str, caplog: pytest.LogCaptureFixture) -> None:
    assert {type(notice) for notice in notices("x")} == set(get_args(workerset.Notice)), "all kinds"
    caplog.clear()
    with caplog.at_level(logging.DEBUG):
        for notice in notices(text):
            check(describe(notice))
            assert "\n" not in describe(notice)
            log_notice(notice)
    assert len(caplog.records) == len(notices(text))
    assert len(caplog.text.splitlines()) == len(caplog.records)
    check(caplog.text)


def test_what_is_printable_stays() -> None:
    assert plain("model-7b 模型 é \\x1b") == "model-7b 模型 é \\x1b"
    assert plain(HOSTILE) == "\\x1b[31m\\nINJECTED\\r\\x9b2J\\u202e\\u2028\\x7f\\x00"
    assert plain("\udcff") == "\\udcff"
    value: Any = {"a": HOSTILE, "b": "\udcff 模 \U000e0001"}
    assert json.loads(to_json(value)) == value
    assert to_json(value).isprintable()


def test_a_log_line_and_its_traceback_are_plain(caplog: pytest.LogCaptureFixture) -> None:
    log = Log("workerset.test")
    try:
        int(HOSTILE)
    except ValueError as error:
        error.args = (HOSTILE,)
        setattr(error, "__notes__", ["  | a note\nINJECTED"])  # noqa: B010  # newer Pythons show it
        log.write(logging.WARNING, "it failed: %s", HOSTILE, error=error)
    (record,) = caplog.records
    assert record.exc_info is not None and record.exc_info[0] is ValueError, "handlers get the error itself"
    assert (record.filename, record.funcName) == (Path(__file__).name, "test_a_log_line_and_its_traceback_are_plain")
    check(caplog.text)
    assert "Traceback (most recent call last)" in caplog.text
    assert f"\nValueError: {plain(HOSTILE)}\n" in caplog.text
    caplog.clear()
    log.write(logging.WARNING, "many", error=workerset.errors.InternalError(HOSTILE))
    check(caplog.text)


def test_every_line_goes_through_the_one_place() -> None:
    package = Path(workerset.__file__).parent
    for file in package.rglob("*.py"):
        if file.name in ("_output.py", "_text.py", "_log.py"):
            continue
        source = file.read_text()
        name = file.relative_to(package)
        assert not re.search(
            r"\b(Text\(|Text\.assemble|click\.(echo|secho)|Console\(|getLogger\(__|print\()", source
        ), name
        assert "getLogger(" not in source or name == Path("cli/demo.py"), name
