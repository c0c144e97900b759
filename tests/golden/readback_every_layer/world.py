from worlds import GEMM, World


def trace():
    """Twelve layers, and after each a number that Python looks at."""
    world = World()
    for _ in world.steps(3):
        for _ in range(12):
            for _ in range(4):
                world.op(26, kernel=40, work=GEMM, name="aten::mm")
            begin = world.now
            world.item()
            world.trace.frame("train.py(31): clip_if_large", begin - 2, world.now - begin + 4)
    return world.finish()
