"""The native controller and the plain model side by side, over random histories.

``WORKERSET_HYPOTHESIS=slow`` looks for much longer and at random; else it is the same histories every time.
"""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

import workerset
from tests.reference import world
from tests.reference.config import Config, Filter
from tests.reference.outputs import Token
from tests.reference.pair import Pair
from workerset import Apply, Delete, NamespaceFilter, Reset

SLOW = os.environ.get("WORKERSET_HYPOTHESIS") == "slow"
PROFILE = settings(
    max_examples=20_000 if SLOW else 800,
    stateful_step_count=60 if SLOW else 50,
    derandomize=not SLOW,
    print_blob=True,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)

FILTERS = {
    "all": (Filter(), NamespaceFilter.all()),
    "exact": (Filter(exact="ns"), NamespaceFilter.exact("ns")),
    "prefix": (Filter(prefix="ns"), NamespaceFilter.prefix("ns")),
    "strict": (Filter(prefix="ns", strict=True), NamespaceFilter.prefix("ns", strict=True)),
}
PREFIXES = ("", "v1/mdc/", "v1/instances/", "v1/mdc/ns/c/", "v1/mdc/ns")
TOKENS = st.sampled_from([None, None, "a", "b"])
KINDS = [*["base"] * 5, "instance", "instance", "adapter", "unusable", "garbled", "misplaced", "undialled"]
GARBLED: list[str | bytes] = ["{", "[]", b"\xff", '{"type": "Model"}']


@st.composite
def entries(draw: st.DrawFn, /, theme: world.Theme, **how: Any) -> Apply:
    """Draw one record, usable or not."""
    place = draw(st.sampled_from(list(theme)))
    created = draw(st.sampled_from([None, 1, 2]))
    how = {**how, "created": created, "incarnation": draw(TOKENS)}
    match draw(st.sampled_from(KINDS)):
        case "base":
            return world.base(place, draw(st.sampled_from(theme[place])), **how)
        case "instance":
            return world.instance(place, draw(st.sampled_from("ab")), **how)
        case "adapter":
            content = draw(st.sampled_from(world.ADAPTERS))
            return world.adapter(place, content, draw(st.sampled_from(["s", "t"])), **how)
        case "unusable":
            return world.base(place, draw(st.sampled_from(world.UNUSABLE)), **how)
        case "undialled":
            return world.endpoint(place, draw(st.sampled_from(world.TRANSPORTS)), **how)
        case "garbled":
            path = draw(st.sampled_from([place.card_path, place.instance_path, f"{place.card_path}/s"]))
            return Apply(path, draw(st.sampled_from(GARBLED)), **how)
        case _:
            other = draw(st.sampled_from(world.OTHERS))
            return Apply(place.card_path, world.base(other, world.M[0]).value, **how)


class Machine(RuleBasedStateMachine):
    """Every rule is one call to both controllers, which compares what they put out."""

    pair: Pair
    theme: world.Theme
    now = 0.0
    newest = 0

    @initialize(
        theme=st.sampled_from(sorted(world.THEMES)),
        builds=st.integers(1, 3),
        linger=st.sampled_from([0.0, 2.0, 60.0]),
        which=st.sampled_from(sorted(FILTERS)),
    )
    def begin(self, theme: str, builds: int, linger: float, which: str) -> None:
        self.theme = world.THEMES[theme]
        ours, theirs = FILTERS[which]
        config = Config(max_concurrent_builds=builds, linger_seconds=linger, namespaces=ours)
        native = workerset.AdmissionConfig(max_concurrent_builds=builds, linger_seconds=linger, namespaces=theirs)
        self.pair = Pair(config, native)

    def revision(self, data: st.DataObject) -> int:
        """Unknown, the next one, or one of the last few."""
        back = data.draw(st.sampled_from([None, 0, 0, 0, 1, 2, 4]), label="back")
        if back is None:
            return 0
        self.newest += back == 0
        return max(self.newest - back, 0)

    def event(self, data: st.DataObject) -> Apply | Delete | Reset:
        kind = data.draw(st.sampled_from(["apply", "apply", "apply", "again", "delete", "delete", "reset"]))
        known = sorted(self.pair.model.watching.keys)
        if kind == "again" and known:
            seen = self.pair.model.watching.keys[path := data.draw(st.sampled_from(known))]
            if seen.value is not None:
                return Apply(path, seen.value, revision=self.revision(data), incarnation=data.draw(TOKENS))
        if kind == "delete":
            paths = [*known, *(place.card_path for place in self.theme)]
            return Delete(data.draw(st.sampled_from(paths)), revision=self.revision(data))
        if kind == "reset":
            return self.listing(data, known)
        return data.draw(entries(theme=self.theme, revision=self.revision(data)))

    def listing(self, data: st.DataObject, known: list[str]) -> Reset:
        """A snapshot of what is known, with some keys missing, some changed, some new."""
        prefix = data.draw(st.sampled_from(PREFIXES), label="prefix")
        as_of = self.revision(data)
        listed = []
        for path in known:
            seen = self.pair.model.watching.keys[path]
            fate = data.draw(st.sampled_from(["kept", "kept", "kept", "unchanged", "missing"]))
            if fate == "missing" or (fate == "kept" and seen.value is None):
                continue
            value = None if fate == "unchanged" else seen.value
            incarnation = data.draw(TOKENS)
            listed.append(Apply(path, value, revision=min(seen.revision, as_of + 2), incarnation=incarnation))
        listed += data.draw(st.lists(entries(theme=self.theme), max_size=2))
        if data.draw(st.integers(0, 9)) == 0:
            listed.append(Apply(self.place(data).card_path, None))
        listed = data.draw(st.permutations(listed))
        return Reset([entry for entry in listed if entry.path.startswith(prefix)], as_of=as_of, prefix=prefix)

    @rule(data=st.data(), size=st.integers(1, 4))
    def apply(self, data: st.DataObject, size: int) -> None:
        self.pair.apply([self.event(data) for _ in range(size)], self.now)

    @rule(data=st.data())
    def the_incumbents_leave(self, data: st.DataObject) -> None:
        groups = sorted(self.pair.model.groups)
        if groups:
            group = self.pair.model.groups[data.draw(st.sampled_from(groups))]
            self.pair.apply([Delete(f"v1/mdc/{key}") for key in sorted(group.cohorts[0].members)], self.now)

    def place(self, data: st.DataObject) -> world.Place:
        return data.draw(st.sampled_from(list(self.theme)))

    @rule(data=st.data())
    def join(self, data: st.DataObject) -> None:
        place = self.place(data)
        content = data.draw(st.sampled_from(self.theme[place]))
        self.pair.apply([world.instance(place), world.base(place, content)], self.now)

    @rule(data=st.data())
    def a_crowd_joins(self, data: st.DataObject) -> None:
        events = []
        for place, cards in self.theme.items():
            if data.draw(st.booleans()):
                events += [world.instance(place), world.base(place, data.draw(st.sampled_from(cards)))]
        self.pair.apply(events, self.now)

    @rule(data=st.data(), content=st.sampled_from(world.ADAPTERS))
    def carry(self, data: st.DataObject, content: dict[str, Any]) -> None:
        """Let some workers load one adapter."""
        carriers = [place for place in self.theme if data.draw(st.booleans())]
        self.pair.apply([world.adapter(place, content, "s") for place in carriers], self.now)

    @rule(data=st.data())
    def leave(self, data: st.DataObject) -> None:
        place = self.place(data)
        self.pair.apply([Delete(place.card_path), Delete(place.instance_path)], self.now)

    @rule(wait=st.sampled_from([0.0, 0.25, 0.75, 1.0, 2.0, 5.0, 30.0, 600.0, -1.0]))
    def advance(self, wait: float) -> None:
        self.now += wait
        self.pair.advance(self.now)

    @rule()
    def advance_to_the_deadline(self) -> None:
        deadline = self.pair.product.controller.next_deadline
        if deadline is not None:
            self.now = max(self.now, deadline)
            self.pair.advance(self.now)

    @rule(state=st.sampled_from(["live", "lost", "ended"]))
    def source(self, state: str) -> None:
        self.pair.source_changed(state, self.now)

    def token(self, data: st.DataObject) -> Token | None:
        """Mostly a build that runs; also one that is over."""
        tokens = self.pair.model.running if data.draw(st.integers(0, 4)) else self.pair.tokens
        return data.draw(st.sampled_from(tokens)) if tokens else None

    @rule(data=st.data())
    def succeed(self, data: st.DataObject) -> None:
        if (token := self.token(data)) is not None:
            self.pair.succeeded(token, self.now)

    @rule()
    def succeed_all(self) -> None:
        for token in list(self.pair.model.running):
            self.pair.succeeded(token, self.now)

    @rule(data=st.data())
    def fail(self, data: st.DataObject) -> None:
        if (token := self.token(data)) is not None:
            self.pair.failed(token, "broken", self.now)

    @rule(times=st.integers(1, 7), fails=st.booleans())
    def try_again_and_again(self, times: int, *, fails: bool) -> None:
        """Let one build fail, or be blocked, and wait for its retry, so many times."""
        for _ in range(times):
            if not self.pair.model.running:
                return
            token = self.pair.model.running[-1]
            if fails:
                self.pair.failed(token, "broken", self.now)
            else:
                self.pair.succeeded(token, self.now)
            self.advance_to_the_deadline()

    @rule(data=st.data())
    def cancelled(self, data: st.DataObject) -> None:
        if (token := self.token(data)) is not None:
            self.pair.cancelled(token, self.now)

    @rule(data=st.data())
    def report_a_token_of_nobody(self, data: st.DataObject) -> None:
        if (token := self.token(data)) is not None:
            self.pair.succeeded(token._replace(controller="nobody"), self.now)

    def teardown(self) -> None:
        if hasattr(self, "pair"):
            self.pair.close()

    @invariant()
    def same(self) -> None:
        self.pair.check_inventory()
        self.pair.check_routes(world.NAMES)
        self.pair.check_held()


@pytest.mark.timeout(36_000 if SLOW else 300)
def test_product_and_model_agree_after_every_step() -> None:
    run_state_machine_as_test(Machine, settings=PROFILE)
