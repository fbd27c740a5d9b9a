"""Which cards are one cohort, and which sets are one: reports on checksums and mixed-up models (chapter I)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cases.cast import arrive, builds, depart, rejected, role
from tests.contract.world import World, base, card, instance, join, leave, of
from workerset import BindingRetired, CohortRejected, NoRoutableWorkers, NotReady, RecordRefused, StartBuild

DIGEST = "blake3:" + "0" * 64
OTHER_DIGEST = "blake3:" + "1" * 64


def tokenizer(digest: str, **fields: Any) -> dict[str, Any]:
    return {"hf_tokenizer_json": {"path": "/models/x/tokenizer.json", "checksum": digest, **fields}}


def test_two_models_on_one_endpoint_exchange_no_traffic() -> None:
    """https://github.com/ai-dynamo/dynamo/pull/1103 (I1, H2): the endpoint alone was taken for the model."""
    world = World()
    world.serving(arrive(1, role("decode", "m1")), arrive(2, role("decode", "m2")))
    for model, worker, stranger in (("m1", 1, 2), ("m2", 2, 1)):
        hop = world.controller.route(model).decode
        assert {hop.pick() for _ in range(20)} == {worker}
        with pytest.raises(NoRoutableWorkers):
            hop.pick_direct(stranger)


def test_an_equal_checksum_in_another_namespace_lends_no_capacity() -> None:
    """https://github.com/BerriAI/litellm/issues/38216 (I1, I2): one name was balanced over unrelated groups.

    A request that names no namespace may go to either (ROUTING 2); a resolved one stays, even when nobody is left.
    """
    world = World()
    world.serving(arrive(1, role("decode"), namespace="team-a"), arrive(2, role("decode"), namespace="team-b"))
    hop = world.controller.route("m", namespace="team-a").decode
    assert {hop.pick() for _ in range(20)} == {1}
    assert {world.controller.route("m").namespace for _ in range(200)} == {"team-a", "team-b"}
    world.apply(depart(1, namespace="team-a"))
    with pytest.raises(BindingRetired):
        hop.pick()
    with pytest.raises(NotReady):
        world.controller.route("m", namespace="team-a")
    assert world.controller.route("m").decode.ids() == (2,)


@pytest.mark.parametrize(
    ("theirs", "ours", "differs"),
    [
        ({"source_path": "/models/x"}, {"source_path": "/mnt/cache/x"}, "source_path"),
        ({"tokenizer": tokenizer(DIGEST)}, {"tokenizer": tokenizer(OTHER_DIGEST)}, "tokenizer"),
        (
            {"extra_files": [{"path": "/models/x/tokenizer_extra", "checksum": DIGEST}]},
            {"extra_files": []},
            "extra_files",
        ),
    ],
    ids=["another local path", "another revision upstream", "sibling files of one process"],
)
def test_equality_is_strict_and_one_report_names_the_only_field(
    theirs: dict[str, Any], ours: dict[str, Any], differs: str
) -> None:
    """Three reports, in the order of the parameters (I5, S6).

    https://github.com/ai-dynamo/dynamo/pull/14610: the local path is hashed.
    https://github.com/ai-dynamo/dynamo/pull/11369: a mutable repository changed between two starts.
    https://github.com/ai-dynamo/dynamo/pull/14215: only the process that got the status port attached sibling files.

    In none of them would serving differ much; I5 makes no exemption, says which field it is, and S6 says it once for
    the cohort, whoever joins it. The field has its name in the card: `tokenizer`, where the report says file checksum.
    """
    world = World()
    world.serving(join(1, **theirs), join(2, **theirs))
    outputs = world.apply(leave(2))
    outputs += world.apply(join(3, **ours))
    outputs += world.apply(join(4, **ours))
    (told,) = of(outputs, CohortRejected)
    assert (told.instance, told.differs) == ("ns/c/e/3", (differs,))
    entry = world.only_set()
    assert (entry["admitted"], entry["generation"], rejected(world)) == ([1], 1, [["ns/c/e/3", "ns/c/e/4"]])
    assert entry["rejected"][0]["differs"] == [differs]


@pytest.mark.parametrize(("profile", "joins"), [("1.3", False), ("1.4", True), ("1.5", True), ("1.6", True)])
def test_a_field_that_moved_counts_wherever_the_frontends_release_reads_it(profile: str, joins: bool) -> None:
    """https://github.com/ai-dynamo/dynamo/pull/12801 (I6, I7, WIRE 2.1): the context length has three places.

    Omitted defaults are the other half. A frontend of 1.3 does not read the oldest place, and then equal settings are
    two cohorts: no exemption beyond what normalisation yields.
    """
    old = card(aliases=[], needs=[], runtime_config={})
    moved = card()
    moved["architectural_max_context_length"] = moved.pop("context_length")
    runtime = card(runtime_config={"context_length": old["context_length"]})
    del runtime["context_length"]
    world = World(checksum_profile=profile)
    outputs = world.serving(instance(1), base(1, moved), instance(2), base(2, runtime), instance(3), base(3, old))
    assert world.controller.route("m").decode.ids() == ((1, 2, 3) if joins else (1, 2))
    assert len(of(outputs, CohortRejected)) == (0 if joins else 1)


def test_three_release_lines_are_one_cohort_and_a_card_that_nobody_can_read_is_set_aside() -> None:
    """https://github.com/ai-dynamo/dynamo/pull/12894 (I6, R7, derived): three lines of cards at once, and an older one.

    Agreed for cards whose hashed fields say the same, as here. The unreadable card comes first and reserves nothing.
    """
    file = {"path": "/models/x/tokenizer.json", "checksum": DIGEST}
    newest = card(tokenizer={"hf_tokenizer_json": {**file, "size": 7}}, runtime_config={"structural_tag": {}})
    middle = card(tokenizer={"hf_tokenizer_json": file}, needs=[], lora=None, media_decoder=None)
    oldest = card(tokenizer={"tik_token_model": file}, a_field_that_went_away=[1], user_data={"x": 1})
    unreadable = card(tokenizer={"sentencepiece": file})
    world = World()
    records = [base(9, unreadable), base(1, oldest), base(2, middle), base(3, newest)]
    outputs = world.serving([*records, *(instance(n) for n in (1, 2, 3, 9))])
    (refused,) = of(outputs, RecordRefused)
    assert refused.key == "ns/c/e/9"
    assert "tokenizer" in refused.reason
    assert list(world.refused()) == ["ns/c/e/9"]
    assert (world.controller.route("m").decode.ids(), rejected(world)) == ((1, 2, 3), [])


def test_three_release_lines_with_a_router_configuration_are_not_one_cohort() -> None:
    """https://github.com/ai-dynamo/dynamo/pull/12894 (I5, I6, WIRE 3.4, derived): here the contract disagrees.

    Each line writes other defaults into the router configuration, and they are hashed. So workers with the same
    settings are as many cohorts as there are spellings, and the differing defaults are named.
    """

    def written(**defaults: object) -> dict[str, Any]:
        return {"router_mode": "k_v", "kv_router_config": defaults, "load_threshold_config": {}}

    lines = [written(), written(shared_cache_multiplier=0.0), written(router_queue_threshold=16.0)]
    world = World()
    outputs = world.serving(*(join(n, router_config=config) for n, config in enumerate(lines, 1)))
    assert [told.differs for told in of(outputs, CohortRejected)] == [
        ("router_config.kv_router_config.shared_cache_multiplier",),
        ("router_config.kv_router_config.router_queue_threshold",),
    ]
    assert world.controller.route("m").decode.ids() == (1,)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"revision": 1, "last_published": "2025-09-01T00:00:00Z"}, {"revision": 2, "last_published": None}),
        ({"user_data": {"published_at": 1}}, {"user_data": {"published_at": 2}}),
        ({"runtime_config": {"runtime_data": {"started": 1}}}, {"runtime_config": {"runtime_data": {"started": 2}}}),
    ],
    ids=["fields of an older card", "user data", "runtime data"],
)
def test_when_and_how_often_a_card_was_published_is_no_part_of_it(
    first: dict[str, Any], second: dict[str, Any]
) -> None:
    """https://github.com/ai-dynamo/dynamo/pull/3293 (I3, WIRE 1, 2.3): counters told equal workers apart."""
    world = World()
    outputs = world.serving(join(1, **first), join(2, **second))
    assert of(outputs, CohortRejected, RecordRefused) == []
    assert world.controller.route("m").decode.ids() == (1, 2)


def test_labels_of_a_live_worker_change_in_place() -> None:
    """https://github.com/ai-dynamo/dynamo/issues/10703 (I8, H5): without a mismatch and without a restart."""
    world = World()
    world.serving(join(1, runtime_config={"taints": ["v1"]}), join(2))
    hop = world.controller.route("m").decode
    outputs = world.apply(base(1, card(runtime_config={"taints": ["v2"], "total_kv_blocks": 9})))
    worker = hop.worker(1)
    assert worker is not None
    assert (worker.card.runtime_config["taints"], worker.card.runtime_config["total_kv_blocks"]) == (["v2"], 9)
    assert (builds(outputs), of(outputs, StartBuild, CohortRejected)) == ([], [])
    assert (hop.ids(), hop.generation, hop.retired) == ((1, 2), 1, False)
    assert hop.card.runtime_config["taints"] == ["v1"], "the selected card stays for the whole generation"
