"""Leaks of each kind and peaks of each kind, told apart: one small world each."""

MIB = 1 << 20
TORCH = "/opt/venv/lib/python3.12/site-packages/torch"


def found(diagnosis):
    return diagnosis.verdict.name, diagnosis.verdict.cause


def first(diagnosis):
    return diagnosis.prescriptions[0]


def in_torch(path, line, function):
    return {"filename": f"{TORCH}/{path}", "line": line, "name": function}


def a_step(world, stack, then=lambda: None):
    """Forward, backward and update; what ``then`` makes in between may live on."""
    out = world.alloc(4, stack["forward"](10))
    then()
    gradient = world.alloc(4, stack["backward"])
    world.free(out)
    state = world.alloc(1, stack["optimizer"](20))
    world.free(gradient, state)


def test_what_a_hook_stores_is_the_hooks(world, judged, stack):
    module = in_torch("nn/modules/module.py", 1790, "_call_impl")
    hook = [stack["frame"](33, "save_output_hook"), module, stack["frame"](10)]
    for _ in range(10):
        a_step(world, stack, lambda: world.alloc(3, hook))
    diagnosis = judged(world)

    assert found(diagnosis) == ("leak", "hook")
    assert first(diagnosis).id == "remove-hook"
    assert first(diagnosis).where[0].line == 33


def test_a_failed_step_whose_locals_live_on_is_the_exceptions(world, judged, stack):
    """Requests fail again and again, and each failed step leaves what it held."""
    world.alloc(100, stack["built"](1))
    for number in range(10):
        a_step(world, stack, lambda: world.alloc(6, stack["forward"](15)))
        if number in (5, 8):
            world.refuse(50)
    diagnosis = judged(world)

    assert found(diagnosis) == ("leak", "exception")
    assert first(diagnosis).id == "clear-exception"


def test_memory_that_falls_back_rounds_later_waits_for_the_collector(world, judged, stack):
    kept = []
    for number in range(16):
        a_step(world, stack, lambda: kept.append(world.alloc(8, stack["user"](25))))
        if number in (5, 11):  # the collector runs
            world.free(*kept)
            kept.clear()
    diagnosis = judged(world)

    assert found(diagnosis) == ("leak", "reference-cycles")
    assert diagnosis.verdict.strength == "weak"
    assert first(diagnosis).id == "break-cycles"


def test_a_kept_graph_is_detached_before_it_is_read(world, judged, stack):
    """detach() comes before item(), which waits for the device each time."""
    for _ in range(10):
        kept = [world.alloc(4, stack["forward"](10 + layer)) for layer in range(4)]
        world.free(world.alloc(4, stack["backward"]), world.alloc(1, stack["optimizer"](20)))
    how = first(judged(world)).how

    assert kept
    assert found(judged(world)) == ("leak", "loss-graph")
    assert how.index("detach()") < how.index("item()")


def test_logits_that_are_cast_up_for_the_loss(world, judged, stack):
    loss = [in_torch("nn/functional.py", 3494, "cross_entropy"), stack["frame"](40)]
    world.alloc(64, stack["built"](1))
    for _ in range(6):
        out = world.alloc(20, stack["forward"](10))
        logits = [world.alloc(300, loss), world.alloc(300, loss)]
        gradient = world.alloc(4, stack["backward"])
        world.free(*logits, out)
        state = world.alloc(1, stack["optimizer"](20))
        world.free(gradient, state)
    diagnosis = judged(world)

    assert found(diagnosis) == ("transient-peak", "logits")
    assert first(diagnosis).id == "chunked-loss"
    assert first(diagnosis).where[0].line == 40


def test_activations_are_at_their_most_when_backward_begins(world, judged, stack):
    world.alloc(64, stack["built"](1))
    for _ in range(6):
        outs = [world.alloc(200, stack["forward"](10 + layer)) for layer in range(6)]
        gradient = world.alloc(4, stack["backward"])
        world.free(*outs)
        state = world.alloc(1, stack["optimizer"](20))
        world.free(gradient, state)
    diagnosis = judged(world)

    assert found(diagnosis) == ("transient-peak", "activations")
    assert diagnosis.case.peak.phase.name == "BACKWARD"
    assert {"bf16", "micro-batches", "checkpointing"} <= {r.id for r in diagnosis.prescriptions}
