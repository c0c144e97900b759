"""``boundby memory``: a snapshot, an out-of-memory message or a model in; who holds what out."""

from __future__ import annotations

import click

from boundby.cli.help import examples
from boundby.cli.numbers import Finite
from boundby.cli.output import Output, output_options
from boundby.errors import UsageError

GIB = 1 << 30
MOST_GIB = 1 << 20
"""A PiB: no device and no snapshot has as much."""
AMOUNT = Finite(min=0, min_open=True, max=MOST_GIB)
CLASSES = (
    "really-full", "fragmentation", "leak", "transient-peak", "reserved-elsewhere",
    "request-too-large", "healthy", "undecided",
)  # fmt: skip
TIME_CLASSES = (
    "launch-bound", "python-bound", "sync-bound", "memory-bound", "compute-bound",
    "communication-bound",
)  # fmt: skip


@click.command(
    epilog=examples(
        "boundby memory memory.pickle",
        "boundby memory train.log",
        "boundby memory memory.pickle --trace trace.json.gz",
        "boundby memory --model train:build --batch 64",
        "boundby memory --compare before.pickle after.pickle",
    )
)
@click.argument("paths", metavar="[SNAPSHOT|LOG|-]...", nargs=-1)
@click.option("--device", type=click.IntRange(min=0), metavar="N", help="Which device of the file.")
@click.option(
    "--capacity",
    type=AMOUNT,
    metavar="GIB",
    help="Memory of the device, where the file cannot tell.",
)
@click.option(
    "--names",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Pointers that boundby run --snapshot writes (those beside SNAPSHOT).",
)
@click.option("--map", "wants_map", is_flag=True, help="Draw the segments.")
@click.option(
    "--compare", "compares", is_flag=True, help="Compare two snapshots by line at their peaks."
)
@click.option("--perfetto", metavar="FILE", help="Write the curves as counters for Perfetto.")
@click.option(
    "--max-gib",
    type=AMOUNT,
    metavar="GIB",
    help="Largest unpacked snapshot to open (2).",
)
@click.option(
    "--expect",
    metavar="CLASS",
    type=click.Choice(CLASSES),
    help="Exit with 1 where the verdict is another class.",
)
@click.option(
    "--model", metavar="MODULE:FACTORY", help="Predict the peak of a step, without a device."
)
@click.option("--batch", type=click.IntRange(min=1), metavar="B", help="Batch for --model (1).")
@click.option(
    "--time-class",
    metavar="CLASS",
    type=click.Choice(TIME_CLASSES),
    help="What bounds the step in time, for advice that depends on it.",
)
@click.option("--trace", metavar="FILE", help="Recording that says what bounds the step in time.")
@output_options
def command(
    *,
    output: Output,
    paths: tuple[str, ...],
    device: int | None,
    capacity: float | None,
    names: str | None,
    wants_map: bool,
    compares: bool,
    perfetto: str | None,
    max_gib: float | None,
    expect: str | None,
    model: str | None,
    batch: int | None,
    time_class: str | None,
    trace: str | None,
) -> int:
    """Say what holds the memory of a device and what to do.

    SNAPSHOT is what torch.cuda.memory._dump_snapshot writes (.pickle, .pickle.gz); it is opened
    without running any code in it. LOG is a text with an out-of-memory message, - is stdin.

    --model calls FACTORY with the batch, which returns (model, inputs), (model, inputs, loss) or a
    dict of these, and predicts the peak of one training step with tensors that hold no data.
    """
    from boundby.cli import memory_answers as run
    from boundby.cli.answer import one_picture

    run.refuse_idle(
        "--model" if model else "--compare" if compares else None,
        {
            "SNAPSHOT": paths, "--device": device is not None, "--capacity": capacity,
            "--names": names, "--map": wants_map, "--compare": compares, "--perfetto": perfetto,
            "--max-gib": max_gib, "--expect": expect, "--batch": batch,
            "--time-class": time_class, "--trace": trace,
        },
    )  # fmt: skip
    run.keep_files_apart(output, perfetto, (*paths, names, trace))
    room = None if capacity is None else int(capacity * GIB)
    pace, score_sizes = run.told_by(time_class, trace)
    if model is not None:
        if output.form == "perfetto":
            raise UsageError("--model has no timeline to write", "use .json or .html")
        return run.predict_model(model, batch or 1, room, pace, output)
    if compares and output.form == "perfetto":
        raise UsageError("--compare has no timeline to write", "use .json or .html")
    limit = None if max_gib is None else int(max_gib * GIB)
    if compares:
        return run.compare_two(paths, device, limit, output)
    if not paths:
        raise UsageError("no snapshot, log or --model given", "boundby memory --help")
    one_picture(output, len(paths))
    if perfetto is not None:
        one_picture(run.drawing(output, perfetto), len(paths))
    request = run.Request(device, room, names, limit, wants_map, perfetto, pace, score_sizes)
    done = [run.answer(path, request, output, one_of_many=len(paths) > 1) for path in paths]
    run.check_expected(done, expect)
    return 0
