"""Fixtures ``gpubench`` and ``no_sync``, saved results, and a gate on regressions.

Habits are those of pytest-benchmark: ``gpubench(fn, *args)`` measures and gives back what ``fn``
gives. Clocks are synchronised, and results know whether they may be trusted.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from boundby.bench.compare import Comparison
    from boundby.bench.result import Result

SCHEMA_VERSION = 1
KIND = "boundby-pytest"
STATISTICS = ("median", "mean", "p95", "least")


@dataclass(frozen=True)
class Gate:
    """Largest growth of a statistic that passes, as a share."""

    statistic: str
    share: float


@dataclass
class Session:
    """What the tests of one run measured, and what they are held against."""

    baseline: dict[str, Result] = field(default_factory=dict)
    gate: Gate | None = None
    results: dict[str, Result] = field(default_factory=dict)
    comparisons: dict[str, Comparison] = field(default_factory=dict)
    incomparable: dict[str, str] = field(default_factory=dict)


KEPT = pytest.StashKey[Session]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the plugin."""
    group = parser.getgroup("boundby")
    group.addoption("--boundby-save", metavar="FILE", help="Write the results of gpubench.")
    group.addoption("--boundby-compare", metavar="FILE", help="Compare with saved results.")
    group.addoption(
        "--boundby-fail",
        metavar="STAT:PERCENT",
        type=parse_gate,
        help="Fail a test that got slower: median:5%%.",
    )


def parse_gate(text: str) -> Gate:
    """Read ``median:5%``.

    Raises:
        UsageError: Not of this form.
    """
    name, _, figure = text.partition(":")
    try:
        share = float(figure.removesuffix("%")) / 100
    except ValueError:
        share = -1.0
    if name not in STATISTICS or not figure.endswith("%") or share < 0:
        raise pytest.UsageError(
            f"--boundby-fail: cannot read {text!r}: STAT:PERCENT, STAT one of "
            f"{', '.join(STATISTICS)}"
        )
    return Gate(name, share)


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers and read what to compare with."""
    config.addinivalue_line("markers", "gpubench(**options): options of boundby.bench for a test")
    config.addinivalue_line("markers", "no_sync: fail the test where it waits for the device")
    session = Session(gate=config.getoption("--boundby-fail"))
    saved = config.getoption("--boundby-compare")
    if saved:
        session.baseline = read_results(Path(saved))
    config.stash[KEPT] = session


class Benchmark:
    """The fixture: call it with a function and its arguments."""

    def __init__(self, name: str, session: Session, options: dict[str, Any]) -> None:
        self.name = name
        self.result: Result | None = None
        self._session = session
        self._options = options

    def __call__(self, fn: Callable[..., Any], *args: Any, **keywords: Any) -> Any:  # noqa: ANN401
        """Measure, keep the result, and give back what the function gives."""
        from boundby.bench.measure import bench  # noqa: PLC0415 -- only where it is used

        if self.result is not None:
            pytest.fail("gpubench measures one function a test", pytrace=False)
        options = {"label": self.name, **self._options}
        self.result = bench(lambda: fn(*args, **keywords), **options)
        self._session.results[self.name] = self.result
        self._hold()
        return fn(*args, **keywords)

    def _hold(self) -> None:
        """Compare with the saved result; fail where the gate says so."""
        from boundby.bench.compare import Thresholds, compare_results  # noqa: PLC0415
        from boundby.errors import CannotTellError  # noqa: PLC0415
        from boundby.report.compare import change  # noqa: PLC0415

        old, gate = self._session.baseline.get(self.name), self._session.gate
        assert self.result is not None  # noqa: S101 -- just measured
        if old is None:
            return
        limits = Thresholds(practical=gate.share) if gate else Thresholds()
        try:
            found = compare_results(old, self.result, limits=limits)
        except CannotTellError as error:
            self._session.incomparable[self.name] = error.message
            return
        self._session.comparisons[self.name] = found
        if gate is not None and self._is_over(gate, old, found):
            pytest.fail(
                f"slower: {gate.statistic} beyond {gate.share:.0%}: {change(found.clocks[0])}",
                pytrace=False,
            )

    def _is_over(self, gate: Gate, old: Result, found: Comparison) -> bool:
        """The median has an interval and must be surely over; other statistics have none."""
        if gate.statistic == "median":
            return found.is_regression
        assert self.result is not None  # noqa: S101 -- just measured
        before = float(getattr(old.wall.summary, gate.statistic))
        after = float(getattr(self.result.wall.summary, gate.statistic))
        return after > (1 + gate.share) * before


@pytest.fixture
def gpubench(request: pytest.FixtureRequest) -> Benchmark:
    """Measure a function: ``gpubench(fn, *args)``; the result stays in ``gpubench.result``."""
    marker = request.node.get_closest_marker("gpubench")
    options = dict(marker.kwargs) if marker else {}
    return Benchmark(request.node.nodeid, request.config.stash[KEPT], options)


@pytest.fixture
def no_sync() -> Iterator[None]:
    """Fail where the test waits for the device, with every line that does."""
    from boundby.bench.syncs import watch_syncs  # noqa: PLC0415 -- only where it is used

    with watch_syncs() as found:
        yield
    if found:
        lines = "\n".join(f"  {each}" for each in found)
        pytest.fail(f"hidden synchronisation:\n{lines}", pytrace=False)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give marked tests the fixture of their marker."""
    for item in items:
        names = getattr(item, "fixturenames", None)
        if item.get_closest_marker("no_sync") and names is not None and "no_sync" not in names:
            names.append("no_sync")


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Print a table of the results, and tell GitHub where the run is one of its own."""
    session = config.stash[KEPT]
    if not session.results:
        return
    terminalreporter.section("boundby")
    for row in _rows(session):
        terminalreporter.write_line("  ".join(filter(None, row)))
    target = config.getoption("--boundby-save")
    if target:
        save_results(Path(target), session.results)
        terminalreporter.write_line(f"wrote {target}")
    if os.environ.get("GITHUB_ACTIONS") == "true":
        for note in _annotations(session):
            terminalreporter.write_line(note)
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    if summary:
        with Path(summary).open("a", encoding="utf-8") as file:
            file.write(_summary(session))


def _rows(session: Session) -> Iterator[tuple[str, ...]]:
    from boundby.report.bench import time  # noqa: PLC0415 -- only where there are results

    for name, result in session.results.items():
        figures = result.wall.summary
        doubts = ", ".join(each.id for each in result.trust if each.severity != "info")
        yield (
            name,
            time(figures.median),
            f"IQR {time(figures.iqr)}",
            _against(session, name),
            f"! {doubts}" if doubts else "",
        )


def _against(session: Session, name: str) -> str:
    from boundby.report.compare import WORDS, change  # noqa: PLC0415 -- likewise

    found = session.comparisons.get(name)
    if found is not None:
        return f"{WORDS[found.effect]} {change(found.clocks[0])}"
    return session.incomparable.get(name, "")


def _annotations(session: Session) -> Iterator[str]:
    """Workflow commands of GitHub Actions, one a regression."""
    for name, found in session.comparisons.items():
        if found.is_regression:
            file, _, test = name.partition("::")
            yield f"::warning file={file},title={test} is slower::{_against(session, name)}"


def _summary(session: Session) -> str:
    rows = [f"| {' | '.join(row)} |" for row in _rows(session)]
    heads = ["| test | median | spread | against saved | doubts |", "| --- |" + " ---: |" * 4]
    return "\n".join(["## boundby", "", *heads, *rows, ""])


def save_results(path: Path, results: dict[str, Result]) -> None:
    """Write results by the name of their test."""
    from boundby.bench.result import encode  # noqa: PLC0415 -- only where it is asked for

    body = {name: json.loads(encode(result)) for name, result in results.items()}
    document = {"schema_version": SCHEMA_VERSION, "kind": KIND, "results": body}
    path.write_text(json.dumps(document) + "\n", encoding="utf-8")


def read_results(path: Path) -> dict[str, Result]:
    """Read what ``save_results`` wrote.

    Raises:
        UsageError: There is none, or it is something else.
    """
    from boundby.bench.result import decode  # noqa: PLC0415 -- only where it is asked for
    from boundby.errors import UnreadableError  # noqa: PLC0415 -- likewise

    try:
        document = json.loads(path.read_text("utf-8"))
        if document.get("kind") != KIND or document.get("schema_version") != SCHEMA_VERSION:
            raise pytest.UsageError(f"--boundby-compare: {path} holds no saved results")
        return {name: decode(each, name) for name, each in document["results"].items()}
    except (OSError, ValueError, AttributeError, UnreadableError) as error:
        raise pytest.UsageError(f"--boundby-compare: cannot read {path}: {error}") from None
