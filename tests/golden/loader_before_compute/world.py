from worlds import ELEMENTWISE, GEMM, World


def trace():
    """A loader of 4 ms before a step that otherwise is submitted faster than it is executed."""
    world = World()
    for _ in world.steps(4):
        world.load(4000)
        for _ in range(30):
            world.op(24, kernel=60, work=GEMM, name="aten::mm")
            world.op(16, kernel=10, work=ELEMENTWISE, name="aten::relu")
    return world.finish()
