"""`workerset status` and `workerset explain`."""

import json
import re

import pytest

from tests.cli.helpers import run, url
from tests.discovery.harness import FileBackend
from tests.discovery.records import card, place, worker
from workerset import ModelCard

A = ModelCard.from_json(json.dumps(card())).mdcsum
B = ModelCard.from_json(json.dumps(card(block_size=32))).mdcsum
C = ModelCard.from_json(json.dumps(card(block_size=32, aliases=["x"]))).mdcsum

STATUS = f"""\
source live, snapshot 0.0 s old, revision 1, checksum profile 1.6

m  ready
  ns/backend/generate  chat|completions  aggregated
    phase        ready, generation 1
    incumbent    {A[:12]}  3 workers admitted, 2 routable
    rejected     {B[:12]}  2 workers rejected, differs in kv_cache_block_size
    rejected     {C[:12]}  1 worker rejected, differs in kv_cache_block_size, aliases
    encode hop   absent: no provider
    prefill hop  absent: no provider
    no traffic reaches
      ns/backend/generate/21  admitted, but it has no endpoint record: its card is there, its endpoint is not
      ns/backend/generate/2a  rejected: its card differs from the incumbent's in kv_cache_block_size; \
its cohort is next in line
      ns/backend/generate/2b  rejected: its card differs from the incumbent's in kv_cache_block_size; \
its cohort is next in line
      ns/backend/generate/3a  rejected: its card differs from the incumbent's in kv_cache_block_size, aliases; \
its cohort is number 2 in line

refused records (they count for nothing)
  ns/backend/generate/77  type is missing
  zz%2                    the path has 1 parts, not namespace/component/endpoint/id[/suffix]

endpoint records without a card (no model is served there)
  ns/backend/generate/99
"""

EXPLAIN = f"""\
m

ns/backend/generate  chat|completions  aggregated
  incumbent  3 workers, since T
    mdc_checksum {A}
    ns/backend/generate/1f
    ns/backend/generate/20
    ns/backend/generate/21
  rejected, next in line  2 workers, since T
    mdc_checksum {B}
    ns/backend/generate/2a
    ns/backend/generate/2b
    field                incumbent  rejected
    kv_cache_block_size  16         32
  rejected, number 2 in line  1 worker, since T
    mdc_checksum {C}
    ns/backend/generate/3a
    field                incumbent  rejected
    kv_cache_block_size  16         32
    aliases              []         ["x"]
  The next in line takes over when the last incumbent worker is gone.

refused records, of whatever model
  ns/backend/generate/77  type is missing
  zz%2                    the path has 1 parts, not namespace/component/endpoint/id[/suffix]
"""


def test_status_in_words(backend: FileBackend) -> None:
    result = run("status", "--discovery", url(backend))
    assert (result.stdout, result.stderr, result.exit_code) == (STATUS, "", 0)


def test_status_as_json_is_the_inventory(backend: FileBackend) -> None:
    result = run("status", "--discovery", url(backend), "--output", "json")
    assert (result.stderr, result.exit_code, result.stdout.count("\n")) == ("", 0, 1)
    inventory = json.loads(result.stdout)
    assert inventory["profile"] == "1.6"
    assert inventory["source"] == {"state": "live", "snapshot_age": 0.0, "revision": 1}
    (entry,) = inventory["worker_sets"]
    assert entry["incumbent"]["mdc_checksum"] == A
    assert entry["admitted"] == [0x1F, 0x20, 0x21]
    assert entry["routable"] == [0x1F, 0x20]
    assert [(cohort["mdc_checksum"], cohort["differs"]) for cohort in entry["rejected"]] == [
        (B, ["kv_cache_block_size"]),
        (C, ["kv_cache_block_size", "aliases"]),
    ]
    assert [item["key"] for item in inventory["refused"]] == ["ns/backend/generate/77", "zz%2"]


def test_the_environment_names_the_backend(backend: FileBackend) -> None:
    result = run("status", DYN_DISCOVERY_BACKEND="file", DYN_FILE_KV=str(backend.root))
    assert result.exit_code == 0
    assert "3 workers admitted, 2 routable" in result.stdout


def test_a_namespace_can_be_chosen(backend: FileBackend) -> None:
    for path, value in worker(1, card("n"), namespace="ns-0").items():
        backend.put(path, value)
    for arguments, shown in {
        ("--namespace", "ns-0"): ["ns-0"],
        ("--namespace-prefix", "ns"): ["ns", "ns-0"],
        ("--namespace-prefix", "other"): [],
    }.items():
        result = run("status", "--discovery", url(backend), "--output", "json", *arguments)
        assert [entry["namespace"] for entry in json.loads(result.stdout)["worker_sets"]] == shown


def test_another_release_may_see_other_cohorts(backend: FileBackend) -> None:
    result = run("status", "--discovery", url(backend), "--profile", "1.3")
    assert "checksum profile 1.3" in result.stdout
    assert "3 workers rejected, differs in kv_cache_block_size" in result.stdout


def test_an_empty_store(empty: FileBackend) -> None:
    result = run("status", "--discovery", url(empty))
    assert result.exit_code == 0
    assert "no WorkerSet: nobody registered a usable card" in result.stdout
    assert f"{empty.root} does not exist: taken as an empty store" in result.stderr


def test_a_model_that_is_not_ready_says_why(empty: FileBackend) -> None:
    for path, value in worker(1, card(worker_type="prefill", needs=[["decode"]])).items():
        empty.put(path, value)
    result = run("status", "--discovery", url(empty))
    assert re.search(r"^m  not ready: .*decode", result.stdout, re.MULTILINE)


def test_a_blocked_worker_set_says_why(empty: FileBackend) -> None:
    for path, value in worker(1).items():
        empty.put(path, value)
    for path, value in worker(2, card("other", aliases=["m"]), component="other").items():
        empty.put(path, value)
    result = run("status", "--discovery", url(empty))
    assert re.search(
        r"ns/other/generate/2  admitted, but its WorkerSet serves nothing yet: "
        r'ns/other/generate is blocked: the name "m" is held by model "m"; tried again in 1\.0 s',
        result.stdout,
    )


def test_a_worker_that_nobody_can_dial_says_why(empty: FileBackend) -> None:
    for path, value in (worker(1) | worker(2)).items():
        empty.put(path, value)
    address = b'"127.0.0.1:9000/ns/backend/generate/%d"'
    endpoints = {number: worker(number)[f"v1/instances/{place(number)}"] for number in (1, 2)}
    empty.put(f"v1/instances/{place(1)}", endpoints[1].replace(address % 1, b'""'))
    empty.put(f"v1/instances/{place(2)}", endpoints[2].replace(b'"tcp"', b'"http"'))
    shown = run("status", "--discovery", url(empty)).stdout
    reason = 'admitted, but its endpoint record is refused: transport tcp is "", not an address'
    assert f"      ns/backend/generate/1  {reason}" in shown
    assert "    transport    http: not every client can dial it" in shown


def test_many_workers_with_one_reason_are_summed_up(empty: FileBackend) -> None:
    for path, value in worker(1).items():
        empty.put(path, value)
    for number in range(100, 130):
        for path, value in worker(number, card(block_size=32)).items():
            empty.put(path, value)
    lines = run("status", "--discovery", url(empty)).stdout.splitlines()
    assert len([line for line in lines if "rejected: its card differs" in line]) == 21
    assert any(line.startswith("      and 10 more") for line in lines)


@pytest.mark.parametrize("command", [("status",), ("explain", "m")])
def test_a_backend_that_cannot_be_read(command: tuple[str, ...], empty: FileBackend) -> None:
    empty.root.write_bytes(b"")
    result = run(*command, "--discovery", url(empty))
    assert (result.stdout, result.exit_code) == ("", 1)
    assert "Not a directory" in result.stderr
    assert "hint: check the URL" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "environment", "says"),
    [
        (["--discovery", "etcd://h"], {}, "no backend for scheme 'etcd'; available: memory:, file:"),
        ([], {}, "or name a backend with --discovery"),
        ([], {"DYN_DISCOVERY_BACKEND": "nope"}, "'nope' is not a known backend"),
        (["--output", "yaml"], {}, "'yaml' is not one of 'text', 'json'"),
        (["--profile", "2.0"], {}, "'2.0' is not one of"),
    ],
)
def test_wrong_usage(arguments: list[str], environment: dict[str, str], says: str) -> None:
    result = run("status", *arguments, **environment)
    assert (result.stdout, result.exit_code) == ("", 2)
    assert says in result.stderr


def test_explain_in_words(backend: FileBackend) -> None:
    result = run("explain", "m", "--discovery", url(backend))
    timeless = re.sub(r"\d{4}-\d\d-\d\dT[0-9:.]+\+00:00", "T", result.stdout)
    assert (timeless, result.stderr, result.exit_code) == (EXPLAIN, "", 0)


def test_explain_as_json(backend: FileBackend) -> None:
    result = run("explain", "m", "--discovery", url(backend), "--output", "json")
    report = json.loads(result.stdout)
    (entry,) = report["worker_sets"]
    assert entry["incumbent"]["mdc_checksum"] == A
    first, second = entry["rejected"]
    assert (first["place"], first["mdc_checksum"], first["members"]) == (
        1,
        B,
        ["ns/backend/generate/2a", "ns/backend/generate/2b"],
    )
    assert first["differences"] == [{"field": "kv_cache_block_size", "incumbent": 16, "rejected": 32}]
    assert second["differences"][1] == {"field": "aliases", "incumbent": [], "rejected": ["x"]}
    assert [item["key"] for item in report["refused"]] == ["ns/backend/generate/77", "zz%2"]


def test_explain_finds_a_model_by_the_alias_of_a_rejected_worker(backend: FileBackend) -> None:
    assert json.loads(run("explain", "x", "--discovery", url(backend), "--output", "json").stdout)["worker_sets"]


def test_explain_finds_a_model_by_an_adapter(empty: FileBackend) -> None:
    for path, value in worker(1).items():
        empty.put(path, value)
    base = json.loads(worker(1)["v1/mdc/ns/backend/generate/1"])
    lora = base | {"card_json": card("Lora", slug="lora", lora={"name": "Lora"}), "model_suffix": "lora"}
    empty.put("v1/mdc/ns/backend/generate/1/lora", json.dumps(lora).encode())
    result = run("explain", "Lora", "--discovery", url(empty))
    assert "Nobody is rejected." in result.stdout
    assert result.exit_code == 0


def test_explain_an_unknown_model(backend: FileBackend) -> None:
    result = run("explain", "nobody", "--discovery", url(backend))
    assert (result.stdout, result.exit_code) == ("", 1)
    assert "nobody offers a model 'nobody'; known: m, x" in result.stderr
    assert "hint: 2 records refused" in result.stderr


def test_explain_reads_numbers_as_discovery_does(empty: FileBackend) -> None:
    """The value in the record is 122.416294033786585, which discovery reads one unit away from Python's reading."""
    router = {"router_mode": "k_v", "load_threshold_config": {}, "kv_router_config": {"router_ttl_secs": 0.0}}
    for instance_id, ttl in ((1, "122.416294033786585"), (2, "122.4162940337866"), (3, "1.0")):
        for path, value in worker(instance_id, card(router_config=router)).items():
            empty.put(path, value.replace(b'"router_ttl_secs":0.0', f'"router_ttl_secs":{ttl}'.encode()))
    (entry,) = json.loads(run("explain", "m", "--discovery", url(empty), "--output", "json").stdout)["worker_sets"]
    assert entry["incumbent"]["members"] == ["ns/backend/generate/1", "ns/backend/generate/2"]
    (cohort,) = entry["rejected"]
    assert cohort["differences"] == [
        {"field": "router_config.kv_router_config.router_ttl_secs", "incumbent": 122.4162940337866, "rejected": 1.0}
    ]


def test_explain_a_card_that_only_discovery_can_read(empty: FileBackend) -> None:
    """A key that stands twice: discovery keeps the last value."""
    for path, value in worker(1).items():
        empty.put(path, value.replace(b'"kv_cache_block_size":16', b'"kv_cache_block_size":8,"kv_cache_block_size":16'))
    for path, value in worker(2, card(block_size=32)).items():
        empty.put(path, value)
    (entry,) = json.loads(run("explain", "m", "--discovery", url(empty), "--output", "json").stdout)["worker_sets"]
    assert entry["rejected"][0]["differences"] == [{"field": "kv_cache_block_size", "incumbent": 16, "rejected": 32}]
