"""A machine whose time is made of calls: nothing is waited for, nothing varies unless asked to."""

from dataclasses import dataclass, field


@dataclass
class FakeMachine:
    has_device: bool = True
    time: float = 0.0
    busy_until: float = 0.0
    flushes: int = 0
    log: list = field(default_factory=list)

    def now_ns(self):
        return int(self.time)

    def synchronize(self):
        self.time = max(self.time, self.busy_until)

    def mark(self):
        return max(self.time, self.busy_until)

    def between_ns(self, first, second):
        return float(second - first)

    def hold(self, ns):
        self.busy_until = max(self.time, self.busy_until) + ns

    def empty_cache(self):
        self.flushes += 1
        self.work(1_000, 20_000)

    def work(self, submit, device):
        """Submit for so long, then keep the device busy for so long."""
        self.time += submit
        self.busy_until = max(self.time, self.busy_until) + device

    def call(self, submit=5_000, device=50_000, times=None):
        """A function of that cost; ``times`` gives the device time of each call in turn."""
        queue = iter(times) if times is not None else None

        def called():
            self.work(submit, next(queue) if queue else device)

        return called
