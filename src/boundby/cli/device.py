"""``boundby device``: what the present device attains, kept for later reports."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from boundby.cli.help import examples
from boundby.cli.output import Output, output_options

if TYPE_CHECKING:
    from boundby.roofline.measured import MeasuredCeilings


@click.command(epilog=examples("boundby device", "boundby device --json"))
@click.option("--no-store", is_flag=True, help="Do not keep the ceilings for later reports.")
@output_options
def command(*, output: Output, no_store: bool) -> None:
    """Measure what this device and its host attain.

    Bandwidth of a copy, rates of large matrix products, copies from and to the host, and what the
    host pays for a launch, an operator and a wait. Takes some ten seconds on an idle device.

    Later reports show the ceilings of this kind of device as attainable beside the data sheet.
    They are kept in the cache folder (XDG_CACHE_HOME) without serial number or host name.
    """
    from boundby.bench.ceilings import measure_device, require_device
    from boundby.report import device as report
    from boundby.roofline.devices import GIB, match_device

    require_device()
    output.note("measuring, some ten seconds ...")
    reach = measure_device()
    key = reach.measured.key
    datasheet = match_device(key.name, key.memory_gib * GIB, key.multiprocessors).ceilings
    if output.form == "json":
        output.write(report.encode(reach, datasheet))
    elif output.form == "markdown":
        output.write(report.markdown(reach, datasheet))
    else:
        from boundby.report.terminal import Look, look_at

        look = look_at(sys.stdout, os.environ) if output.path is None else Look()
        output.write(report.render(reach, datasheet, look))
    if not no_store:
        _keep(reach.measured, output)


def _keep(measured: MeasuredCeilings, output: Output) -> None:
    """Store the ceilings; a folder that cannot be written is no failure of the measurement."""
    from boundby.report.sanitize import private
    from boundby.roofline.measured import cache_folder, store

    folder = cache_folder()
    try:
        path = store(measured, folder) if folder else None
    except OSError as error:
        output.note(f"not kept for later reports: {error.strerror}")
        return
    output.note(
        f"kept for later reports: {private(str(path))}" if path else "no home folder: not kept"
    )
