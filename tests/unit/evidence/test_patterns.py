import pytest

from boundby.evidence.patterns import pattern_facts
from builders import Trace
from worlds import timeline_of


def facts_of(timeline):
    return {fact.id: fact for fact in pattern_facts(timeline)}


def chain(kernels, *, name="vectorized_elementwise_kernel<4, Mul>", dur=4.0, others=0):
    """One step: operators of 8 us with one kernel each, then matrix products of 50 us."""
    trace = Trace()
    trace.step(1, 0, 10 * kernels + 100 * others + 100)
    for index in range(kernels):
        op = trace.op("aten::mul", 10 * index, 8)
        trace.submit(name, 10 * index + 1, start=10 * index + 5, dur=dur, op=op)
    for index in range(others):
        at = 10 * kernels + 100 * index
        op = trace.op("aten::mm", at, 20)
        trace.submit("gemm", at + 1, start=at + 10, dur=50, op=op)
    return trace


# launch-calls


def test_launch_calls_are_counted_and_summed():
    fact = facts_of(timeline_of(chain(20)))["launch-calls"]

    assert (fact.value, fact.unit, fact.trust) == (pytest.approx(0.1), "ms", "measured")
    assert fact.text.startswith("20 launch calls a step, 5 us on average")


def test_a_copy_that_holds_the_host_is_no_launch_call():
    trace = chain(20)
    call = trace.launch(210, 80, name="cudaMemcpyAsync")
    trace.copy(220, 65, launch=call)

    assert facts_of(timeline_of(trace))["launch-calls"].value == pytest.approx(0.1)


def test_without_device_work_nothing_is_said_of_it():
    trace = Trace()
    trace.step(1, 0, 100)
    trace.op("aten::mul", 10, 50)

    assert facts_of(timeline_of(trace)) == {}


# fusion-candidates


def test_many_kernels_can_be_merged():
    fact = facts_of(timeline_of(chain(25, others=2)))["fusion-candidates"]

    assert fact.value == pytest.approx(0.5)
    assert fact.text == (
        "25 kernels a step that could be merged (elementwise work, reductions, norms), 4 us each, "
        "take 50% of device time, 24 of them right after another one; most of it from aten::mul"
    )


@pytest.mark.parametrize(
    "trace",
    [
        pytest.param(chain(9), id="few"),
        pytest.param(chain(25, name="triton_poi_fused_mul_0"), id="fused by a compiler"),
        pytest.param(chain(25, name="multi_tensor_apply_kernel"), id="over a list of tensors"),
        pytest.param(chain(0, others=20), id="none"),
        pytest.param(chain(10, dur=0.1, others=200), id="too little of the device time"),
    ],
)
def test_nothing_to_fuse(trace):
    assert "fusion-candidates" not in facts_of(timeline_of(trace))


# composite-op


def attention(inner=8, kernels=2):
    trace = Trace()
    trace.step(1, 0, 500)
    trace.op("aten::my_attention", 10, 200)
    for index in range(inner):
        op = trace.op("aten::piece", 12 + 24 * index, 23)
        if index < kernels:
            trace.submit("piece", 14 + 24 * index, start=20 + 24 * index, dur=10, op=op)
    return trace


def test_an_operator_made_of_many_others_is_named():
    fact = facts_of(timeline_of(attention()))["composite-op"]

    assert fact.value == pytest.approx(0.2)
    assert fact.text == (
        "aten::my_attention takes 0.2 ms of recorded host time a step, 8% of it in itself and the "
        "rest in the 8 operators inside each call"
    )


def test_without_launches_operators_inside_are_enough():
    assert "composite-op" in facts_of(timeline_of(attention(kernels=0)))


@pytest.mark.parametrize(
    "trace",
    [
        pytest.param(attention(inner=5), id="thin wrapper"),
        pytest.param(attention(kernels=1), id="one kernel, nothing to merge"),
        pytest.param(chain(20), id="flat"),
    ],
)
def test_no_composite(trace):
    assert "composite-op" not in facts_of(timeline_of(trace))


# phase-optimizer


def test_the_optimizers_share_of_time_and_launches():
    trace = chain(10)
    trace.range("Optimizer.step#SGD.step", 110, 50)
    for index in range(10):
        trace.submit("add_", 110 + 5 * index, start=120 + 5 * index, dur=1)

    fact = facts_of(timeline_of(trace))["phase-optimizer"]

    assert fact.value == pytest.approx(0.25)
    assert fact.text == (
        "the optimizer takes 25% of the recorded step on the host and makes 50% of the launches "
        "(10 of 20)"
    )


def test_a_cheap_optimizer_is_not_worth_a_sentence():
    trace = chain(40)
    trace.range("Optimizer.step#SGD.step", 450, 6)
    trace.submit("add_", 451, start=458, dur=1)

    assert "phase-optimizer" not in facts_of(timeline_of(trace))


# idle-period


def loading(at):
    """Two steps of 1,000 us with 500 us of device work and a batch that takes 400 us to load."""
    trace = Trace()
    for begin in (0, 1000):
        trace.step(begin // 1000 + 1, begin, 1000)
        trace.range("enumerate(DataLoader)#_Single.__next__", begin + at, 400)
        trace.submit("work", begin + 420, start=begin + 450, dur=500)
    return trace


def test_idle_time_under_loading():
    fact = facts_of(timeline_of(loading(0)))["idle-period"]

    assert fact.value == pytest.approx(0.8)
    assert fact.text == (
        "80% of the device's idle time (0.5 ms a step) falls inside loading: one batch takes 0.4 ms"
    )


def test_a_device_that_never_idles_waits_for_no_batch():
    trace = loading(0)
    trace.submit("work", 2, start=8, dur=1990, stream=8)

    assert "idle-period" not in facts_of(timeline_of(trace))


def test_idle_time_that_loading_is_not_to_blame_for():
    trace = loading(500)
    trace.range("enumerate(DataLoader)#_Single.__next__", 960, 5)

    assert "idle-period" not in facts_of(timeline_of(trace))


def test_loading_while_the_device_works_costs_nothing():
    assert "idle-period" not in facts_of(timeline_of(loading(500)))
