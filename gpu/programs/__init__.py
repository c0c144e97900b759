"""The programs that are measured, one table a kind."""

from programs.program import Program

from programs import compiled, data, device_bound, host_bound, inference, library, training

TABLE: tuple[Program, ...] = (
    *inference.TABLE,
    *library.TABLE,
    *training.TABLE,
    *compiled.TABLE,
    *host_bound.TABLE,
    *data.TABLE,
    *device_bound.TABLE,
)


def named(name: str) -> Program:
    """The program of this name."""
    return next(program for program in TABLE if program.name == name)
