from worlds import GEMM, World


def trace():
    """Pinned copies on their own stream while matrix products run on another."""
    world = World()
    for _ in world.steps(3):
        call = world.trace.launch(world.now, 12, name="cudaMemcpyAsync")
        world.python(12)
        world.trace.copy(
            world.now + 5,
            900,
            launch=call,
            size=50_000_000,
            direction="HtoD (Pinned -> Device)",
            stream=20,
        )
        for _ in range(10):
            world.op(20, kernel=100, work=GEMM, name="aten::mm")
        world.sync()
    return world.finish()
