"""`workerset replay`."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.helpers import run
from tests.discovery.records import card, card_record, endpoint_record, place, worker
from workerset import ModelCard

A = ModelCard.from_json(json.dumps(card())).mdcsum
B = ModelCard.from_json(json.dumps(card(block_size=32))).mdcsum
SET = '["m","[\\"ns\\",\\"backend\\",\\"generate\\",\\"chat|completions\\",\\"aggregated\\"]"]'


def applied(instance_id: int, content: dict[str, Any] | None = None, **extra: Any) -> list[dict[str, Any]]:
    """The lines of one worker, values as objects."""
    return [
        {"op": "apply", "path": path, "value": json.loads(value)} | extra
        for path, value in worker(instance_id, content).items()
    ]


def replayed(lines: list[dict[str, Any]], *arguments: str) -> list[dict[str, Any]]:
    """What comes out as JSON."""
    text = "".join(json.dumps(line) + "\n" for line in lines)
    result = run("replay", "-", "--output", "json", *arguments, stdin=text)
    assert (result.stderr, result.exit_code) == ("", 0)
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_a_line_an_event_and_the_inventory_last() -> None:
    *events, last = replayed([*applied(1, at=1.5), *applied(2, card(block_size=32), at=2.0)])
    assert [(event["event"], event["at"]) for event in events] == [(1, 1.5), (2, 1.5), (3, 2.0), (4, 2.0)]
    assert [sorted(event) for event in events] == [["at", "commands", "event", "notices"]] * 4
    assert [command["kind"] for command in events[0]["commands"]] == ["StartBuild"]
    assert "BuildCommitted" in [notice["kind"] for notice in events[0]["notices"]]
    (rejected,) = [notice for event in events for notice in event["notices"] if notice["kind"] == "CohortRejected"]
    assert (rejected["incumbent_checksum"], rejected["rejected_checksum"], rejected["worker_set"]) == (A, B, SET)
    assert list(last) == ["inventory"]
    assert last["inventory"]["worker_sets"][0]["phase"] == "ready"
    assert last["inventory"]["worker_sets"][0]["routable"] == [1]


def test_each_event_may_carry_its_inventory() -> None:
    *events, last = replayed(applied(1), "--each")
    assert [event["inventory"]["worker_sets"][0]["routable"] for event in events] == [[], [1]]
    assert events[-1]["inventory"] == last["inventory"]


def test_recorded_builds_end_only_as_recorded() -> None:
    start = applied(1)
    *events, last = replayed(
        [
            *start,
            {"op": "build", "generation": 1, "outcome": "fail", "reason": "no memory", "at": 1.0},
            {"op": "advance", "at": 2.0},
            {"op": "build", "generation": 2, "outcome": "cancelled"},
            {"op": "build", "generation": 3, "outcome": "ok", "at": 3.0},
        ],
        "--builds",
        "recorded",
    )
    assert [[command["kind"] for command in event["commands"]] for event in events] == [
        ["StartBuild"],
        [],
        [],
        ["StartBuild"],
        ["StartBuild"],
        [],
    ]
    (retry,) = [notice for notice in events[2]["notices"] if notice["kind"] == "BuildRetry"]
    assert (retry["reason"], retry["deadline"]) == ("no memory", 2.0)
    assert last["inventory"]["worker_sets"][0]["generation"] == 3


def test_a_late_build_is_fenced() -> None:
    *events, last = replayed(
        [
            *applied(1),
            *applied(2, card(block_size=32)),
            {"op": "delete", "path": f"v1/mdc/{place(1)}"},
            {"op": "build", "generation": 1, "outcome": "ok"},
            {"op": "build", "generation": 2, "outcome": "ok"},
        ],
        "--builds",
        "recorded",
    )
    assert [command["kind"] for command in events[4]["commands"]] == ["CancelBuild", "StartBuild"]
    assert events[5]["notices"] == []
    assert last["inventory"]["worker_sets"][0]["generation"] == 2


def test_resets_sources_and_unchanged_values() -> None:
    key = place(1)
    entries = [{"path": path, "value": json.loads(value), "revision": 4} for path, value in worker(1).items()]
    *_, last = replayed(
        [
            {"op": "reset", "as_of": 5, "entries": entries},
            {"op": "reset", "prefix": "v1/mdc/", "as_of": 6, "entries": [{"path": f"v1/mdc/{key}", "value": None}]},
            {"op": "source", "state": "lost", "at": 7.0},
        ]
    )
    inventory = last["inventory"]
    assert inventory["source"] == {"state": "lost", "snapshot_age": 7.0, "revision": 6}
    assert inventory["worker_sets"][0]["routable"] == [1]


def test_values_are_kept_exactly() -> None:
    """An id beyond 2**53 and a number whose text matters; an object gives what its exact text gives."""
    key = place(2**64 - 1)
    router = {"router_mode": "k_v", "load_threshold_config": {}, "kv_router_config": {"router_ttl_secs": 0.0}}
    text = card_record(key, card(router_config=router)).decode().replace("0.0", "122.416294033786585")
    path, endpoint = f"v1/mdc/{key}", endpoint_record(key).decode()
    as_object = f'{{"op":"apply","path":"{path}","value":{text},"at":0}}\n'
    as_text = f'{{"op":"apply","path":"{path}","value":{json.dumps(text)},"at":0}}\n'
    tail = f'\n{{"op":"apply","path":"v1/instances/{key}","value":{endpoint}}}\n'
    outputs = {run("replay", "-", "--output", "json", stdin=line + tail).stdout for line in (as_object, as_text)}
    (output,) = outputs
    (entry,) = json.loads(output.splitlines()[-1])["inventory"]["worker_sets"]
    assert entry["routable"] == [2**64 - 1]


def test_an_incarnation_and_a_creation_order_are_handed_on() -> None:
    first, second = applied(1, card()), applied(2, card(block_size=32))
    entries = [first[0] | {"created": 20}, second[0] | {"created": -10}]
    *_, last = replayed([{"op": "reset", "as_of": 1, "entries": entries}])
    assert last["inventory"]["worker_sets"][0]["incumbent"]["mdc_checksum"] == B
    renewed = [first[0] | {"incarnation": "a"}, first[0] | {"incarnation": "b"}]
    *_, last = replayed(renewed)
    assert last["inventory"]["worker_sets"][0]["generation"] == 2


def test_replay_in_words(tmp_path: Path) -> None:
    file = tmp_path / "incident.jsonl"
    lines = [*applied(1), *applied(2, card(block_size=32), at=4.0)]
    file.write_text("\n".join(map(json.dumps, lines)))
    result = run("replay", str(file))
    assert result.exit_code == 0
    shown = result.stdout.splitlines()
    assert shown[0] == "1  at 0  apply v1/mdc/ns/backend/generate/1"
    assert shown[1] == f"     StartBuild: generation 1 of {SET} ({A})"
    assert "3  at 4  apply v1/mdc/ns/backend/generate/2" in shown
    assert any(line.startswith("     CohortRejected: rejected 1 worker of model 'm'") for line in shown)
    assert "at 4" in shown
    assert f"    incumbent    {A[:12]}  1 worker admitted, 1 routable" in shown


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{", "line 2: "),
        ("[]", "line 2: the line is [], expected a JSON object"),
        ("{}", "line 2: op is missing, expected a text"),
        ('{"op":"jump"}', 'line 2: op is "jump", expected one of apply, delete, reset, build, source, advance'),
        ('{"op":"advance","at":"1"}', 'line 2: at is "1", expected a number'),
        ('{"op":"advance","at":1e999}', "line 2: at is 1e999, expected a number"),
        ('{"op":"advance","at":NaN}', "line 2: NaN is not JSON"),
        ('{"op":"advance","at":-1}', "line 2: at is -1, earlier than the line before, 0"),
        ('{"op":"apply","value":{}}', "line 2: path is missing, expected a text"),
        ('{"op":"apply","path":1,"value":{}}', "line 2: path is 1, expected a text"),
        ('{"op":"apply","path":"p"}', "line 2: value is missing, expected an object or its exact text"),
        ('{"op":"apply","path":"p","value":[1]}', "line 2: value is [1], expected an object or its exact text"),
        ('{"op":"apply","path":"p","value":1}', "line 2: value is 1, expected an object or its exact text"),
        ('{"op":"apply","path":"p","value":{},"revision":-1}', "line 2: revision is -1, expected an integer from 0"),
        ('{"op":"apply","path":"p","value":{},"revision":1.0}', "line 2: revision is 1.0, expected an integer"),
        (
            '{"op":"apply","path":"p","value":{},"created":9223372036854775808}',
            "line 2: created is 9223372036854775808",
        ),
        ('{"op":"reset","entries":{}}', "line 2: entries is {}, expected a list"),
        ('{"op":"reset","entries":[{}],"as_of":1}', "line 2: entries[0].path is missing, expected a text"),
        ('{"op":"reset","entries":[]}', "line 2: as_of is missing, expected an integer"),
        ('{"op":"source","state":"gone"}', 'line 2: state is "gone", expected one of live, lost, ended'),
        ('{"op":"build","generation":1,"outcome":"ok"}', "line 2: op build needs --builds recorded"),
        ("[" * 100_000, "line 2: nested too deeply"),
    ],
)
def test_a_line_that_cannot_be_used(line: str, says: str) -> None:
    result = run("replay", "-", "--output", "json", stdin=f'{{"op":"advance","at":0}}\n{line}\n')
    assert result.exit_code == 2
    assert [json.loads(text)["event"] for text in result.stdout.splitlines()] == [1]
    assert says in result.stderr


def test_a_recorded_build_that_was_never_started() -> None:
    result = run("replay", "-", "--builds", "recorded", stdin='{"op":"build","generation":7,"outcome":"ok"}')
    assert result.exit_code == 2
    assert "line 1: no build of generation 7 was started so far" in result.stderr


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    result = run("replay", str(tmp_path / "none"))
    assert result.exit_code == 2
    assert "No such file or directory" in result.stderr


def test_a_file_that_is_not_text(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    result = run("replay", str(tmp_path / "binary"))
    assert result.exit_code == 2
    assert "not UTF-8" in result.stderr
