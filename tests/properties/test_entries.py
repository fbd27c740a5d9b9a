"""What a request, a record or an operator may send: every public entry raises documented errors only, unharmed."""

from __future__ import annotations

import asyncio
import json
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import workerset
from tests.contract.world import World, adapter, base, card, instance, join
from tests.frontend.helpers import put
from workerset import Apply, Delete, Frontend, ModelCard, NamespaceFilter, Reset, discovery, errors
from workerset.discovery import FileDiscovery, MemoryDiscovery, register
from workerset.observability import describe

if TYPE_CHECKING:
    from collections.abc import Callable

SURROGATES = st.characters(categories=["Cs"])
texts = st.one_of(
    st.text(max_size=30),
    st.text(st.one_of(SURROGATES, st.characters()), max_size=12),
    st.sampled_from(["\udcff", "m\udcff", "\ud800", "", "\0", "m", "\ufffd", "\\udcff", "/\\udcff", "x" * 5000]),
)
anything = st.one_of(texts, st.binary(max_size=30))
bounded = settings(max_examples=300, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
slow = settings(bounded, max_examples=60)


def answer(call: Callable[[], Any], *documented: type[Exception]) -> Any:
    """What a call returns, or what it raises, which is documented, short and can be written."""
    try:
        return call()
    except documented as error:
        message = str(error)
        assert len(message) < 2500, len(message)
        message.encode()
        return error


def busy_world() -> World:
    """A committed model with an alias and an adapter; one that waits for its build; a namespace with an odd name."""
    world = World()
    world.apply(Reset([], 1))
    world.serving(join(1, aliases=["also"]), adapter(1))
    world.serving(base(2, card("\ufffd", slug="odd"), component="odd"), instance(2, component="odd"))
    world.serving(base(2, card("m"), namespace="\\udcff"), instance(2, namespace="\\udcff"))
    world.apply(base(3, card("waits"), component="waits"))
    return world


WORLD = busy_world()
untyped: Any = workerset


def untyped_apply(events: Any) -> None:
    WORLD.controller.apply(events, now=WORLD.now)


def admits(make: Callable[[str], NamespaceFilter], text: str) -> bool:
    return make(text).admits(text)


def state() -> Any:
    return WORLD.controller.inventory(now=WORLD.now).to_dict(), WORLD.controller.models(), WORLD.controller.poll()


@given(name=texts, model_type=st.none() | texts, namespace=st.none() | texts)
@bounded
def test_a_request_is_routed_or_told_why_not(name: str, model_type: str | None, namespace: str | None) -> None:
    before = state()
    found = answer(lambda: WORLD.controller.route(name, model_type, namespace), errors.ModelNotFound, errors.NotReady)
    known = {"m", "also", "lora", "\ufffd", "waits"}
    assert isinstance(found, errors.ModelNotFound) == (name not in known)
    if isinstance(found, errors.ModelNotFound):
        assert found.model == name
    if isinstance(found, workerset.Route):
        assert namespace in {None, found.namespace} and model_type in {None, "chat"}
    if isinstance(found, errors.NotReady):
        assert found.reasons and all(len(reason) < 1500 for reason in found.reasons)
    assert state() == before


def test_a_lone_surrogate_is_no_replacement_character() -> None:
    with pytest.raises(errors.ModelNotFound) as failure:
        WORLD.controller.route("\udcff")
    assert failure.value.model == "\udcff"
    assert str(failure.value) == "no model, alias or adapter is named '\\udcff'"
    assert WORLD.controller.route("m", namespace="\\udcff").namespace == "\\udcff"
    with pytest.raises(errors.NotReady):
        WORLD.controller.route("m", namespace="\udcff")
    with pytest.raises(errors.NotReady):
        WORLD.controller.route("m", "\udcff")


@given(name=texts, unknown_ok=st.booleans())
@slow
def test_a_waiting_request_too(name: str, unknown_ok: bool) -> None:
    async def wait() -> None:
        source = MemoryDiscovery()
        put(source, 1)
        async with Frontend(source) as frontend:
            await frontend.wait_for("m")
            with pytest.raises(errors.NotReady if name == "m" else errors.ModelNotFound) as failure:
                await frontend.wait_for(name, 0.001, unknown_ok, model_type=name, namespace=name)
            assert len(str(failure.value)) < 2500
            assert len(frontend._waiters) == 0
            assert frontend.route("m").decode.ids() == (1,)

    asyncio.run(wait())


@pytest.mark.parametrize("model", ["\udcff", "x" * 10_000_000])
async def test_a_wait_for_a_name_that_can_be_none_ends_in_time(model: str) -> None:
    async with Frontend(MemoryDiscovery()) as frontend:
        for other in ("\udcfe", "y"):
            task = asyncio.create_task(frontend.wait_for(other, None, unknown_ok=True))
            await asyncio.sleep(0)
            with pytest.raises(errors.ModelNotFound):
                await frontend.wait_for(model, 0.01, unknown_ok=True)
            with pytest.raises(errors.ModelNotFound):
                await frontend.wait_for(model)
            task.cancel()
            await asyncio.wait({task})
        assert len(frontend._waiters) == 0


@given(raw=anything, profile=st.just("1.6") | texts)
@bounded
def test_a_card(raw: str | bytes, profile: str) -> None:
    found = answer(lambda: ModelCard.from_json(raw, profile), errors.CardError, errors.ConfigError)
    assert isinstance(found, errors.ConfigError) == (profile not in {"1.3", "1.4", "1.5", "1.6"})


FIELDS = sorted(
    card(aliases=[], needs=[], lora=None, user_data=None, router_config=None, runtime_config={}, tokenizer={})
)


@given(field=st.sampled_from(FIELDS), value=texts)
@bounded
def test_a_card_with_an_odd_field(field: str, value: str) -> None:
    for odd in (value, [value], {value: value}):
        for ascii_only in (False, True):
            text = json.dumps(card() | {field: odd}, ensure_ascii=ascii_only)
            answer(partial(ModelCard.from_json, text), errors.CardError)


def test_what_is_no_card_at_all_is_said_plainly() -> None:
    for wrong in (None, 5, [], object()):
        with pytest.raises(TypeError, match=r"expected bytes or str, not <class"):
            ModelCard.from_json(wrong)  # type: ignore[arg-type]
    with pytest.raises(errors.CardError, match="invalid"):
        ModelCard.from_json('{"display_name": "\udcff"}')


@given(value=anything, where=st.sampled_from(["v1/mdc/ns/c/e/9", "v1/instances/ns/c/e/9", "v1/mdc/ns/c/e/1"]))
@bounded
def test_a_record(value: str | bytes, where: str) -> None:
    world = World()
    world.serving(join(1))
    before = world.controller.inventory(now=0.0).to_dict()["worker_sets"]
    outputs = world.apply(Apply(where, value), base(2))
    refusal, *_ = [output for output in outputs if isinstance(output, workerset.RecordRefused)]
    assert len(refusal.reason) < 1100
    describe(refusal).encode()
    after = world.controller.inventory(now=0.0).to_dict()
    assert [entry["key"] for entry in after["refused"]] == [where.removeprefix("v1/mdc/")]
    assert after["worker_sets"][0]["routable"] == before[0]["routable"] == [1]
    assert after["worker_sets"][0]["admitted"] == [1, 2], "its batch is taken"


def test_r7_a_record_that_comes_as_text_with_a_lone_surrogate_does_not_stop_its_batch() -> None:
    world = World()
    odd = Apply("v1/mdc/ns/c/e/9", json.dumps({"type": "\udcff"}, ensure_ascii=False))
    assert isinstance(odd.value, bytes)
    world.serving(join(1), odd, join(2))
    assert world.controller.route("m").decode.ids() == (1, 2)
    assert world.refused()["ns/c/e/9"].startswith("not a JSON record")


@given(path=texts, value=anything, text=texts)
@bounded
def test_events(path: str, value: str | bytes, text: str) -> None:
    before = state()
    foreign = path.removeprefix("v1/")
    for make in (
        lambda: Apply(foreign, value),
        lambda: Apply(foreign, value, incarnation=text),
        lambda: Apply(foreign, None, refused=text),
        lambda: Delete(foreign),
        lambda: Reset([], 0, f"none/{text}"),
    ):
        event = answer(make, ValueError)
        if not isinstance(event, ValueError):
            answer(partial(WORLD.controller.apply, [event], now=WORLD.now), TypeError)
    for wrong in (value, text, [value], [None]):
        answer(partial(untyped_apply, wrong), TypeError)
    after = state()
    assert after[0]["worker_sets"] == before[0]["worker_sets"] and after[1:] == before[1:]


@given(text=texts)
@bounded
def test_reports_and_options(text: str) -> None:
    world = World()
    world.apply(join(1))
    verdict = world.fail(1, text)
    assert isinstance(verdict, workerset.Retry), "a report is never lost"
    for output in world.drain():
        describe(output).encode()
    before = world.controller.inventory(now=0.0).to_dict()
    if text not in ("live", "lost", "ended"):
        answer(lambda: world.controller.source_changed(text, now=0.0), ValueError)
    for option in ("checksum_profile", "tokenizer_backend", "router_policy_files", "default_router_mode", "namespaces"):
        answer(partial(untyped.AdmissionConfig, **{option: text}), ValueError, TypeError)
    for make in (NamespaceFilter.exact, NamespaceFilter.prefix):
        answer(partial(admits, make, text), ValueError)
    assert world.controller.inventory(now=0.0).to_dict() == before


@given(number=st.integers() | st.sampled_from([-1, 1 << 64, (1 << 64) - 1]))
@bounded
def test_an_instance_id_of_a_request(number: int) -> None:
    hop = WORLD.controller.route("m", namespace="ns").decode
    found = answer(lambda: hop.pick_direct(number), errors.NoRoutableWorkers)
    assert found == 1 if number == 1 else isinstance(found, errors.NoRoutableWorkers)
    assert (hop.worker(number) is not None) == (number in hop) == (number == 1)
    assert isinstance(answer(lambda: hop.pick_except([number]), errors.NoRoutableWorkers), int) == (number != 1)
    for wrong in ("1", None, 1.5):
        with pytest.raises(TypeError):
            hop.pick_direct(wrong)  # type: ignore[arg-type]


@given(text=texts)
@bounded
def test_sources(text: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    for url in (
        text,
        f"memory:{text}",
        f"file:///{text}",
        f"file:///x?ttl={text}",
        f"file://{text}/x",
        f"file:///x?{text}=1",
    ):
        answer(partial(discovery.open, url), errors.ConfigError)
    for environ in ({"DYN_DISCOVERY_BACKEND": text}, {"DYN_DISCOVERY_BACKEND": "file", "DYN_FILE_KV": text}):
        answer(partial(discovery.from_environment, environ), errors.ConfigError)
    source = answer(lambda: FileDiscovery(f"{tmp_path_factory.getbasetemp()}/none/{text}"), errors.ConfigError)
    if isinstance(source, FileDiscovery):
        try:
            asyncio.run(source.snapshot())
        except errors.DiscoveryError as error:
            str(error).encode()


@given(path=texts, value=anything)
@bounded
def test_a_memory_store(path: str, value: str | bytes) -> None:
    source = MemoryDiscovery()
    source.put("a", "{}")
    before = source._store.listing()
    if isinstance(answer(lambda: source.put(path, value), ValueError), ValueError):
        assert source._store.listing() == before
        answer(lambda: source.delete(path), ValueError)
        assert source._store.listing() == before
    else:
        assert path in {entry.path for entry in source._store.listing().entries}


@given(text=texts, argument=st.sampled_from(["namespace", "component", "endpoint", "transport", "card", "device_type"]))
@slow
def test_a_registration(text: str, argument: str) -> None:
    whole: dict[str, Any] = {"namespace": "n", "component": "c", "endpoint": "e", "transport": "h:1", "card": card()}

    async def publish() -> None:
        async with register(source, **whole | {argument: text}) as one:
            assert one.instance_key
            assert len(source._store.listing().entries) == 2

    source = MemoryDiscovery()
    answer(lambda: asyncio.run(publish()), errors.ConfigError, errors.CardError)
    assert source._store.listing().entries == ()


@given(limit=st.integers(max_value=0))
@slow
def test_a_subscription(limit: int) -> None:
    frontend = Frontend(MemoryDiscovery())
    assert isinstance(answer(lambda: frontend.subscribe(limit), errors.ConfigError), errors.ConfigError)


def test_names_of_megabytes_make_short_texts() -> None:
    huge = "x" * 500_000
    world = World()
    world.serving(base(1, card(huge, slug="s", aliases=[f"{huge}y"])), instance(1))
    outputs = world.apply(base(2, card(huge, slug="s", context=1)), base(3, card("b", aliases=[huge]), component="b"))
    world.succeed(2)
    outputs += world.drain()
    outputs += world.apply(base(1, card(f"{huge}z", slug="s")), Apply(f"v1/mdc/{huge}/c/e/1", "{}"))
    texts = [describe(output) for output in outputs if not hasattr(output, "spec")]
    assert len(texts) >= 5
    hop = world.controller.route(huge).decode
    for call in (
        lambda: world.controller.route(f"{huge}?"),
        lambda: world.controller.route(huge, "embedding"),
        lambda: world.controller.route(huge, namespace=huge),
        lambda: world.controller.route(huge, huge),
        lambda: world.controller.route("b"),
        lambda: hop.pick_direct(7),
    ):
        with pytest.raises(errors.RoutingError) as failure:
            call()
        texts += [str(failure.value), repr(failure.value)]
    texts += [entry["reason"] for entry in world.controller.inventory(now=0.0).to_dict()["refused"]]
    world.apply(Delete("v1/mdc/ns/c/e/1"), Delete("v1/mdc/ns/c/e/2"))
    with pytest.raises(errors.BindingRetired) as retired:
        hop.pick()
    texts.append(str(retired.value))
    assert [len(text) for text in texts if len(text) > 2500] == []


async def test_a_timeout_is_a_number() -> None:
    async with Frontend(MemoryDiscovery()) as frontend:
        with pytest.raises(errors.ConfigError, match="timeout"):
            await frontend.wait_for("m", float("nan"), unknown_ok=True)
