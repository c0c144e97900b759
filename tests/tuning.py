"""A lab without processes: what each configuration gives stands in a table, and time is counted."""

from dataclasses import replace

from boundby.experiment.journal import Journal
from boundby.experiment.settings import Settings
from boundby.experiment.tune import tune
from boundby.experiment.values import BATCH, Diagnosed, Facts, Gate, Memory, Trial, value_of
from boundby.statistics import Ratio, judge

GIB = 1 << 30
CUDA = Facts(
    kind="workload",
    device="cuda",
    device_name="NVIDIA H200",
    capability=9.0,
    memory_bytes=140 * GIB,
    batch=8,
    optimizer="AdamW",
    optimizer_forms=("fused", "foreach"),
    modules=("Linear", "LayerNorm", "Block"),
    offers=("attention",),
    blocks=12,
    processors=16,
)
RIGHT = Gate(passed=True, tensors=3, worst="loss", error=1e-7, limit=1e-5, loss="pass: loss")
WRONG = Gate(passed=False, tensors=3, worst="grad of head.weight", error=1.4, limit=1e-2)
TRIAL_S = 30.0
BASELINE_MS = 32.0


class FakeLab:
    """Step times by change: each change in force multiplies the time of a sample.

    Args:
        speedups: By change, or by ``change=value``; 1 where it is not named.
        outcomes: What a ``change=value`` gives instead of a number: a failure or a gate.
        batches: Time of a sample by batch size, relative; None for out of memory.
        diagnoses: What bounds the program, by the number of changes in force.
    """

    def __init__(self, speedups=None, outcomes=None, batches=None, diagnoses=None, facts=CUDA):
        self.speedups, self.outcomes = speedups or {}, outcomes or {}
        self.batches, self.diagnoses = batches or {}, diagnoses or {}
        self.its_facts = facts
        self.clock = 0.0
        self.asked, self.probed, self.closed = [], [], False
        self.with_room = {}
        """As ``batches``, under checkpointing."""

    def now(self):
        return self.clock

    def facts(self):
        return self.its_facts

    def trial(self, configuration, best):
        self.clock += TRIAL_S
        self.asked.append(configuration)
        last = "=".join(configuration[-1]) if configuration else ""
        outcome = self.outcomes.get(last)
        if isinstance(outcome, str):
            return Trial(outcome, "as planned", seconds=TRIAL_S)
        if isinstance(outcome, Gate):
            return Trial(gate=outcome, seconds=TRIAL_S)
        found = self.measured(configuration)
        if best is None:
            return found
        estimate = found.ms_per_sample / self.measured(best).ms_per_sample
        ratio = Ratio(estimate, estimate * 0.99, estimate * 1.01, pairs=8)
        return replace(found, ratio=ratio, effect=judge(ratio, 1e6), interleaved=True)

    def measured(self, configuration):
        size = int(value_of(configuration, BATCH) or self.its_facts.batch)
        each = BASELINE_MS / self.its_facts.batch * (self.sizes(configuration).get(size) or 1.0)
        for change, value in configuration:
            each /= self.speedups.get(f"{change}={value}", self.speedups.get(change, 1.0))
        memory = Memory(peak=size * GIB // 4, reserved=size * GIB // 4)
        return Trial(
            gate=RIGHT, step_ms=each * size, samples=size, memory=memory, first_s=2.0,
            seconds=TRIAL_S,
        )  # fmt: skip

    def sizes(self, configuration):
        return self.with_room if value_of(configuration, "checkpointing") else self.batches

    def keep(self):
        self.asked[-1] = ("kept", *self.asked[-1])

    def drop(self):
        pass

    def probe(self, configuration):
        self.clock += TRIAL_S / 3
        size = int(value_of(configuration, BATCH))
        self.probed.append(size)
        if self.sizes(configuration).get(size, 1.0) is None:
            return Trial("oom", "CUDA out of memory")
        return self.measured(configuration)

    def diagnose(self, configuration):
        return self.diagnoses.get(len(configuration), Diagnosed())

    def close(self):
        self.closed = True


def run(lab, folder, *, say=None, **asked):
    """Tune with a fake lab; the outcome."""
    settings = Settings(target="mine:Workload", **asked)
    journal = Journal(folder, settings)
    return tune(lab, journal, settings, say or (lambda _: None))


def trials(outcome):
    """``change=value`` and decision of each trial, in order."""
    found = [each for each in outcome.records if each["kind"] == "trial"]
    return [(f"{each['change']}={each['value']}", each["decision"]) for each in found]
