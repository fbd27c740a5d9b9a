"""Options and rules that hold for every test."""

import logging
import os
from collections.abc import Iterator

import pytest

NO_SKIPS = "--no-skips"
_left_out: list[str] = []


@pytest.fixture(autouse=True)
def restored_log_level() -> Iterator[None]:
    """Commands run within the test process, and the demo silences the log that other tests read."""
    logger = logging.getLogger("workerset.admission")
    level = logger.level
    yield
    logger.setLevel(level)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(NO_SKIPS, action="store_true", help="fail if a test was skipped or xfailed; implied by CI")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.skipped or hasattr(report, "wasxfail"):
        _left_out.append(report.nodeid)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.skipped:
        _left_out.append(report.nodeid)


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    strict = session.config.getoption(NO_SKIPS) or bool(os.environ.get("CI"))
    if strict and _left_out and exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for nodeid in _left_out:
        terminalreporter.write_line(f"not run to its end: {nodeid}", red=True)
