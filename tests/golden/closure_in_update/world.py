from worlds import World

BACKWARD = "autograd::engine::evaluate_function: AddmmBackward0"


def trace():
    """Steps as Lightning makes them: ``optimizer.step(closure)`` holds forward and backward."""
    world = World()
    for _ in range(5):
        world.python(10)
        begin = world.now
        for _ in range(12):
            world.python(4)
            world.op(30, kernel=6, name="aten::addmm")
        for _ in range(24):
            world.op(30, kernel=6, name=BACKWARD)
        for _ in range(3):
            world.op(22, kernel=2, name="aten::add_")
        world.trace.range("Optimizer.step#SGD.step", begin, world.now - begin)
    return world.finish()
