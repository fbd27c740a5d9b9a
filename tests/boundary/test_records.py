"""Records are values: equal, hashable, matchable, picklable, read-only, printable as plain data."""

from __future__ import annotations

import copy
import inspect
import json
import pickle
from typing import Any

import pytest

import workerset
from tests.boundary.samples import APPLY, CARD, KEY, KEY_TEXT, MAX, OTHER, SAMPLES, SET, SPEC, SUM, TOKEN, Sample
from tests.contract.world import card
from workerset import _native

OTHER_KEY = workerset.WorkerSetKey("m", "other", "c", "e", "chat", "aggregated")
OTHER_CARD = workerset.ModelCard.from_json(json.dumps(card("other")))
VALUES: list[Any] = [
    *(None, True, False, 1, 2.5, "x", SUM, OTHER, "decode", "exact"),
    *([], ["x"], [1], ["decode"], [["decode"]], [workerset.Apply("other", None)], {}, {"x": 1}),
    *(OTHER_KEY, workerset.BuildToken("m", OTHER_KEY, SUM, 8), OTHER_CARD),
    workerset.BuildSpec(TOKEN, "m", KEY, SUM, 7, CARD, "other"),
    *(workerset.SourceEntry("lost", None, 0), workerset.CohortEntry(OTHER, (), 0.0), workerset.BuildsEntry(1, 2, 3)),
]
"""Among them, for each field of each sample, one that it takes and that is not equal to the sample's."""
_TOKENS = {"model", "worker_set", "mdc_checksum", "generation", "token"}
TIED: dict[type, set[str]] = {
    workerset.Apply: {"refused"},
    workerset.NamespaceFilter: {"rule"},
    workerset.BuildToken: {"model"},
    workerset.BuildSpec: _TOKENS,
    workerset.CohortRejected: {"model"},
    workerset.InPlaceChangeRefused: {"model"},
    workerset.BuildCommitted: {"model"},
    workerset.BuildRetry: {"model"},
    workerset.BuildBlocked: {"model"},
    workerset.MembersChanged: {"model"},
    workerset.Succession: {"model"},
}
"""Fields that cannot differ alone: another field implies them."""

every_record = pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.kind.__name__)


def test_every_record_class_has_a_sample() -> None:
    exported = (getattr(_native, name) for name in _native.__all__)
    records = {thing for thing in exported if isinstance(thing, type) and hasattr(thing, "__match_args__")}
    assert records - {workerset.AdmissionConfig} == {sample.kind for sample in SAMPLES}


@every_record
def test_records_made_of_equal_fields_are_equal_and_hash_alike(sample: Sample) -> None:
    one, other = sample.make(), sample.make()
    assert one == other
    assert hash(one) == hash(other)
    assert one != object()
    assert one.__eq__(object()) is NotImplemented


@every_record
def test_a_record_that_differs_in_any_field_is_another(sample: Sample) -> None:
    record = sample.make()
    alone = set()
    for index, name in enumerate(sample.kind.__match_args__):  # type: ignore[attr-defined]  # every sample is a record
        for value in VALUES:
            try:
                changed = sample.kind(*sample.arguments[:index], value, *sample.arguments[index + 1 :])
            except (TypeError, ValueError, OverflowError):
                continue
            if getattr(changed, name) != getattr(record, name):
                assert changed != record
                assert hash(changed) != hash(record)
                alone.add(name)
    tied = TIED.get(sample.kind, set())
    assert alone == set(sample.kind.__match_args__) - tied  # type: ignore[attr-defined]


@every_record
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_records_pickle_and_copy(sample: Sample, protocol: int) -> None:
    record = sample.make()
    restored: Any = pickle.loads(pickle.dumps(record, protocol))
    assert restored.to_dict() == record.to_dict()
    assert restored == record
    assert type(restored) is sample.kind
    assert copy.deepcopy(record) == record


@every_record
def test_records_show_themselves_as_plain_data(sample: Sample) -> None:
    plain = sample.make().to_dict()
    assert plain == sample.plain
    assert list(plain) == list(sample.plain)
    assert json.loads(json.dumps(plain)) == sample.plain


@every_record
def test_match_arguments_are_the_constructors_parameters(sample: Sample) -> None:
    parameters = [name for name in inspect.signature(sample.kind).parameters if name != "controller_id"]
    assert list(sample.kind.__match_args__) == parameters  # type: ignore[attr-defined]  # every sample is a record
    record = sample.make()
    by_name = sample.kind(**{name: getattr(record, name) for name in parameters})
    assert by_name == record


@every_record
def test_repr_is_the_constructor_call(sample: Sample) -> None:
    if sample.kind in {workerset.BuildSpec, workerset.StartBuild, workerset.WorkerInfo}:
        assert repr(CARD) in repr(sample.make())  # a card is too long to be spelled out
    else:
        made = eval(repr(sample.make()), dict(vars(workerset)))
        assert repr(made) == repr(sample.make())


@every_record
def test_records_are_read_only(sample: Sample) -> None:
    record = sample.make()
    for name in (*sample.kind.__match_args__, "anything"):  # type: ignore[attr-defined]  # every sample is a record
        with pytest.raises(AttributeError):
            setattr(record, name, None)


def test_records_match_by_position_and_by_name() -> None:
    match workerset.StartBuild(SPEC):
        case workerset.StartBuild(workerset.BuildSpec(token, "m", representative=instance)):
            assert (token, instance) == (TOKEN, "ns/c/e/1f")
        case _:
            pytest.fail("no match")


def test_lists_are_tuples_and_nested_records_stay_one_object() -> None:
    assert SET.admitted == (31,)
    assert SET.rejected[0].differs == ("kv_cache_block_size",)
    assert SET.incumbent is SET.incumbent
    assert workerset.ReadinessUnit("encode", 1, [["prefill", "decode"]]).needs == (("prefill", "decode"),)
    hops = SET.hops
    hops.clear()
    assert list(SET.hops) == ["prefill"]


@pytest.mark.parametrize("value", [b"{\xff}", '{"é": 1}', "", b"", None])
def test_a_stored_value_keeps_its_type(value: bytes | str | None) -> None:
    record = workerset.Apply("p", value)
    assert record.value == value
    assert type(record.value) is type(value)
    assert json.loads(json.dumps(record.to_dict()))["path"] == "p"
    assert pickle.loads(pickle.dumps(record)) == record


def test_bytes_and_text_of_the_same_content_are_different_events() -> None:
    assert workerset.Apply("p", b"{}") != workerset.Apply("p", "{}")


def test_the_controller_counts_for_a_tokens_identity_and_is_not_shown() -> None:
    other = workerset.BuildToken("m", KEY, SUM, 7, controller_id=1)
    assert other != TOKEN
    assert hash(other) != hash(TOKEN)
    assert other.to_dict() == TOKEN.to_dict()
    assert repr(other) == repr(TOKEN)
    assert pickle.loads(pickle.dumps(TOKEN)) == TOKEN


def test_keys_are_ordered_as_inventories_are() -> None:
    def key(model: str, namespace: str) -> workerset.WorkerSetKey:
        return workerset.WorkerSetKey(model, namespace, "c", "e", "chat", "aggregated")

    # The order of key texts, where a quotation mark ends the namespace: '!' sorts before it, '-' after it.
    ordered = [key("a", "z"), key("m", "ns!"), key("m", "ns"), key("m", "ns-1")]
    assert sorted([ordered[2], ordered[0], ordered[3], ordered[1]]) == ordered
    assert sorted(ordered, key=lambda key: (key.model, key.key_text)) == ordered
    assert ordered[0] < ordered[1] <= ordered[1]
    assert ordered[2] > ordered[1] >= ordered[1]
    with pytest.raises(TypeError):
        assert ordered[0] < "a"  # type: ignore[operator]  # that is the point
    with pytest.raises(TypeError):
        sorted([TOKEN, TOKEN])  # type: ignore[type-var]  # that is the point


def test_a_key_shows_its_group_id() -> None:
    assert str(KEY) == KEY_TEXT
    assert KEY.key_text == '["ns","c","e","chat","aggregated"]'
    assert SET.worker_set == KEY


def test_filters_say_what_they_admit() -> None:
    make = workerset.NamespaceFilter
    assert make.all() == make("all", "", False)
    assert make.exact("a") == make("exact", "a", False)
    assert make.prefix("a") == make("prefix", "a", False)
    strict = make.prefix("a", strict=True)
    assert [strict.admits(name) for name in ("a", "a-0123abcd", "ab", "b")] == [True, True, False, False]
    assert make.all().admits("anything")
    assert not make.exact("a").admits("ab")


def test_the_largest_numbers_fit() -> None:
    assert workerset.Delete("p", MAX).revision == MAX
    assert workerset.Apply("p", None, created=-(2**63)).created == -(2**63)
    assert APPLY.revision == 3
