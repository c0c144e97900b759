"""What to look at in a kernel: one question a function, the first answers matter most.

Each takes a kernel and gives a finding or None. Ids are explained by ``boundby explain``.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from boundby.kernels.values import Finding, Kernel
from boundby.read.nsight_compute_metrics import TENSOR_PIPE
from boundby.read.nsight_compute_values import SECTOR_BYTES
from boundby.units import NS_PER_US, us

SHORT_NS = 5 * NS_PER_US
"""About what launching it costs the host; shorter kernels are paid for by their number."""
WASTED_SHARE = 0.3
"""Sectors moved for nothing that are worth a change of layout."""
POOR_BYTES = SECTOR_BYTES / 2
MOSTLY_CACHED = 0.5
IDLE_TENSOR = 0.05
"""Below this the tensor cores do not do the work of a matrix product."""
LOW_OCCUPANCY = 0.5
LEAST_TAIL = 0.2
FEW_WAVES = 5.0
"""With more waves the last one is a fifth of the time at most."""
LEADING_STALL = 0.3
_MATRIX = re.compile(
    r"gemm|gemv|nvjet|cutlass|wgmma|cudnn.*(fprop|dgrad|wgrad)|conv", re.IGNORECASE
)

_ADVICE = {
    "long_scoreboard": "for global memory: more bytes in flight (wider loads, more warps), or "
    "fewer trips (fusion, reuse in shared memory)",
    "short_scoreboard": "for shared memory or special functions (exp, tanh)",
    "barrier": "at __syncthreads for slower warps of the block",
    "wait": "for fixed latencies: more independent work per thread, or more warps",
    "not_selected": "for its turn: enough warps are ready, so issue slots are what is short",
    "math_pipe_throttle": "for a busy arithmetic pipeline",
    "mio_throttle": "for the queue of shared memory and special functions",
    "lg_throttle": "for the queue of global memory: fewer and wider accesses",
    "no_instruction": "for instructions to be fetched: the kernel is short or its code jumps",
    "drain": "for its last stores to leave",
    "imc_miss": "for constants: the kernel is too short to warm their cache",
    "gmma": "for the tensor cores, which is what a matrix product should do",
}
"""What a warp waits for, by reason."""


def few_blocks(kernel: Kernel) -> Finding | None:
    """A grid that leaves multiprocessors empty."""
    cores = kernel.metrics.multiprocessors
    if kernel.blocks is None or not cores or kernel.blocks >= cores:
        return None
    if kernel.verdict.name != "latency-bound":
        return None
    blocks = "1 block" if kernel.blocks == 1 else f"{kernel.blocks} blocks"
    return Finding(
        "few-blocks",
        f"{blocks} on {cores:.0f} multiprocessors: {1 - kernel.blocks / cores:.0%} of them idle; "
        "give it more work (a larger batch), or merge it with its neighbours (torch.compile)",
    )


def short_kernel(kernel: Kernel) -> Finding | None:
    """A kernel about as short as its launch."""
    duration = kernel.metrics.duration_ns
    if duration is None or duration >= SHORT_NS or kernel.verdict.name != "latency-bound":
        return None
    return Finding(
        "short-kernel",
        f"{us(duration):.1f} us, about what its launch costs: make fewer of them (torch.compile) "
        "or replay them as a CUDA graph",
    )


def uncoalesced(kernel: Kernel) -> Finding | None:
    """Sectors of which the threads use a part, in a kernel that memory or latency bounds."""
    facts = None if _computes(kernel) else _wasted_sectors(kernel)
    if facts is None:
        return None
    return Finding(
        "uncoalesced",
        f"{facts}: neighbouring threads should read neighbouring elements; make the input "
        "contiguous once, or let the producer write this layout",
    )


def narrow_accesses(kernel: Kernel) -> Finding | None:
    """The same where instructions are the limit: each narrow access is one of them."""
    facts = _wasted_sectors(kernel) if _computes(kernel) else None
    if facts is None:
        return None
    return Finding("uncoalesced", f"{facts}: wider accesses would also take fewer instructions")


def _computes(kernel: Kernel) -> bool:
    return kernel.verdict.side == "compute" and kernel.verdict.name != "latency-bound"


def _wasted_sectors(kernel: Kernel) -> str | None:
    """What is known of sectors moved for nothing; None where they are few."""
    access, l1_hit = kernel.access, kernel.metrics.l1_hit
    used = min((b for b in (access.load_bytes, access.store_bytes) if b), default=None)
    is_poor = used is not None and used <= POOR_BYTES and access.excess_share is None
    if not is_poor and (access.excess_share or 0.0) < WASTED_SHARE:
        return None
    facts = []
    if used is not None and used <= POOR_BYTES:
        facts.append(f"threads use {used:.1f} of the {SECTOR_BYTES} bytes of a sector")
    if access.excess_share is not None:
        facts.append(f"{access.excess_share:.0%} of the sectors are moved for nothing")
    if access.load_sectors is not None:
        facts.append(f"{access.load_sectors:.1f} sectors a load request")
    if l1_hit is not None and l1_hit >= MOSTLY_CACHED:
        facts.append(f"L1 serves {l1_hit:.0%} of them")
    return ", ".join(facts)


def idle_tensor_cores(kernel: Kernel) -> Finding | None:
    """A matrix product on the ordinary pipelines."""
    tensor = kernel.metrics.tensor
    if tensor is None or tensor >= IDLE_TENSOR or not _MATRIX.search(kernel.name):
        return None
    if kernel.verdict.side != "compute" or kernel.verdict.name == "latency-bound":
        return None
    return Finding(
        "idle-tensor-cores",
        "a matrix product without tensor cores: "
        'torch.set_float32_matmul_precision("high") allows TF32, autocast bf16',
    )


def register_spills(kernel: Kernel) -> Finding | None:
    """Registers that did not fit."""
    if not kernel.metrics.spills:
        return None
    return Finding(
        "register-spills",
        f"{kernel.metrics.spills:.0f} requests to memory for registers that did not fit: smaller "
        "tiles or fewer values alive at once",
    )


def dram_limit(kernel: Kernel) -> Finding | None:
    """At the bandwidth of the memory."""
    verdict, metrics = kernel.verdict, kernel.metrics
    if verdict.name != "at-limit" or verdict.unit != "DRAM":
        return None
    rate = metrics.dram_bytes_per_s
    speed = f", {rate / 1e12:.2f} TB/s" if rate else ""
    return Finding(
        "dram-limit",
        f"memory is {metrics.dram or 0:.0%} busy{speed}: only fewer bytes help (fuse it with its "
        "neighbours, 16-bit types)",
    )


def cache_limit(kernel: Kernel) -> Finding | None:
    """At the bandwidth of a cache while the memory has room."""
    verdict = kernel.verdict
    if verdict.name != "at-limit" or verdict.unit not in ("L1", "L2"):
        return None
    dram = kernel.metrics.dram
    room = f" while DRAM is {dram:.0%} busy" if dram is not None else ""
    return Finding(
        "cache-limit",
        f"{verdict.unit} is the limit{room}: fewer or wider accesses, reuse in registers or "
        "shared memory",
    )


def pipe_limit(kernel: Kernel) -> Finding | None:
    """At the rate of an arithmetic pipeline."""
    verdict, pipe = kernel.verdict, kernel.pipe
    if verdict.name != "at-limit" or verdict.side != "compute":
        return None
    if verdict.unit == TENSOR_PIPE and pipe is not None:
        return Finding(
            "pipe-limit",
            f"tensor cores {pipe.share:.0%} busy: done; only fewer operations or a smaller type "
            "(fp8) help",
        )
    named = f" ({pipe.name} {pipe.share:.0%})" if pipe else ""
    return Finding(
        "pipe-limit",
        f"compute is {kernel.metrics.compute or 0:.0%} busy{named}: only fewer operations help",
    )


def issue_slots(kernel: Kernel) -> Finding | None:
    """Bound by the number of instructions, not by arithmetic."""
    verdict, issue = kernel.verdict, kernel.metrics.issue
    if verdict.name != "compute-bound" or verdict.unit != "issue" or issue is None:
        return None
    return Finding(
        "issue-slots",
        f"an instruction in {issue:.0%} of the cycles, no pipeline as busy: fewer instructions "
        "help (vector loads, less index arithmetic), not fewer FLOPs",
    )


def low_occupancy(kernel: Kernel) -> Finding | None:
    """Too few warps to hide latency, by the resources of a block."""
    limit = kernel.metrics.occupancy_limit
    if kernel.verdict.name != "latency-bound" or limit is None or limit > LOW_OCCUPANCY:
        return None
    if not kernel.limiters or (kernel.waves or 0.0) < 1.0:
        return None
    return Finding(
        "low-occupancy",
        f"{' and '.join(kernel.limiters)} allow {limit:.0%} of the warps: smaller blocks or tiles",
    )


def partial_wave(kernel: Kernel) -> Finding | None:
    """A last wave that leaves places empty, where waves are few."""
    waves, tail = kernel.waves, kernel.tail
    if waves is None or tail is None or not 1.0 < waves < FEW_WAVES or tail < LEAST_TAIL:
        return None
    return Finding(
        "partial-wave",
        f"{waves:.2f} waves: {tail:.0%} of their places stay empty; a grid of whole waves, or "
        "persistent blocks",
    )


def stalled_warps(kernel: Kernel) -> Finding | None:
    """What warps wait for, where waiting is what costs."""
    if kernel.verdict.name not in ("latency-bound", "memory-bound") or not kernel.stalls:
        return None
    reason, share = next(iter(kernel.stalls.items()))
    if share < LEADING_STALL or reason not in _ADVICE:
        return None
    return Finding(
        "stalled-warps", f"warps wait {share:.0%} of the time ({reason}) {_ADVICE[reason]}"
    )


QUESTIONS: tuple[Callable[[Kernel], Finding | None], ...] = (
    uncoalesced,
    idle_tensor_cores,
    register_spills,
    few_blocks,
    short_kernel,
    low_occupancy,
    partial_wave,
    issue_slots,
    dram_limit,
    cache_limit,
    pipe_limit,
    narrow_accesses,
    stalled_warps,
)


def find(kernel: Kernel) -> tuple[Finding, ...]:
    """All findings of a kernel, the one to look at first in front."""
    return tuple(found for ask in QUESTIONS if (found := ask(kernel)) is not None)
