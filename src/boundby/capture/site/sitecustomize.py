"""Read by every interpreter that starts with this folder on its path: observe it if it asks so.

A ``sitecustomize`` that was there before is run as if this one were not.
"""  # noqa: INP001 -- a folder for the path, no package

import importlib
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 -- start-up stays light


def chain() -> None:
    """Run the next sitecustomize on the path, if there is one."""
    this = sys.modules.pop("sitecustomize")
    importlib.invalidate_caches()
    try:
        importlib.import_module("sitecustomize")
    except ModuleNotFoundError as error:
        if error.name != "sitecustomize":
            raise
    finally:
        sys.modules.setdefault("sitecustomize", this)  # the import system looks for it


def observe() -> None:
    """Hand over to boundby, where this interpreter has it."""
    if os.environ.get("BOUNDBY", "0") in ("", "0"):
        return
    try:
        from boundby.capture.attach import attach  # noqa: PLC0415
    except ImportError:
        return  # another interpreter: it has no boundby, and runs as it always does
    attach()


sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != HERE]  # noqa: PTH100
observe()
chain()
