"""The command line on a device that is measured at once: a process for the tests."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

import boundby.bench.ceilings
from boundby.cli import main
from roofs import REACH

boundby.bench.ceilings.require_device = lambda: None
boundby.bench.ceilings.measure_device = lambda: REACH

if __name__ == "__main__":
    sys.exit(main())
