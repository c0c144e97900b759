"""Fixtures ``gpubench`` and ``no_sync``, saved results, and a gate on regressions.

Habits are those of pytest-benchmark: ``gpubench(fn, *args)`` measures and gives back what ``fn``
gives. Clocks are synchronised, and results know whether they may be trusted.
"""

from __future__ import annotations

import functools
import json
import math
import os
from collections.abc import Callable, Generator, Iterator
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
OPTIONS = frozenset(
    {
        "caliber",
        "cold",
        "description",
        "grad_to_none",
        "label",
        "min_run_time",
        "number",
        "rep",
        "samples",
        "sub_label",
        "warmup",
    }
)
"""Options of the marker: those of ``boundby.bench`` with which it gives a result."""


@dataclass(frozen=True)
class Gate:
    """Largest growth of a statistic that passes, as a share."""

    statistic: str
    share: float


@dataclass
class Session:
    """What the tests of one run measured, and what they are held against.

    Attributes:
        compared: File of the saved results; None where nothing is compared.
        baseline: What it holds, by test.
        kept: File that takes the results; None for none.
        unheld: Why a test could not be compared, by test.
    """

    compared: str | None = None
    baseline: dict[str, Result] = field(default_factory=dict)
    gate: Gate | None = None
    kept: Path | None = None
    results: dict[str, Result] = field(default_factory=dict)
    comparisons: dict[str, Comparison] = field(default_factory=dict)
    unheld: dict[str, str] = field(default_factory=dict)


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
    if name not in STATISTICS or not figure.endswith("%") or not 0 <= share < math.inf:
        raise pytest.UsageError(
            f"--boundby-fail: cannot read {text!r}: STAT:PERCENT, STAT one of "
            f"{', '.join(STATISTICS)}"
        )
    return Gate(name, share)


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers, read what to compare with, refuse what cannot be done."""
    config.addinivalue_line("markers", "gpubench(**options): options of boundby.bench for a test")
    config.addinivalue_line("markers", "no_sync: fail the test where it waits for the device")
    session = Session(
        compared=config.getoption("--boundby-compare"), gate=config.getoption("--boundby-fail")
    )
    saved = config.getoption("--boundby-save")
    if session.gate and not session.compared:
        raise pytest.UsageError("--boundby-fail needs saved results: --boundby-compare FILE")
    if (saved or session.compared) and getattr(config.option, "numprocesses", None):
        raise pytest.UsageError(
            "--boundby-save and --boundby-compare: tests that run at once disturb each other: -n 0"
        )
    if session.compared:
        session.baseline = read_results(Path(session.compared))
    if saved:
        session.kept = Path(saved)
        refuse_target(session.kept, session.compared)
    config.stash[KEPT] = session


def refuse_target(path: Path, compared: str | None) -> None:
    """Refuse before any test runs a file that cannot take the results, or should not.

    Raises:
        UsageError: It has no folder, holds something else, or is what is compared with.
    """
    if not path.absolute().parent.is_dir():
        raise pytest.UsageError(f"--boundby-save: {path}: no folder {path.parent}")
    if not path.exists():
        return
    if compared and path.samefile(compared):
        raise pytest.UsageError(f"--boundby-save: {path} is what is compared with")
    try:
        read_results(path)
    except pytest.UsageError:
        raise pytest.UsageError(
            f"--boundby-save: {path} exists and holds no saved results: name another file"
        ) from None


class Benchmark:
    """The fixture: call it with a function and its arguments."""

    def __init__(self, name: str, session: Session, options: dict[str, Any]) -> None:
        self.name = name
        self.result: Result | None = None
        self._session = session
        self._options = options

    def __call__(self, fn: Callable[..., Any], *args: Any, **keywords: Any) -> Any:  # noqa: ANN401
        """Measure, keep the result, and give back what the function gives."""
        return self._measured(functools.partial(fn, *args, **keywords), self._options)

    def pedantic(  # noqa: PLR0913 -- the names of pytest-benchmark
        self,
        target: Callable[..., Any],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
        *,
        setup: Callable[[], Any] | None = None,
        rounds: int | None = None,
        warmup_rounds: int | None = None,
        iterations: int | None = None,
    ) -> Any:  # noqa: ANN401 -- what the function gives
        """As in pytest-benchmark: so many samples (rounds), of so many calls each (iterations).

        Warm-up ends when calls are steady, whatever ``warmup_rounds`` says; ``setup`` is refused.
        """
        del warmup_rounds
        if setup is not None:
            pytest.fail("gpubench.pedantic takes no setup: prepare what args hold", pytrace=False)
        chosen = {"samples": rounds, "number": iterations}
        options = {name: value for name, value in chosen.items() if value is not None}
        call = functools.partial(target, *args, **(kwargs or {}))
        return self._measured(call, {**self._options, **options})

    def _measured(self, call: functools.partial[Any], options: dict[str, Any]) -> Any:  # noqa: ANN401
        from boundby.bench.measure import bench  # noqa: PLC0415 -- only where it is used
        from boundby.errors import BoundbyError  # noqa: PLC0415 -- likewise

        if self.result is not None:
            pytest.fail("gpubench measures one function a test", pytrace=False)
        options = {"label": self.name, **options}
        unknown = sorted(options.keys() - OPTIONS)
        if unknown:
            pytest.fail(
                f"gpubench takes no {unknown[0]!r}: {', '.join(sorted(OPTIONS))}", pytrace=False
            )
        try:
            self.result = bench(call, **options)
        except BoundbyError as error:
            pytest.fail(f"gpubench: {error.message}", pytrace=False)
        self._session.results[self.name] = self.result
        self._hold()
        return call()

    def _hold(self) -> None:
        """Compare with the saved result; fail where the gate says so."""
        from boundby.bench.compare import Thresholds, compare_results  # noqa: PLC0415
        from boundby.errors import CannotTellError  # noqa: PLC0415
        from boundby.report.compare import change  # noqa: PLC0415

        old, gate = self._session.baseline.get(self.name), self._session.gate
        assert self.result is not None  # noqa: S101 -- just measured
        if old is None:
            if self._session.compared:
                self._session.unheld[self.name] = "not among the saved results"
            return
        limits = Thresholds(practical=gate.share) if gate else Thresholds()
        try:
            found = compare_results(old, self.result, limits=limits)
        except CannotTellError as error:
            self._session.unheld[self.name] = error.message
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
def no_sync() -> None:
    """Fail the test where it waits for the device, with every line that does."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Watch the body of a test that asks for it: what its fixtures wait for is their own."""
    if "no_sync" not in getattr(item, "fixturenames", ()) and not _is_marked(item):
        return (yield)
    from boundby.bench.syncs import watch_syncs  # noqa: PLC0415 -- only where it is used

    with watch_syncs() as found:
        result = yield
    if found:
        lines = "\n".join(f"  {each}" for each in found)
        pytest.fail(f"hidden synchronisation:\n{lines}", pytrace=False)
    return result


def _is_marked(item: pytest.Item) -> bool:
    return item.get_closest_marker("no_sync") is not None


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Print a table of the results, keep them, and tell GitHub where the run is one of its own."""
    session = config.stash.get(KEPT, None)
    if session is None or not session.results:
        return
    terminalreporter.section("boundby")
    for row in _aligned(list(_rows(session))):
        terminalreporter.write_line(row)
    for row in _unheld(session):
        terminalreporter.write_line(row)
    if session.kept:
        problem = _attempt(lambda path: save_results(path, session.results), session.kept)
        terminalreporter.write_line(problem or f"wrote {session.kept}")
    if os.environ.get("GITHUB_ACTIONS") == "true":
        for note in _annotations(session):
            terminalreporter.write_line(note)
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    problem = _attempt(lambda path: _summarise(path, session), summary) if summary else ""
    if problem:
        terminalreporter.write_line(problem)


def _attempt(write: Callable[[Path], None], path: str | Path) -> str:
    """Write; what prevents it, in words, for the results are on the screen already."""
    try:
        write(Path(path))
    except OSError as error:
        return f"{path}: cannot write: {error.strerror}"
    return ""


def _summarise(path: Path, session: Session) -> None:
    """Add a table to the summary of a step."""
    from boundby.report.github import summary  # noqa: PLC0415 -- only where it is wanted

    with path.open("a", encoding="utf-8") as file:
        file.write(summary(_rows(session), _unheld(session)))


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


def _aligned(rows: list[tuple[str, ...]]) -> Iterator[str]:
    """Rows with names to the left and two figures to the right of their columns."""
    wide = [max(len(row[column]) for row in rows) for column in range(3)]
    for name, median, spread, *rest in rows:
        head = f"{name:{wide[0]}}  {median:>{wide[1]}}  {spread:>{wide[2]}}"
        yield "  ".join([head, *filter(None, rest)])


def _against(session: Session, name: str) -> str:
    from boundby.report.compare import WORDS, change  # noqa: PLC0415 -- likewise

    found = session.comparisons.get(name)
    if found is not None:
        return f"{WORDS[found.effect]} {change(found.clocks[0])}"
    return session.unheld.get(name, "")


def _unheld(session: Session) -> Iterator[str]:
    """A gate that some tests could not be held against says so: they have not passed it."""
    if session.gate is None:
        return
    noisy = [each for each in session.comparisons.values() if each.effect == "too-noisy"]
    if not session.unheld and not noisy:
        return
    held, every = len(session.comparisons) - len(noisy), len(session.results)
    gate = f"{session.gate.statistic}:{session.gate.share * 100:g}%"
    yield f"gate {gate}: {held} of {every} tests could be held against the saved results"


def _annotations(session: Session) -> Iterator[str]:
    """Workflow commands of GitHub Actions: one a regression, one a gate that could not be held."""
    from boundby.report.github import annotation  # noqa: PLC0415 -- only where it is wanted

    for name, found in session.comparisons.items():
        if found.is_regression:
            yield annotation(name, "is slower", _against(session, name))
    if session.gate is not None:
        for name, why in session.unheld.items():
            yield annotation(name, "was not compared", why)


def save_results(path: Path, results: dict[str, Result]) -> None:
    """Write results by the name of their test."""
    from boundby.bench.result import encode  # noqa: PLC0415 -- only where it is asked for

    body = {name: json.loads(encode(result)) for name, result in results.items()}
    document = {"schema_version": SCHEMA_VERSION, "kind": KIND, "results": body}
    part = path.with_name(f"{path.name}.part")
    part.write_text(json.dumps(document) + "\n", encoding="utf-8")
    part.replace(path)


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
    except OSError as error:
        raise pytest.UsageError(f"--boundby-compare: {path}: {error.strerror}") from None
    except UnreadableError as error:
        raise pytest.UsageError(f"--boundby-compare: {path}: {error.message}") from None
    except (ValueError, AttributeError, KeyError):
        raise pytest.UsageError(f"--boundby-compare: {path} holds no saved results") from None
