"""Commands that start at once: each is a fork of a process that has imported what it needs.

A command is ``boundby`` or ``pytest``. They are processes of their own, with an exit code,
streams, a working folder and an environment, and may end as they like. What only a cold start
shows is asked of cold ones: which modules a command imports, and what the interpreter makes of
variables and streams as it starts.

Run as a script, this is the process that forks.
"""

import atexit
import importlib
import json
import os
import pkgutil
import socket
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

MESSAGE_BYTES = 1 << 20
BOUNDBY, PYTEST = "boundby.cli:main", "pytest:main"
"""What a command calls with its arguments; it returns the exit code."""

TORCH = ("torch", "torch._dynamo", "torch.utils.data")
"""What programs of the user import; the second when torch first needs it."""

SKIPPED = (
    "boundby.__main__",
    "boundby.bench.loader_probe",
    "boundby.capture.site",
    "boundby.pytest_plugin",
)
"""Modules that import torch or pytest, or that act as they are imported."""

LAZY = ("jinja2", "rich.console")
"""What boundby imports inside functions."""


class Starter:
    """A process that starts commands.

    Args:
        entry: BOUNDBY or PYTEST.
        modules: What is imported before all of boundby that imports neither torch nor pytest.
        variables: Its environment as it starts.
    """

    def __init__(self, entry, modules, variables):
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        command = [sys.executable, __file__, str(theirs.fileno()), entry, *modules]
        self.process = subprocess.Popen(command, pass_fds=[theirs.fileno()], env=variables)
        theirs.close()

    def run(self, arguments, env, cwd=None, input=""):  # noqa: A002 -- as subprocess names it
        """Run a command with arguments, as ``subprocess.run`` would run it."""
        asked = {"arguments": arguments, "env": env, "cwd": str(cwd or Path.cwd())}
        with ExitStack() as files:
            given, out, err = (files.enter_context(tempfile.TemporaryFile()) for _ in range(3))
            given.write(input.encode())
            given.seek(0)
            streams = [each.fileno() for each in (given, out, err)]
            socket.send_fds(self.control, [json.dumps(asked).encode()], streams)
            code = int(self.control.recv(MESSAGE_BYTES))
            return subprocess.CompletedProcess(arguments, code, text_of(out), text_of(err))

    def end(self):
        """Close it, and wait until it is gone."""
        self.control.close()
        self.process.wait()


def text_of(file):
    """All that was written, with the line ends of text."""
    file.seek(0)
    return file.read().decode().replace("\r\n", "\n")


# --- In the process that forks


def prepare(entry, modules):
    """Import what was asked for and all that the entry needs; the function to call."""
    module, _, function = entry.partition(":")
    for name in (*modules, *own_modules(), module):
        importlib.import_module(name)
    return getattr(sys.modules[module], function)


def own_modules():
    """Names of the modules that commands of boundby import."""
    import boundby

    yield from LAZY
    for each in pkgutil.walk_packages(boundby.__path__, "boundby."):
        if not each.name.startswith(SKIPPED):
            yield each.name


def fork_when_asked(control):
    """Fork for each request; the arguments of the command in a child, None in the end."""
    while True:
        message, streams, _, _ = socket.recv_fds(control, MESSAGE_BYTES, 3)
        if not message:
            return None
        child = os.fork()
        if not child:
            return become(json.loads(message), streams, control)
        for stream in streams:
            os.close(stream)
        _, status = os.waitpid(child, 0)
        control.send(str(os.waitstatus_to_exitcode(status)).encode())


def become(asked, streams, control):
    """Take over streams, folder and environment of a command; return its arguments."""
    control.close()
    for place, stream in enumerate(streams):
        os.dup2(stream, place)
        os.close(stream)
    os.chdir(asked["cwd"])
    os.environ.clear()
    os.environ.update(asked["env"])
    sys.path[0] = asked["cwd"]
    sys.argv[1:] = asked["arguments"]
    return asked["arguments"]


def end(code):
    """Leave as an interpreter does, without taking apart the modules that the parent imported."""
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(int(code))


if __name__ == "__main__":
    main = prepare(sys.argv[2], sys.argv[3:])
    given = fork_when_asked(socket.socket(fileno=int(sys.argv[1])))
    if given is not None:
        end(main(given))
