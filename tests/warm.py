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
"""What is called with the arguments of a command; it returns the exit code."""

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
        modules: What is imported before all of boundby that imports neither torch nor pytest.
        variables: Its environment as it starts.
    """

    def __init__(self, modules, variables):
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        command = [sys.executable, __file__, str(theirs.fileno()), *modules]
        self.process = subprocess.Popen(command, pass_fds=[theirs.fileno()], env=variables)
        theirs.close()

    def run(self, arguments, env, cwd=None, input="", main=BOUNDBY):  # noqa: A002 -- a known name
        """Run a command with arguments, as ``subprocess.run`` would run it."""
        cwd = str(cwd or Path.cwd())
        asked = {"main": main, "arguments": arguments, "env": env, "cwd": cwd}
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


def prepare(modules):
    """Import what was asked for and what commands of boundby import."""
    import boundby

    walked = pkgutil.walk_packages(boundby.__path__, "boundby.")
    own = (each.name for each in walked if not each.name.startswith(SKIPPED))
    for name in (*modules, *LAZY, *own):
        importlib.import_module(name)


def fork_when_asked(control):
    """Fork for each request; what was asked of this child, None in the parent in the end."""
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
    """Take over streams, folder and environment of a command; return what was asked."""
    control.close()
    for place, stream in enumerate(streams):
        os.dup2(stream, place)
        os.close(stream)
    os.chdir(asked["cwd"])
    os.environ.clear()
    os.environ.update(asked["env"])
    sys.path[0] = asked["cwd"]
    sys.argv[1:] = asked["arguments"]
    return asked


def call(asked):
    """Call the function of a command; its exit code."""
    module, _, function = asked["main"].partition(":")
    return getattr(importlib.import_module(module), function)(asked["arguments"])


def end(code):
    """Leave as an interpreter does, without taking apart all the modules that were imported."""
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(int(code))


if __name__ == "__main__":
    prepare(sys.argv[2:])
    command = fork_when_asked(socket.socket(fileno=int(sys.argv[1])))
    end(0 if command is None else call(command))
