"""P20: what a change costs while requests wait for another model, and what a failing `route()` costs."""

import asyncio
import contextlib
import logging
import statistics
import time

import workerset
from benches import measure, world
from workerset.discovery import MemoryDiscovery

CHANGES = 100


async def beside(waiters: int) -> tuple[float, float]:
    """CPU seconds for the changes of another model beside so many waiters; seconds until the last of them has woken."""
    source, built = MemoryDiscovery(), asyncio.Event()
    for record in world.records(0, world.card()):
        source.put(record.path, record.value or b"")

    async def build(spec: workerset.BuildSpec) -> None:
        if spec.model == world.MODEL:
            await built.wait()

    async with workerset.Frontend(source, build) as frontend:
        tasks = [asyncio.create_task(frontend.wait_for(world.MODEL, timeout=None)) for _ in range(waiters)]
        await asyncio.sleep(0)
        other = world.card(display_name="other")
        start = time.process_time()
        for index in range(1, CHANGES + 1):
            for record in world.records(index, other):
                source.put(record.path, record.value or b"")
            await asyncio.sleep(0.005)
        spent = time.process_time() - start
        asked = time.perf_counter()
        built.set()
        await asyncio.gather(*tasks)
        return spent, time.perf_counter() - asked


def failing(workers: int) -> workerset.AdmissionController:
    """A controller that knows a model of so many workers, and has nothing to route to."""
    controller = workerset.AdmissionController()
    card = world.card()
    controller.apply([world.records(index, card)[1] for index in range(workers)], now=0.0)
    world.drain(controller, 0.0)
    return controller


def fail(controller: workerset.AdmissionController, model_type: str | None) -> None:
    """Ask for a route that is not there."""
    with contextlib.suppress(workerset.NotReady):
        controller.route(world.MODEL, model_type)


def main() -> None:
    """Print both comparisons."""
    options = measure.arguments(__doc__ or "")
    logging.disable()
    rounds = 9 if options.full else 3
    samples: dict[int, list[tuple[float, float]]] = {0: [], 2000: []}
    for _ in range(rounds):
        for waiters, found in samples.items():
            found.append(asyncio.run(beside(waiters)))
    spent = {waiters: statistics.median(cpu for cpu, _ in found) for waiters, found in samples.items()}
    woken = statistics.median(wake for _, wake in samples[2000])
    measure.table(
        ("waiting for a model", f"CPU of {CHANGES} joins of another", "ratio", "all woken within"),
        [
            ("nobody", f"{spent[0]:.3f} s", "", ""),
            ("2,000 requests", f"{spent[2000]:.3f} s", f"{spent[2000] / spent[0]:.2f}x", f"{woken * 1e3:.0f} ms"),
        ],
    )
    sizes = (10, 1_000, 10_000) if options.full else (10, 1_000)
    ready: measure.Namespace = {"route": world.controller_with(10).route, "model": world.MODEL}
    statements: dict[str, tuple[str, measure.Namespace]] = {"one that finds a route": ("route(model)", ready)}
    for size in sizes:
        names: dict[str, object] = {"fail": fail, "controller": failing(size)}
        statements[f"{size:,}"] = ("fail(controller, None)", names)
        statements[f"{size:,} (a type that nobody offers)"] = ("fail(controller, 'embedding')", names)
    medians = measure.side_by_side(statements, loops=20_000, rounds=rounds)
    measure.table(
        ("a failing route(), workers", "time", "target"),
        [(name, measure.microseconds(t), "" if name.startswith("one") else "<= 3 us") for name, t in medians.items()],
    )


if __name__ == "__main__":
    main()
