from worlds import World


def trace():
    """Two updates of the discriminator and one of the generator a step, no ProfilerStep."""
    world = World()
    for _ in range(5):
        for optimizer, kernels in (("SGD", 8), ("SGD", 8), ("Adam", 24)):
            for _ in range(6):
                world.python(4)
                world.op(30, kernel=6, name="aten::addmm")
            begin = world.now
            for _ in range(kernels):
                world.op(22, kernel=2, name="aten::add_")
            world.trace.range(f"Optimizer.step#{optimizer}.step", begin, world.now - begin)
    return world.finish()
