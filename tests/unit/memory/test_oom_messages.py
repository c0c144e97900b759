"""Out-of-memory texts of all families, as they stand in logs: prefixed, wrapped, boxed, cut."""
# ruff: noqa: C408, E501, ISC004 (a table of texts as they stand in logs)

import textwrap
import time
from dataclasses import replace

import pytest

from boundby.read.oom_message import OomMessage, read_oom_messages

BAR, RULE = "\u2502", "\u2500" * 78
KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
SEE = "  See documentation for Memory Management and PYTORCH_CUDA_ALLOC_CONF"
URL = (
    "  See documentation for Memory Management  "
    "(https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)"
)
OLD_HINT = (
    " If reserved memory is >> allocated memory try setting max_split_size_mb to avoid "
    "fragmentation." + SEE
)
NEW_HINT = (
    "If reserved but unallocated memory is large try setting "
    "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation." + URL
)


def device(backend="cuda", **fields):
    """Return the expected message of an allocator of a device."""
    known = dict(fields)
    if "allocated" in known and "unallocated" in known:
        known.setdefault("reserved", known["allocated"] + known["unallocated"])
    elif "allocated" in known and "reserved" in known:
        known.setdefault("unallocated", max(known["reserved"] - known["allocated"], 0))
    return OomMessage("device", backend, **known)


OLD = dict(gpu=0, requested=12 * MIB, capacity=10 * GIB, allocated=8 * GIB, free=9 * MIB)
OLD_TEXT = (
    "Tried to allocate 12.00 MiB (GPU 0; 10.00 GiB total capacity; 8.00 GiB already allocated; "
    "9.00 MiB free; "
)
NEW = dict(gpu=0, requested=3 * GIB, capacity=24 * GIB, free=1536 * MIB)
NEW_TEXT = (
    "Tried to allocate 3.00 GiB. GPU 0 has a total capacity of 24.00 GiB of which 1.50 GiB is free."
)
USED = "Of the allocated memory 12.00 GiB is allocated by PyTorch, and 4.00 GiB is reserved by PyTorch but unallocated."
USED_FIELDS = dict(allocated=12 * GIB, unallocated=4 * GIB)

FAMILIES = {
    "1-thc": (
        "RuntimeError: cuda runtime error (2) : out of memory at "
        "/pytorch/aten/src/THC/generic/THCStorage.cu:58",
        OomMessage("device-bare", "cuda"),
    ),
    "2-cached": (
        f"RuntimeError: CUDA out of memory. {OLD_TEXT}4.00 MiB cached)",
        device(**OLD, cached=4 * MIB),
    ),
    "3-reserved": (
        f"RuntimeError: CUDA out of memory. {OLD_TEXT}9.00 GiB reserved in total by PyTorch)",
        device(**OLD, reserved=9 * GIB),
    ),
    "4-max-split": (
        f"RuntimeError: CUDA out of memory. {OLD_TEXT}9.00 GiB reserved in total by PyTorch){OLD_HINT}",
        device(**OLD, reserved=9 * GIB),
    ),
    "5-class": (
        f"torch.cuda.OutOfMemoryError: CUDA out of memory. {OLD_TEXT}9.00 GiB reserved in total by "
        f"PyTorch){OLD_HINT}",
        device(**OLD, reserved=9 * GIB),
    ),
    "6-allowed": (
        f"RuntimeError: CUDA out of memory. {OLD_TEXT}4.00 GiB allowed; 9.00 GiB reserved in total "
        f"by PyTorch){OLD_HINT}",
        device(**OLD, reserved=9 * GIB, allowed=4 * GIB),
    ),
    "7-capacty": (
        "torch.cuda.OutOfMemoryError: CUDA out of memory. "
        + NEW_TEXT.replace("capacity", "capacty")
        + f" {USED} If reserved but unallocated memory is large try setting max_split_size_mb to "
        "avoid fragmentation." + SEE,
        device(**NEW, **USED_FIELDS),
    ),
    "8-in-use": (
        f"torch.cuda.OutOfMemoryError: CUDA out of memory. {NEW_TEXT} Including non-PyTorch memory, "
        f"this process has 20.00 GiB memory in use. {USED} {NEW_HINT}",
        device(**NEW, **USED_FIELDS, in_use=20 * GIB, advises_expandable=True),
    ),
    "8-in-use-zero": (
        f"torch.OutOfMemoryError: CUDA out of memory. {NEW_TEXT} Including non-PyTorch memory, this "
        f"process has 0 bytes memory in use. {USED} {NEW_HINT}",
        device(**NEW, **USED_FIELDS, in_use=0, advises_expandable=True),
    ),
    "9-others": (
        f"torch.OutOfMemoryError: CUDA out of memory. {NEW_TEXT} Process 12345 has 2.00 GiB memory "
        f"in use. Process 678 has 512.00 MiB memory in use. {USED} {NEW_HINT}",
        device(
            **NEW, **USED_FIELDS, others={12345: 2 * GIB, 678: 512 * MIB}, advises_expandable=True
        ),
    ),
    "10-expandable": (
        f"torch.cuda.OutOfMemoryError: CUDA out of memory. {NEW_TEXT} {USED} {NEW_HINT}",
        device(**NEW, **USED_FIELDS, advises_expandable=True),
    ),
    "11-bare-class": (
        f"OutOfMemoryError: CUDA out of memory. {NEW_TEXT} {USED} {NEW_HINT}",
        device(**NEW, **USED_FIELDS, advises_expandable=True),
    ),
    "12-graphs": (
        f"torch.OutOfMemoryError: CUDA out of memory. {NEW_TEXT} Of the allocated memory 12.00 GiB is "
        "allocated by PyTorch, with 40.00 MiB allocated in private pools (e.g., CUDA Graphs), and "
        f"4.00 GiB is reserved by PyTorch but unallocated. {NEW_HINT}",
        device(**NEW, **USED_FIELDS, private_pools=40 * MIB, advises_expandable=True),
    ),
    "13-fraction": (
        f"torch.OutOfMemoryError: CUDA out of memory. {NEW_TEXT} 1.00 GiB allowed; {USED} {NEW_HINT}",
        device(**NEW, **USED_FIELDS, allowed=GIB, advises_expandable=True),
    ),
    "14-alloc-conf": (
        f"torch.OutOfMemoryError: CUDA out of memory. {NEW_TEXT} {USED} "
        + NEW_HINT.replace("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"),
        device(**NEW, **USED_FIELDS, advises_expandable=True),
    ),
    "15-hip": (
        f"torch.OutOfMemoryError: HIP out of memory. {NEW_TEXT} {USED} "
        + NEW_HINT.replace("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF"),
        device("hip", **NEW, **USED_FIELDS, advises_expandable=True),
    ),
    "16-xpu": (
        "torch.OutOfMemoryError: XPU out of memory. Tried to allocate 32.00 GiB. GPU 0 has a total "
        "capacity of 12.00 GiB of which 9.00 GiB is free. Of the allocated memory 0 bytes is "
        "allocated by PyTorch, and 0 bytes is reserved by PyTorch but unallocated. Please use "
        "`empty_cache` to release all unoccupied cached memory.",
        device("xpu", gpu=0, requested=32 * GIB, capacity=12 * GIB, free=9 * GIB, allocated=0, unallocated=0),
    ),
    "17-npu": (
        "NPU out of memory. Tried to allocate 72.00 MiB (NPU 0; 60.00 GiB total capacity; 56.00 GiB "
        "already allocated; 56.00 GiB current active; 5.00 MiB free; 58.00 GiB reserved in total by "
        "PyTorch)If reserved memory is >> allocated memory try setting max_split_size_mb to avoid "
        "fragmentation.",
        device(
            "npu", gpu=0, requested=72 * MIB, capacity=60 * GIB, allocated=56 * GIB, active=56 * GIB,
            free=5 * MIB, reserved=58 * GIB,
        ),
    ),
    "18-mps": (
        "RuntimeError: MPS backend out of memory (MPS allocated: 9.00 GB, other allocations: 170.00 "
        "MB, max allowed: 9.10 GB). Tried to allocate 6.00 MB on private pool. Use "
        "PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 to disable upper limit for memory allocations (may "
        "cause system failure).",
        OomMessage(
            "device", "mps", requested=6 * MIB, allocated=9 * GIB, other=170 * MIB,
            allowed=round(9.1 * GIB), pool="private",
        ),
    ),
    "18-mps-new": (
        "RuntimeError: MPS backend out of memory (MPS allocated: 9.00 GiB, other allocations: 170.00 "
        "MiB, max allowed: 9.10 GiB). Tried to allocate 256 bytes on shared pool.",
        OomMessage(
            "device", "mps", requested=256, allocated=9 * GIB, other=170 * MIB,
            allowed=round(9.1 * GIB), pool="shared",
        ),
    ),
    "19-cpu": (
        "RuntimeError: [enforce fail at CPUAllocator.cpp:64] . DefaultCPUAllocator: can't allocate "
        "memory: you tried to allocate 1000000 bytes. Error code 12 (Cannot allocate memory)",
        OomMessage("host", "cpu", requested=1000000),
    ),
    "19-cpu-err": (
        "RuntimeError: [enforce fail at alloc_cpu.cpp:75] err == 0. DefaultCPUAllocator: can't "
        "allocate memory: you tried to allocate 1000000 bytes. Error code 12 (Cannot allocate memory)",
        OomMessage("host", "cpu", requested=1000000),
    ),
    "19-windows": (
        "RuntimeError: [enforce fail at C:\\a\\b\\c10\\core\\impl\\alloc_cpu.cpp:81] data. "
        "DefaultCPUAllocator: not enough memory: you tried to allocate 1000000 bytes.",
        OomMessage("host", "cpu", requested=1000000),
    ),
    "1-thc-check": (
        "THCudaCheck FAIL file=/pytorch/aten/src/THC/generic/THCStorage.cu line=58 error=2 : out of "
        "memory",
        OomMessage("device-bare", "cuda"),
    ),
    "21-spawned": (
        "torch.multiprocessing.spawn.ProcessExitedException: process 3 terminated with code -9",
        OomMessage("killed", "cpu"),
    ),
    "21-worker": (
        "RuntimeError: DataLoader worker (pid(s) 123) is killed by signal: Killed.",
        OomMessage("killed", "cpu"),
    ),
    "21-slurm": (
        "slurmstepd: error: Detected 1 oom_kill event in StepId=123.batch. Some of the step tasks "
        "have been OOM Killed.",
        OomMessage("killed", "cpu"),
    ),
    "21-container": ("      Reason:       OOMKilled", OomMessage("killed", "cpu")),
    "22-numpy": (
        "numpy._core._exceptions._ArrayMemoryError: Unable to allocate 7.50 GiB for an array with "
        "shape (1006632960,) and data type float64",
        OomMessage("host", "cpu", requested=15 << 29),
    ),
    "21-bus": (
        "RuntimeError: DataLoader worker (pid 4213) is killed by signal: Bus error. It is possible that "
        "dataloader's workers are out of shared memory. Please try to raise your shared memory limit.",
        OomMessage("shared", "cpu"),
    ),
    "13-shm": (
        "RuntimeError: unable to open shared memory object </torch_29919_1396182366> in read-write mode: "
        "No space left on device (28)",
        OomMessage("shared", "cpu"),
    ),
    "12-shm": (
        "RuntimeError: unable to write to file </torch_18692_1954506624>: No space left on device (28)",
        OomMessage("shared", "cpu"),
    ),
    "21-mmap": (
        "RuntimeError: unable to mmap 4096 bytes from file </torch_7_1_0>: Cannot allocate memory (12)",
        OomMessage("shared", "cpu"),
    ),
    "21-child": ("torch.multiprocessing: process 0 terminated with code -9", OomMessage("killed", "cpu")),
    "cublas": (
        "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
        OomMessage("library", "cuda"),
    ),
    "driver": ("RuntimeError: CUDA error: out of memory", OomMessage("device-bare", "cuda")),
}  # fmt: skip


def plain(text):
    return text


def ranked(text):
    return f"[rank3]: {text}"


def logged(text):
    return f"ERROR 04-01 10:00:00 [engine.py:160] {text}"


def stamped(text):
    return f"2025-11-12T11:25:13.4961658Z FAILED test_model.py::test_step - {text}"


def wrapped(text):
    """Broken between words, as a mail program does."""
    return "\n".join(textwrap.wrap(text, 72, break_long_words=False, break_on_hyphens=False))


def folded(text):
    """Broken anywhere, as a terminal of 80 columns is copied."""
    return "\n".join(text[at : at + 80] for at in range(0, len(text), 80))


def boxed(text):
    """Stand in a panel of rich."""
    rows = textwrap.wrap(text, 76, break_on_hyphens=False)
    inside = "\n".join(f"{BAR} {row:<76} {BAR}" for row in rows)
    return f"\u256d{RULE}\u256e\n{inside}\n\u2570{RULE}\u256f"


def in_a_log(text):
    return f'epoch 3 step 17 loss 0.51\nTraceback (most recent call last):\n  File "t.py", line 3, in f\n{text}\n\nwandb: done\n'


def ranked_and_wrapped(text):
    return "\n".join(f"[rank3]: {row}" for row in wrapped(text).splitlines())


def narrow(text):
    return "\n".join(textwrap.wrap(text, 40, break_long_words=False, break_on_hyphens=False))


def from_a_page(text):
    return text.replace(" ", "\u00a0")


def coloured(text):
    return f"\x1b[31m{text}\x1b[0m"


WAYS = [
    plain,
    ranked,
    logged,
    stamped,
    wrapped,
    folded,
    boxed,
    in_a_log,
    ranked_and_wrapped,
    narrow,
    from_a_page,
    coloured,
]
PREFIXES = {
    "syslog": "Nov 12 11:25:13 node01 train[3123]: ",
    "glog": "E1112 11:25:13.123456 140234 trainer.py:12] ",
    "clock": "11:25:13 ",
    "logging": "2025-11-12 11:25:13,496 ERROR ",
    "loguru": "2025-11-12 11:25:13.496 | ERROR    | __main__:main:12 - ",
    "kubernetes": "2025-11-12T11:25:13.496165812Z stderr F ",
    "compose": "worker-0  | ",
    "srun": "3: ",
    "ray": "\x1b[36m(pid=1234)\x1b[0m ",
    "pytest": "E       ",
    "mail": "> ",
    "torchrun": "[default12]:",
}
VARIANTS = [
    pytest.param(way, text, expected, id=f"{name}-{way.__name__}")
    for name, (text, expected) in FAMILIES.items()
    for way in WAYS
]


def test_there_are_enough_variants():
    assert len(VARIANTS) >= 60


@pytest.mark.parametrize(("way", "text", "expected"), VARIANTS)
def test_a_message_says_the_same_however_it_was_copied(way, text, expected):
    (found,) = read_oom_messages(way(text))

    assert replace(found, line=1, rank=None) == expected


@pytest.mark.parametrize("prefix", PREFIXES.values(), ids=PREFIXES)
@pytest.mark.parametrize("way", [narrow, wrapped, folded])
@pytest.mark.parametrize(("text", "expected"), FAMILIES.values(), ids=FAMILIES)
def test_what_every_line_begins_with_is_no_part_of_the_message(text, expected, way, prefix):
    lines = way(text).splitlines()
    (found,) = read_oom_messages("\n".join(f"{prefix}{line}" for line in lines))

    assert replace(found, line=1, rank=None) == expected


def test_a_prefix_counts_on_from_line_to_line():
    text, expected = FAMILIES["9-others"]
    lines = wrapped(text).splitlines()
    log = "\n".join(f"train[7] {n + 8:02}:{n * 7} {row}" for n, row in enumerate(lines))
    (found,) = read_oom_messages(log)

    assert replace(found, line=1) == expected


def test_an_exception_that_follows_is_no_part_of_the_message():
    first, second = FAMILIES["3-reserved"][0], wrapped(FAMILIES["21-worker"][0])
    found = read_oom_messages(f"{first}\nsrun: RuntimeError: DataLoader\n{second}")

    assert [message.kind for message in found] == ["device", "killed"]


def test_a_long_log_of_what_is_allocated_takes_no_long_look():
    line = "step 3 out of 900: memory allocated 3.00 GiB, reserved 4.00 GiB\n"
    start = time.process_time()

    assert read_oom_messages(line * 100_000) == []
    assert time.process_time() - start < 3


@pytest.mark.parametrize("name", ["8-in-use", "10-expandable", "13-fraction", "5-class"])
@pytest.mark.parametrize("kept", [0.35, 0.5, 0.7, 0.9])
def test_a_text_without_its_end_keeps_what_it_has(name, kept):
    text, expected = FAMILIES[name]
    (found,) = read_oom_messages(text[: int(len(text) * kept)])

    assert found.requested == expected.requested
    for field in ("capacity", "free", "allocated", "unallocated", "allowed", "in_use"):
        assert getattr(found, field) in (None, getattr(expected, field)), field


def test_the_rank_is_read_off_the_prefix():
    (found,) = read_oom_messages(ranked(FAMILIES["10-expandable"][0]))

    assert found.rank == 3


def test_repeats_are_counted_once():
    text = FAMILIES["10-expandable"][0]
    found = read_oom_messages(f"{logged(text)}\nother\n{ranked(text)}\n\n{text}\n")

    assert [message.count for message in found] == [3]


def test_different_messages_in_a_log_stay_apart():
    first, second = FAMILIES["3-reserved"][0], FAMILIES["21-worker"][0]
    found = read_oom_messages(f"{first}\n{second}\n")

    assert [message.kind for message in found] == ["device", "killed"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "all is well",
        "memory: 12.00 GiB of 24.00 GiB",
        "we ran out of memory of the meeting",
        "\x00\xff" * 9,
    ],
)
def test_other_text_holds_no_message(text):
    assert read_oom_messages(text) == []
