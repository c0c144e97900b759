"""Random programs for property tests: on paper (``programs``), and as they run (``loops``)."""

from dataclasses import dataclass

from hypothesis import strategies as st

from boundby.replay.program import ALL_WORK, NOTHING, Program
from boundby.timeline.hostline import LineKind
from worlds import ALL_REDUCE, ELEMENTWISE, GEMM, Script, World


@st.composite
def programs(draw, *, limits: tuple[int, ...] = (1, 3, 8, 1024)) -> Program:
    """Up to 40 points: several streams, waits of all sorts, dependencies, a short queue."""
    script = Script()
    streams = draw(st.integers(1, 3))
    kinds = st.sampled_from(["launch"] * 5 + ["wait", "step"])
    for kind in draw(st.lists(kinds, min_size=1, max_size=40)):
        host = {draw(st.sampled_from(LineKind)): draw(st.integers(0, 30))}
        known = len(script.items)
        if kind == "launch":
            depends = known and draw(st.integers(0, 9)) == 0
            script.launch(
                host,
                draw(st.integers(0, 60)),
                stream=draw(st.integers(0, streams - 1)),
                latency=draw(st.integers(0, 12)),
                lead=draw(st.integers(0, 5)),
                after=draw(st.integers(0, known - 1)) if depends else NOTHING,
            )
        elif kind == "wait":
            target = draw(st.sampled_from([ALL_WORK, NOTHING, *range(max(known - 4, 0), known)]))
            script.wait(host, target, wake=draw(st.integers(-5, 15)))
        else:
            script.end_step(host)
    return script.program(queue_limit=draw(st.sampled_from(limits)))


@dataclass(frozen=True)
class Loop:
    """A training loop: the same verbs in every step, ``(verb, microseconds ...)``."""

    body: tuple[tuple, ...]
    steps: int

    def run(self, **hardware: float) -> World:
        """The loop as it would run; the recording is not finished yet."""
        world = World(**hardware)
        for _ in world.steps(self.steps):
            for verb, *args in self.body:
                _act(world, verb, args)
        return world


def _act(world: World, verb: str, args: list) -> None:
    if verb == "op":
        host, kernel, work = args
        world.op(host, kernel=kernel, work=work)
    elif verb == "upload":
        world.upload(staging=args[0], copy=args[1])
    else:
        getattr(world, verb)(*args)


OPS = st.tuples(
    st.just("op"),
    st.integers(12, 60),
    st.integers(1, 200),
    st.sampled_from([ELEMENTWISE, GEMM, ALL_REDUCE]),
)
WAITS = st.one_of(st.just(("item",)), st.just(("sync",)))
OTHERS = st.one_of(
    st.tuples(st.just("python"), st.integers(1, 300)),
    st.tuples(st.just("load"), st.integers(1, 600)),
    st.tuples(st.just("malloc"), st.integers(1, 200)),
    st.tuples(st.just("upload"), st.integers(40, 200), st.integers(40, 400)),
)


VERBS = st.one_of(OPS, OPS, OPS, WAITS, OTHERS)


def loops(*, verbs: st.SearchStrategy[tuple] = VERBS) -> st.SearchStrategy[Loop]:
    """Loops of 2 to 4 steps that launch six kernels a step at least."""
    body = st.tuples(st.lists(OPS, min_size=6, max_size=6), st.lists(verbs, max_size=8))
    mixed = body.flatmap(lambda parts: st.permutations([*parts[0], *parts[1]]).map(tuple))
    return st.builds(Loop, mixed, st.integers(2, 4))
