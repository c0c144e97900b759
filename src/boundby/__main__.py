"""``python -m boundby``: the same as the ``boundby`` command."""

import sys

from boundby.cli import main

if __name__ == "__main__":
    sys.exit(main())
