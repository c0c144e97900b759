"""``check``: is a change still right? Outputs and gradients, many layouts, float64 as the judge."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from boundby.bench.agreement import (
    IMPOSSIBLE,
    Agreement,
    Rule,
    agree,
    missing,
    only_in_candidate,
)
from boundby.bench.framework import Tensor, tensors_in, torch
from boundby.bench.layouts import (
    CONTIGUOUS,
    batches,
    default_sizes,
    grad_layouts,
    laid_out,
    redrawn,
    shuffled,
    transposed_inputs,
)
from boundby.bench.reference import Baseline, Reference
from boundby.bench.runs import Outcome, Weights, precisions, run, takes_gradient
from boundby.bench.targets import refuse_lazy
from boundby.bench.tolerance import ORDER, lowest
from boundby.errors import CannotTellError, UsageError

FRESH_SEED = 1
USERS_ERRORS = (
    RuntimeError,
    ValueError,
    TypeError,
    LookupError,
    AssertionError,
    AttributeError,
    ArithmeticError,
)
"""How code of the user refuses what it is given."""
BROKEN = "CUDA error"
"""How torch begins to tell of a device that takes no more work: no refusal, and not over."""


@dataclass(frozen=True)
class Case:
    """One run of both: which inputs and layout, how each tensor agrees.

    Attributes:
        inputs: ``as given``, ``fresh values``, ``transposed``, ``batch 3``.
        layout: Of the gradients of the outputs.
        reference: How the reference was computed.
        agreements: By tensor.
    """

    inputs: str
    layout: str
    reference: str
    agreements: tuple[Agreement, ...]

    @property
    def passed(self) -> bool:
        """Whether every tensor agrees."""
        return all(each.passed for each in self.agreements)


@dataclass(frozen=True)
class Check:
    """Whether a candidate is as right as its baseline.

    Attributes:
        precision: Lowest element type in which it computes.
        cases: Every run, in order.
        notes: What was not tried, and why.
    """

    precision: str
    cases: tuple[Case, ...]
    notes: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether every case does, and anything could be compared."""
        return not self.is_blind and all(case.passed for case in self.cases)

    @property
    def is_blind(self) -> bool:
        """Whether no failure is the candidate's, and nothing else could be compared."""
        every = [each for case in self.cases for each in case.agreements]
        failed = [each for each in every if not each.passed]
        return all(each.is_blind for each in failed or every)

    @property
    def word(self) -> Literal["pass", "fail", "cannot tell"]:
        """The answer."""
        if self.is_blind:
            return "cannot tell"
        return "pass" if self.passed else "fail"

    @property
    def failures(self) -> tuple[tuple[Case, Agreement], ...]:
        """Tensors that failed with their runs, the farthest over its limit first."""
        every = [(case, each) for case in self.cases for each in case.agreements]
        failed = [pair for pair in every if not pair[1].passed]
        return tuple(sorted(failed, key=lambda pair: -_strain(pair[1])))

    @property
    def worst(self) -> tuple[Case, Agreement]:
        """The failed tensor, else the passed one, that lies farthest over or below its limit."""
        every = [(case, each) for case in self.cases for each in case.agreements]
        return max(every, key=lambda pair: (not pair[1].passed, _strain(pair[1])))

    def __bool__(self) -> bool:
        return self.passed

    def __str__(self) -> str:
        case, worst = self.worst
        return (
            f"{self.word}: {worst.name}, {case.inputs}, grad_output {case.layout}: error "
            f"{worst.error:.2e}, limit {worst.limit:.2e} ({self.precision})"
            + (f"; {worst.reason}" if worst.reason else "")
        )


def _strain(agreement: Agreement) -> float:
    """Error in limits; of what fails for another reason more than any."""
    if not agreement.passed and agreement.error <= agreement.limit:
        return IMPOSSIBLE
    return agreement.error / agreement.limit if agreement.limit else agreement.error


def check(  # noqa: PLR0913 -- tolerances and variants, all by keyword
    new: Callable[..., object],
    ref: Callable[..., object],
    *inputs: Any,  # noqa: ANN401 -- the user's own
    rtol: float | None = None,
    atol: float | None = None,
    k: float | None = None,
    precision: str | None = None,
    grads: bool = True,
    layouts: bool = True,
    batch_sizes: Sequence[int] | None = None,
    formula: Callable[..., object] | None = None,
    seed: int = 0,
) -> Check:
    """Check outputs and gradients of ``new`` against ``ref``, with a float64 reference.

    A tensor passes when its relative error against float64 is at most ``k`` times that of the
    baseline at the same precision (``tolerance``). Integers and NaN must agree exactly. Tried, one
    after the other in this process: the inputs as given with several layouts of grad_output, fresh
    values, non-contiguous inputs, other batch sizes.

    Args:
        new, ref: Functions or modules; modules of the same parameters share those of ``ref``.
        inputs: Arguments; floating and complex tensors take gradients.
        rtol, atol: Elementwise tolerances against float64 instead of ``k``.
        k: Factor over the baseline's error; else 2 for float32, 3 for half precision.
        precision: Element type in which ``new`` may compute; else the lowest that it is seen in.
        grads: Whether to compare gradients.
        layouts: Whether to try other layouts.
        batch_sizes: Else a single sample and three of them, where there are more.
        formula: Function for the reference where ``ref`` has no float64 path.
        seed: Of grad_outputs and of dropout.

    Raises:
        UsageError: What cannot be called, or a precision, size or tolerance that is none.
        CannotTellError: One of them gives no tensor.
    """
    for name, fn in (("new", new), ("ref", ref), *((("formula", formula),) if formula else ())):
        refuse_lazy(fn, name)
    new = _with_parameters_of(new, ref)
    rule = _rule(precision, k, rtol, atol) or Rule(lowest(precisions(new, inputs)), k, rtol, atol)
    sizes = _sizes(inputs, batch_sizes)
    trial = Trial(new, Baseline(ref, formula), rule, grads=grads, layouts=layouts, seed=seed)
    cases, notes = trial.as_given(inputs)
    notes += _lower_precision(rule.precision, lowest(precisions(ref, inputs)))
    notes += _other_types(*(run(fn, inputs, None, seed).outputs for fn in (new, ref)))
    fresh = [redrawn(inputs, seed + FRESH_SEED), shuffled(inputs, seed + FRESH_SEED)]
    variants = [("transposed", [transposed_inputs(inputs)])] if layouts else []
    variants += [(f"batch {size}", ways) for size, ways in batches(inputs, sizes)]
    for name, ways in [("fresh values", fresh), *variants]:
        found, why = trial.variant(name, ways, alone=name == "fresh values")
        cases += found
        notes += why
    every = dict.fromkeys([*notes, *sorted(_not_compared(cases))])
    return Check(rule.precision, tuple(cases), tuple(every))


def _not_compared(cases: Sequence[Case]) -> Iterator[str]:
    """Each tensor that nothing was compared of, with the runs where they are not all of them."""
    runs: dict[str, set[str]] = {}
    blind: dict[tuple[str, str], set[str]] = {}
    for case in cases:
        for each in case.agreements:
            runs.setdefault(each.name, set()).add(case.inputs)
            if each.is_blind:
                blind.setdefault((each.name, each.reason), set()).add(case.inputs)
    for (name, reason), where in blind.items():
        said = "" if where == runs[name] else f", {', '.join(sorted(where))}"
        yield f"{name}{said}: {reason}"


def _rule(
    precision: str | None, k: float | None, rtol: float | None, atol: float | None
) -> Rule | None:
    """The rule where its precision was given; raises UsageError on what is none."""
    if precision is not None and precision not in ORDER:
        raise UsageError(f"precision: {precision!r} is unknown", f"one of {', '.join(ORDER)}")
    tolerances = [each for each in (rtol, atol) if each is not None]
    if not all(0 <= each < IMPOSSIBLE for each in tolerances):
        raise UsageError("rtol and atol must be finite, and not negative")
    if k is not None and not 0 < k < IMPOSSIBLE:
        raise UsageError("k must be positive and finite")
    if k is not None and tolerances:
        raise UsageError("k is for errors against float64, rtol and atol for elements: give one")
    return None if precision is None else Rule(precision, k, rtol, atol)


def _sizes(inputs: Sequence[Any], asked: Sequence[int] | None) -> Sequence[int]:
    if asked is None:
        return default_sizes(inputs)
    if any(int(each) != each or each < 1 for each in asked):
        raise UsageError("batch sizes must be positive whole numbers")
    return asked


def _lower_precision(new: str, ref: str) -> list[str]:
    if ORDER.index(new) >= ORDER.index(ref):
        return []
    return [f"the candidate computes in {new}, the baseline in {ref}: held to {new}"]


def _other_types(new: dict[str, Tensor], ref: dict[str, Tensor]) -> list[str]:
    """Outputs that come in another element type: what follows computes in it, or refuses it."""
    pairs = [(name, new[name].dtype, ref[name].dtype) for name in ref if name in new]
    return [
        f"{name}: {str(now).removeprefix('torch.')}, of the baseline "
        f"{str(was).removeprefix('torch.')}; values are compared, types are not"
        for name, now, was in pairs
        if now != was
    ]


@dataclass(frozen=True)
class Trial:
    """A candidate, its baseline, and how to compare them."""

    new: Callable[..., object]
    baseline: Baseline
    rule: Rule
    grads: bool = True
    layouts: bool = True
    seed: int = 0

    def as_given(self, inputs: Sequence[Any]) -> tuple[list[Case], list[str]]:
        """The inputs as they are, in every layout of grad_output; exceptions are passed on."""
        first = self.case("as given", inputs, CONTIGUOUS)
        if not first.agreements:
            raise CannotTellError("the baseline gives no tensor", "return what should be compared")
        more, notes = self.cases("as given", inputs, self._layouts(inputs)[1:])
        return [first, *more], notes

    def variant(
        self, name: str, ways: Sequence[Sequence[Any]], *, alone: bool
    ) -> tuple[list[Case], list[str]]:
        """Cases of the first of several inputs that the baseline takes, or why there are none.

        A candidate that refuses them is told, not failed: it gives no wrong result.

        Args:
            ways: Inputs to try.
            alone: Whether to try contiguous gradients alone.
        """
        inputs = next((way for way in ways if not self._refusal(self.baseline.fn, way)), None)
        if inputs is None:
            return [], [f"{name} was not tried: the baseline does not take it"]
        refusal = self._refusal(self.new, inputs)
        if refusal:
            return [], [f"{name}: the candidate refuses it: {refusal}"]
        return self.cases(name, inputs, [CONTIGUOUS] if alone else self._layouts(inputs))

    def cases(
        self, name: str, inputs: Sequence[Any], layouts: Sequence[str]
    ) -> tuple[list[Case], list[str]]:
        """One case a layout of grad_output, all in this process; notes on those refused."""
        found, notes = [], []
        for layout in layouts:
            weights = self._weights(layout) if self.grads else None
            try:
                new = run(self.new, inputs, weights, self.seed)
            except USERS_ERRORS as error:
                notes.append(f"grad_output {layout}: the candidate refuses it: {_refusal(error)}")
                continue
            try:
                found.append(self._against(new, name, inputs, layout, weights))
            except USERS_ERRORS as error:
                _refusal(error)
                notes.append(f"grad_output {layout} was not tried: the baseline does not take it")
        return found, notes

    def _layouts(self, inputs: Sequence[Any]) -> list[str]:
        if not (self.grads and self.layouts):
            return [CONTIGUOUS]
        return list(grad_layouts(max(self._shapes(inputs), key=len, default=())))

    def _refusal(self, fn: Callable[..., object], inputs: Sequence[Any]) -> str:
        """First line of the error that a function answers with; empty where it runs."""
        try:
            run(fn, inputs, None, self.seed)
        except USERS_ERRORS as error:
            return _refusal(error)
        return ""

    def case(self, name: str, inputs: Sequence[Any], layout: str) -> Case:
        """Run candidate, baseline and reference, and compare every tensor."""
        weights = self._weights(layout) if self.grads else None
        new = run(self.new, inputs, weights, self.seed)
        return self._against(new, name, inputs, layout, weights)

    def _against(
        self,
        new: Outcome,
        name: str,
        inputs: Sequence[Any],
        layout: str,
        weights: Weights | None,
    ) -> Case:
        if not new.outputs:
            raise CannotTellError("no output holds a tensor", "return what should be compared")
        exact = self.baseline.exact(inputs, weights, self.seed)
        old = run(self.baseline.fn, inputs, weights, self.seed)
        alike = self.baseline.at_precision(self.rule.precision, inputs, weights, self.seed)
        found = self._compare(new, old, exact, alike) if exact.outcome.outputs else ()
        return Case(name, layout, exact.where, tuple(found))

    def _compare(
        self, new: Outcome, old: Outcome, exact: Reference, alike: Outcome | None
    ) -> Iterator[Agreement]:
        for kind in ("outputs", "grads"):
            truth, before = getattr(exact.outcome, kind), getattr(old, kind)
            same = getattr(alike, kind) if alike else {}
            ours = getattr(new, kind)
            for key, tensor in ours.items():
                if key in truth and key in before:
                    yield agree(key, tensor, before[key], truth[key], same.get(key), self.rule)
                else:
                    yield only_in_candidate(key, is_output=kind == "outputs")
            for key in truth.keys() - ours.keys():
                yield missing(key)

    def _shapes(self, inputs: Sequence[Any]) -> list[tuple[int, ...]]:
        with torch().no_grad():
            torch().manual_seed(self.seed)
            return [tuple(each.shape) for each in tensors_in(self.baseline.fn(*inputs))]

    def _weights(self, layout: str) -> Weights:
        """The same values for every run, made once a shape on the CPU."""
        made: dict[tuple[int, tuple[int, ...], bool], Tensor] = {}

        def weight(at: int, output: Tensor) -> Tensor | None:
            if not takes_gradient(output):
                return None
            key = at, tuple(output.shape), output.is_complex()
            if key not in made:
                generator = torch().Generator().manual_seed(self.seed + at)
                wide = torch().complex128 if output.is_complex() else torch().float64
                made[key] = torch().randn(key[1], generator=generator, dtype=wide)
            values = made[key].to(dtype=output.dtype, device=output.device)
            fits = layout in grad_layouts(output.shape)
            return laid_out(values, layout if fits else CONTIGUOUS)

        return weight


def _refusal(error: Exception) -> str:
    """First line of what an exception says; raises it again where the device broke."""
    if BROKEN in str(error):
        raise error
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def _with_parameters_of(new: Callable[..., object], ref: Callable[..., object]) -> Any:  # noqa: ANN401
    """A copy of a module with the parameters of the baseline, where they have the same names."""
    module = torch().nn.Module
    if not isinstance(new, module) or not isinstance(ref, module) or new is ref:
        return new
    theirs, ours = ref.state_dict(), new.state_dict()
    if theirs.keys() != ours.keys():
        return new
    import copy  # noqa: PLC0415 -- modules alone need it

    own = copy.deepcopy(new)
    own.load_state_dict(theirs)
    return own
