"""What to do about memory: each remedy with what it saves, its price in time, and its end."""

from __future__ import annotations

from dataclasses import dataclass, replace

from boundby.memory.facts import Place


@dataclass(frozen=True)
class Prices:
    """What a remedy costs: one plain phrase each, empty where nothing."""

    time: str = ""
    numerics: str = ""
    shapes: str = ""
    risk: str = ""


@dataclass(frozen=True)
class Remedy:
    """One change.

    Attributes:
        why: The evidence that calls for it.
        how: Code in the user's terms.
        saves: Bytes it is expected to free at the peak; None where unknown.
        pays: Whether it pays in time, by what bounds the step; None where that is not known.
        trade: Why, one phrase; empty where time does not matter.
        stop_when: When more of it no longer pays.
        where: Lines to change.
    """

    id: str
    title: str
    how: str
    stop_when: str
    costs: Prices
    why: str = ""
    saves: int | None = None
    where: tuple[Place, ...] = ()
    pays: bool | None = None
    trade: str = ""

    def because(self, why: str, saves: int | None = None, where: tuple[Place, ...] = ()) -> Remedy:
        """The same remedy for a case."""
        return replace(self, why=why, saves=saves, where=where)


NO_GRAD = Remedy(
    "no-grad",
    "Run what needs no gradient without recording a graph.",
    "model.eval()\nwith torch.no_grad():  # or @torch.inference_mode()\n    out = model(x)",
    "the activations of a pass are gone when the pass is",
    Prices(time="a little faster", risk="only where no backward pass follows"),
)
DETACH = Remedy(
    "detach-loss",
    "Keep the number, not the graph behind it.",
    "total += loss.detach()   # stays on the device, no wait\n"
    "# total += loss.item()   # right too, but waits for the device each step",
    "memory at the start of a step stays level over ten steps",
    Prices(time="none with detach(); item() waits for the device each time"),
)
DROP = Remedy(
    "drop-references",
    "Let go of the tensors that a container keeps.",
    "outs.append(out.detach().cpu())   # or what is needed: out.mean().detach()\n"
    "outs.clear()                      # once a round is done",
    "memory at the start of a step stays level over ten steps",
    Prices(time="a copy to the host waits; a reduction on the device does not"),
)
HOOK = Remedy(
    "remove-hook",
    "A hook keeps what it sees: detach it, or remove the hook.",
    "handle = module.register_forward_hook(hook)\n"
    "# in the hook: store.append(out.detach().cpu())\n"
    "handle.remove()",
    "memory at the start of a step stays level over ten steps",
    Prices(time="none without the hook; a copy to the host waits"),
)
EXCEPTION = Remedy(
    "clear-exception",
    "Leave the except block before retrying: its traceback keeps every local of the failed step.",
    "failed = False\ntry:\n    step(batch)\n"
    "except torch.cuda.OutOfMemoryError:\n    failed = True\n"
    "if failed:  # outside of the except block\n    torch.cuda.empty_cache()",
    "memory after a failed step is what it was before it",
    Prices(time="empty_cache waits for the device, once a failure"),
)
CYCLES = Remedy(
    "break-cycles",
    "Break the reference cycle that waits for the garbage collector.",
    "import gc\ngc.set_debug(gc.DEBUG_SAVEALL)   # then look at gc.garbage, once\n"
    "self.parent = weakref.ref(parent)   # or del self.buffer after the step",
    "memory falls when the step ends, not rounds later",
    Prices(time="gc.collect() each step would cost milliseconds; breaking the cycle costs nothing"),
)
EXPANDABLE = Remedy(
    "expandable-segments",
    "Let segments grow, so that any free page serves any size.",
    "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\n# alone: without max_split_size_mb",
    "reserved memory stays close to memory in use",
    Prices(
        time="none to speak of",
        risk="not with every way of sharing memory between processes; never with max_split_size_mb",
    ),
)
STABLE_SHAPES = Remedy(
    "stable-shapes",
    "Use a few sizes in place of a new one each step, the largest first.",
    "x = pad_to_multiple(x, 128)   # or bucket by length\n# run the largest size once at the start",
    "steps after the first ask for no segment",
    Prices(time="padding: the added share of the work", shapes="padded"),
)
SPLIT_LIMIT = Remedy(
    "split-limit",
    "Keep large blocks from being cut, where expandable segments cannot be used.",
    "export PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:512\n"
    "# never together with expandable_segments",
    "the request fits",
    Prices(time="up to 2x slower in one report (more calls of the driver)"),
)
EMPTY_CACHE = Remedy(
    "empty-cache-once",
    "Return whole free segments, once: to share the device, or before a phase of other sizes.",
    "torch.cuda.empty_cache()         # between phases, never each step",
    "called once a phase",
    Prices(time="waits for the device, and the segments are asked for again"),
)
KEEP_LATE = Remedy(
    "allocate-survivors-apart",
    "Make what lives long before what is temporary, or copy it out of the segment it pins.",
    "kept.append(block.clone())   # after the temporaries beside it are gone\n"
    "# better: allocate one large buffer for all survivors first",
    "free segments are whole",
    Prices(time="one copy of what is kept"),
)
SDPA = Remedy(
    "sdpa",
    "Use fused attention: the scores are never written to memory.",
    "y = F.scaled_dot_product_attention(q, k, v)   # is_causal=True if masked so",
    "no block of the size of the scores is left at the peak",
    Prices(
        time="mostly faster",
        numerics="order of sums differs; check gradients once, backends differ by version",
    ),
)
FUSED_OPTIMIZER = Remedy(
    "fused-optimizer",
    "Use the fused optimizer: it updates in place, without a copy of all states at once.",
    "opt = torch.optim.AdamW(model.parameters(), fused=True)\n"
    "# or foreach=False: slower, and no copies either",
    "the peak lies outside of the optimizer step",
    Prices(time="faster; foreach=False instead costs one launch per tensor and operation"),
)
CHUNKED_LOSS = Remedy(
    "chunked-loss",
    "Compute the loss in chunks of tokens; upcast inside the chunk.",
    "loss = sum(F.cross_entropy(head(h).float(), t, reduction='sum')\n"
    "           for h, t in zip(hidden.split(1024), target.split(1024))) / n",
    "the logits are no longer among the largest at the peak",
    Prices(time="a few launches more; under checkpoint the head runs twice"),
)
CHECKPOINTING = Remedy(
    "checkpointing",
    "Compute activations again in backward instead of keeping them.",
    "y = torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False)\n"
    "# every block saves most; leaving out every k-th costs less,\n"
    "# k up to the square root of the number of layers",
    "it fits; or the freed memory buys no batch that is faster per sample",
    Prices(
        time="about 30% of the device work until measured; a compiled model may recompute already",
    ),
)
MICRO_BATCHES = Remedy(
    "micro-batches",
    "Split the batch and add up the gradients.",
    "for part in batch.chunk(4):\n    (loss(model(part)) / 4).backward()\nopt.step()",
    "the peak fits; smaller parts leave the device idle",
    Prices(
        time="smaller kernels: none where the device is busy, much where the host sets the pace"
    ),
)
AUTOCAST = Remedy(
    "bf16",
    "Keep activations in bfloat16.",
    "with torch.autocast('cuda', torch.bfloat16):\n    loss = model(x)",
    "activations are no longer the largest part",
    Prices(time="faster on tensor cores", numerics="8 bits of mantissa in activations"),
)
SMALLER_STATE = Remedy(
    "smaller-state",
    "Use an optimizer that keeps less: 8-bit states, or momentum alone.",
    "import bitsandbytes as bnb\n"
    "opt = bnb.optim.AdamW8bit(model.parameters())   # 2 of 8 bytes a weight",
    "states are no longer the largest part",
    Prices(time="about none", numerics="quantised states: compare the loss curve"),
)
SHARD = Remedy(
    "shard-state",
    "Divide states, gradients and parameters among devices.",
    "from torch.distributed.fsdp import fully_shard\nfor block in model.blocks:\n"
    "    fully_shard(block)\nfully_shard(model)",
    "it fits: each further stage communicates more",
    Prices(time="communication: stages 1 and 2 none to speak of, stage 3 half as much again"),
)
OFFLOAD = Remedy(
    "offload",
    "Keep states on the host and move them when needed.",
    "with torch.autograd.graph.save_on_cpu(pin_memory=True):\n    loss = model(x)",
    "the copies hide behind the computation",
    Prices(
        time="bytes moved / link: 20 to 50 GB/s over PCIe", risk="as much page-locked host memory"
    ),
)
RAISE_LIMIT = Remedy(
    "raise-limit",
    "Raise the limit of this process: the device has room.",
    "torch.cuda.set_per_process_memory_fraction(1.0)   # find who set it\n"
    "# containers, MIG and the driver limit too",
    "the device itself is full",
    Prices(time="none"),
)
FREE_DEVICE = Remedy(
    "free-others",
    "Find what else holds the device: other processes, a killed run, the display.",
    "nvidia-smi --query-compute-apps=pid,used_memory --format=csv\n"
    "# it shows reserved memory plus about 0.5 GiB of context a process",
    "free memory is the capacity less one context",
    Prices(time="none; less contention where others computed too"),
)
SHARE_POOL = Remedy(
    "share-graph-pool",
    "Let CUDA graphs share one pool; what a private pool frees, nobody else can use.",
    "pool = torch.cuda.graph_pool_handle()\n"
    "with torch.cuda.graph(graph, pool=pool):\n    out = step()",
    "private pools hold what one graph needs",
    Prices(time="none", risk="graphs that share a pool must not run at the same time"),
)
RECORD_STREAM = Remedy(
    "one-stream-pool",
    "Allocate on the stream that uses the memory: a pool belongs to a stream.",
    "with torch.cuda.stream(side):\n"
    "    y = work(x)   # and let go of y before the main stream needs room",
    "no pool of a side stream holds what the main one lacks",
    Prices(time="none, unless the side stream must wait for the free"),
)
CHECK_SHAPE = Remedy(
    "check-shape",
    "Look at the shape: a request larger than the device is a mistake or needs another algorithm.",
    "print(a.shape, b.shape)   # (n, 1) with (n,) gives n x n; cdist, one-hot",
    "the request is as large as you meant",
    Prices(time="none: less work"),
)
LARGER_BATCH = Remedy(
    "larger-batch",
    "Use the room: a larger batch, or less recomputation.",
    "batch *= 2   # while samples per second rise",
    "samples per second stop rising",
    Prices(
        time="a longer step; fewer of them, where the host sets the pace",
        numerics="the learning rate belongs to the batch",
    ),
)
HOST_MEMORY = Remedy(
    "host-memory",
    "Give the host less to hold: fewer workers or batches ahead, arrays in place of lists.",
    "DataLoader(..., num_workers=2, prefetch_factor=2)  # each copies its share\n"
    "samples = np.asarray(samples)   # one buffer; or np.memmap",
    "resident memory stays level over an epoch",
    Prices(time="fewer workers: data may come late; boundby trace shows whether it does"),
)
SHARED_MEMORY = Remedy(
    "shared-memory",
    "Give the container more shared memory, or let fewer batches lie in it.",
    "docker run --shm-size=8g ...    # or --ipc=host; 64 MB is Docker's default\n"
    "# Kubernetes: an emptyDir with medium: Memory, mounted at /dev/shm\n"
    "DataLoader(..., num_workers=2, prefetch_factor=2)",
    "df -h /dev/shm shows room while the loader runs",
    Prices(time="fewer workers: data may come late; boundby loader shows whether it does"),
)
ARRAYS = Remedy(
    "arrays-for-lists",
    "Hold the samples in arrays, or in an Arrow table, in place of lists of Python objects.",
    "samples = np.asarray(samples)  # one buffer, one count of references\n"
    "# texts: one bytes buffer and an array of offsets, or pyarrow.array(texts)\n"
    "# dicts: a column an array; Arrow tables are shared by all workers",
    "the memory of a worker stays level over an epoch",
    Prices(time="none to speak of; one object is made for each access"),
)
MEMORY_MAP = Remedy(
    "map-dataset",
    "Map the data set from a file: the system keeps in memory what is used.",
    "samples = np.load('samples.npy', mmap_mode='r')  # or an Arrow file, mapped\n"
    "# all workers share the pages; shuffled access wants a fast disk",
    "the data set fits, or reading it is not what the step waits for",
    Prices(time="reads from disk where a page is not in memory: boundby loader shows whether"),
)
SHALLOWER_QUEUE = Remedy(
    "shallower-queue",
    "Prepare fewer batches ahead: each is page-locked until it was used.",
    "DataLoader(..., num_workers=4, prefetch_factor=2)\n# bytes = workers x prefetch x batch",
    "no step waits longer for its batch than before",
    Prices(time="none while the queue never runs empty; else the step waits for data"),
)
RECORD = Remedy(
    "record-memory",
    "Record what holds the memory and ask again.",
    "torch.cuda.memory._record_memory_history(max_entries=300000)\n"
    "try:\n    train()\nfinally:\n    torch.cuda.memory._dump_snapshot('memory.pickle')\n"
    "# boundby memory memory.pickle",
    "the lines that hold the memory are known",
    Prices(time="a few percent while it records"),
)
EVERY = (
    NO_GRAD, DETACH, DROP, HOOK, EXCEPTION, CYCLES, EXPANDABLE, STABLE_SHAPES, SPLIT_LIMIT,
    EMPTY_CACHE, KEEP_LATE, SDPA, FUSED_OPTIMIZER, CHUNKED_LOSS, CHECKPOINTING, MICRO_BATCHES,
    AUTOCAST, SMALLER_STATE, SHARD, OFFLOAD, RAISE_LIMIT, FREE_DEVICE, SHARE_POOL, RECORD_STREAM,
    CHECK_SHAPE, LARGER_BATCH, HOST_MEMORY, SHARED_MEMORY, ARRAYS, MEMORY_MAP,
    SHALLOWER_QUEUE, RECORD,
)  # fmt: skip
