"""Whatever a callback raises or returns, the frontend goes on: the build is tried again and gives its place back."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Generator
from typing import Any, NoReturn

import pytest

from tests.discovery.records import card
from tests.frontend.helpers import PATIENCE, put, remove, until
from workerset import AdmissionConfig, BuildRetry, BuildSpec, Frontend
from workerset.discovery import MemoryDiscovery
from workerset.errors import ConfigError, ControllerClosed

STUCK: list[asyncio.Future[None]] = []  # what the callbacks that never end wait for


class BrokenText(Exception):
    """Has no text."""

    def __str__(self) -> NoReturn:
        raise ValueError("no text")


class HarshText(Exception):
    """Its text ends generators."""

    def __str__(self) -> NoReturn:
        raise GeneratorExit


class NoText(Exception):
    """Its text is a number."""

    def __str__(self) -> str:
        return 5  # type: ignore[return-value]  # noqa: PLE0307


class OddText(str):
    """A text that can do little."""

    __slots__ = ()

    def isprintable(self) -> NoReturn:
        raise ValueError("odd")

    __len__ = __getitem__ = __bool__ = isprintable  # type: ignore[assignment]


class OddStr(Exception):
    """Has such a text."""

    def __str__(self) -> str:
        return OddText("odd")


class BrokenCause(Exception):
    """Has no traceback."""

    @property
    def __cause__(self) -> NoReturn:  # type: ignore[override]
        raise ValueError("no cause")


class Harsh(BaseException):
    """Not one of those that are meant to end a loop."""


class Meta(type):
    """Hides the name of its classes."""

    def __getattribute__(cls, name: str) -> Any:
        if name in ("__name__", "__qualname__"):
            raise ValueError("no name")
        return super().__getattribute__(name)


class Nameless(Exception, metaclass=Meta):
    """Is one of them."""


class RaisingAwaitable:
    """Cannot be awaited."""

    def __await__(self) -> NoReturn:
        raise LookupError("in __await__")


class YieldsNonsense:
    """Awaits what is not a future."""

    def __await__(self) -> Generator[Any, None, None]:
        yield "nonsense"


class RaisesWhenCancelled(asyncio.Future[None]):
    """Cannot be cancelled."""

    def cancel(self, msg: Any = None) -> NoReturn:  # noqa: ARG002
        raise LookupError("cannot be cancelled")


def raises(error: BaseException) -> Callable[[BuildSpec], Awaitable[Any]]:
    async def build(_spec: BuildSpec) -> NoReturn:
        raise error

    return build


def raises_at_once(_spec: BuildSpec) -> NoReturn:
    raise LookupError("before there is anything to await")


async def never_ends(_spec: BuildSpec) -> None:
    STUCK.append(end := asyncio.get_running_loop().create_future())
    while not end.done():
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.shield(end)


async def ends_only_by_itself(_spec: BuildSpec) -> None:
    STUCK.append(end := RaisesWhenCancelled())
    await end


async def release() -> None:
    """End what never ends."""
    for end in STUCK:
        end.set_result(None)
    STUCK.clear()
    others = asyncio.all_tasks() - {asyncio.current_task()}
    if others:
        await asyncio.wait(others)


def returns(value: object) -> Callable[[BuildSpec], Any]:
    return lambda _spec: value


BUILDS: list[tuple[str, Callable[[BuildSpec], Any], str]] = [
    ("an exception", raises(ValueError("no memory")), "ValueError: no memory"),
    ("one without a text", raises(ValueError()), "ValueError"),
    ("one with a broken text", raises(BrokenText()), "BrokenText: (its text cannot be made)"),
    ("one whose text raises harshly", raises(HarshText()), "HarshText: (its text cannot be made)"),
    ("one whose text is none", raises(NoText()), "NoText: (its text cannot be made)"),
    ("one whose text is odd", raises(OddStr()), "OddStr: odd"),
    ("one with a lone surrogate", raises(OSError("/models/\udcff")), "OSError: /models/\\udcff"),
    ("one of many lines", raises(ValueError("a\nb\x1b[2J")), "ValueError: a\\nb\\x1b[2J"),
    ("a long one", raises(ValueError("x" * 10_000_000)), f"ValueError: {'x' * 188}..."),
    ("one with a broken cause", raises(BrokenCause("why")), "BrokenCause: why"),
    ("one without a name", raises(Nameless("x")), "Nameless: x"),
    ("a harsh one", raises(Harsh("harsh")), "Harsh: harsh"),
    ("GeneratorExit", raises(GeneratorExit()), "GeneratorExit"),
    ("StopIteration", raises(StopIteration()), "RuntimeError: coroutine raised StopIteration"),
    ("StopAsyncIteration", raises(StopAsyncIteration()), "StopAsyncIteration"),
    ("a cancellation", raises(asyncio.CancelledError("own")), "the build cancelled itself"),
    ("a plain function that raises", raises_at_once, "LookupError: before there is anything to await"),
    ("a plain function", returns("pipeline"), "TypeError: build returned str, nothing to await"),
    ("a function of nothing", lambda: None, "TypeError: "),  # type: ignore[list-item, misc]
    ("an awaitable that raises", returns(RaisingAwaitable()), "LookupError: in __await__"),
    ("an awaitable that yields nonsense", returns(YieldsNonsense()), "RuntimeError: Task got bad yield: 'nonsense'"),
    ("what never ends", never_ends, "the build took longer than 0.05 s"),
    ("what cannot be cancelled", ends_only_by_itself, "the build took longer than 0.05 s"),
]


@pytest.mark.parametrize(("build", "reason"), [row[1:] for row in BUILDS], ids=[row[0] for row in BUILDS])
async def test_the_build_is_tried_again_and_gives_its_place_back(
    build: Callable[[BuildSpec], Any], reason: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workerset._builds._PATIENCE", 0.05)
    unhandled: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: unhandled.append(context))
    closed: list[object] = []

    def first_fails(spec: BuildSpec) -> Any:
        if spec.generation > 1:
            return good(spec)
        return build() if reason == "TypeError: " else build(spec)  # type: ignore[call-arg]

    async def good(spec: BuildSpec) -> str:
        return f"pipeline {spec.generation}"

    source = MemoryDiscovery()
    put(source, 1)
    config = AdmissionConfig(max_concurrent_builds=1)
    with caplog.at_level(logging.DEBUG):
        frontend = Frontend(source, first_fails, closed.append, config, build_timeout=0.05)
        async with frontend:
            notices = frontend.subscribe()
            put(source, 1, card=card("other"), component="other")
            assert (await frontend.wait_for("other", timeout=PATIENCE, unknown_ok=True)).generation == 2, "the place"
            assert (await frontend.wait_for("m", timeout=PATIENCE)).generation == 3, "the retry"
            told = [await anext(notices) for _ in range(2)]
            retry = next((notice for notice in told if isinstance(notice, BuildRetry)), None)
        retries = [notice async for notice in notices if isinstance(notice, BuildRetry)]
        retry = retry or retries[0]
    assert retry.reason.startswith(reason)
    assert retry.reason.isprintable() and len(retry.reason) <= 203
    assert "Logging error" not in caplog.text
    assert "\x1b" not in caplog.text
    assert {"pipeline 2", "pipeline 3"} <= set(map(str, closed))
    await release()
    assert unhandled == []


CLOSES: list[tuple[str, Callable[[Any], Any], str]] = [
    ("a plain function that raises", raises_at_once, "LookupError"),
    ("an exception with a broken text", raises(BrokenText()), "BrokenText: (its text"),
    ("a harsh one", raises(Harsh("harsh")), "Harsh: harsh"),
    ("one with a lone surrogate", raises(OSError("\udcff")), "OSError: \\udcff"),
    ("an awaitable that raises", returns(RaisingAwaitable()), "LookupError: in __await__"),
    ("an awaitable that yields nonsense", returns(YieldsNonsense()), "RuntimeError: Task got bad yield"),
    ("what never ends", never_ends, "closing 2 pipelines takes longer"),
]


@pytest.mark.parametrize(("close", "says"), [row[1:] for row in CLOSES], ids=[row[0] for row in CLOSES])
async def test_whatever_close_does_is_logged_and_ends_nothing(
    close: Callable[[Any], Any], says: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workerset._builds._PATIENCE", 0.05)
    unhandled: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: unhandled.append(context))

    async def build(spec: BuildSpec) -> str:
        return f"pipeline {spec.generation}"

    source = MemoryDiscovery()
    put(source, 1)
    async with Frontend(source, build, close) as frontend:
        await frontend.wait_for("m")
        put(source, 2, card=card(block_size=32))
        remove(source, 1)
        await until(frontend, lambda: frontend.inventory().worker_sets[0].generation == 2)
        assert frontend.route("m").decode.pick() == 2
    assert says in caplog.text
    await release()
    assert unhandled == []


async def test_what_a_build_returns_long_after_it_was_left_to_itself_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workerset._builds._PATIENCE", 0.01)
    end, closed = asyncio.Event(), asyncio.Queue[str]()

    async def build(spec: BuildSpec) -> str:
        while spec.generation == 1 and not end.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await end.wait()
        return f"pipeline {spec.generation}"

    source = MemoryDiscovery()
    put(source, 1)
    async with Frontend(source, build, closed.put_nowait, build_timeout=0.01) as frontend:
        assert (await frontend.wait_for("m")).pipeline == "pipeline 2"
        end.set()
        assert await asyncio.wait_for(closed.get(), PATIENCE) == "pipeline 1"
        assert frontend.route("m").pipeline == "pipeline 2"


async def test_a_log_handler_that_raises_ends_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    class Broken(logging.Handler):
        def emit(self, _record: logging.LogRecord) -> NoReturn:
            raise ValueError("the handler is broken")

    handler, logger = Broken(), logging.getLogger("workerset")
    logger.addHandler(handler)
    try:
        source = MemoryDiscovery()
        put(source, 1)
        async with Frontend(source) as frontend:
            assert (await frontend.wait_for("m")).decode.pick() == 1
            put(source, 2)
            source.put("v1/mdc/a/b/c/1", "{}")
            await until(frontend, lambda: len(frontend.inventory().refused) == 1)
    finally:
        logger.removeHandler(handler)
    assert "the handler is broken" in capsys.readouterr().err


def test_a_build_that_exits_the_thread_closes_the_frontend(caplog: pytest.LogCaptureFixture) -> None:
    async def build(_spec: BuildSpec) -> NoReturn:
        raise SystemExit(3)

    source = MemoryDiscovery()
    frontend = Frontend.run_in_thread(source, build)
    put(source, 1)
    with pytest.raises(ControllerClosed):
        frontend.wait_for("m", timeout=PATIENCE, unknown_ok=True)
    frontend.close()
    assert "the frontend is closed, for its loop has ended: SystemExit: 3" in caplog.text


def test_a_source_that_exits_the_thread_is_told_where_it_was_started() -> None:
    class Exits(MemoryDiscovery):
        def batches(self) -> NoReturn:
            raise SystemExit(3)

    with pytest.raises(SystemExit):
        Frontend.run_in_thread(Exits())


@pytest.mark.parametrize("name", ["build", "close"])
def test_what_cannot_be_called_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="str cannot be called") as refusal:
        Frontend(MemoryDiscovery(), **{name: "text"})  # type: ignore[arg-type]
    assert refusal.value.field == name
