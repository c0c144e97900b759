"""Workloads that end badly, before torch is even imported."""

import os
import signal
import time


class Hanging:
    def __init__(self):
        print("hanging", flush=True)
        time.sleep(600)


class Killed:
    def __init__(self):
        os.kill(os.getpid(), signal.SIGKILL)


class WithoutLoss:
    batch_size = 4

    def model(self):
        """Never called."""

    def batch(self, size):
        """Never called."""
