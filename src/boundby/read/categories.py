"""Kineto categories of all eras, and what a row of each is."""

from __future__ import annotations

from enum import IntEnum


class Group(IntEnum):
    """What the events of a category are read as."""

    SKIPPED = 0
    UNKNOWN = 1
    OP = 2
    CALL = 3
    RANGE = 4
    OVERHEAD = 5
    PYTHON = 6
    KERNEL = 7
    COPY = 8
    MEMSET = 9
    WAIT = 10
    WINDOW = 11
    BARE = 12
    """Events without a category: the autograd profiler before Kineto wrote nothing else."""


_GROUPS = {
    Group.SKIPPED: (
        "ac2g async async_gpu async_cpu_to_gpu fwdbwd gpu_user_annotation cpu_instant_event "
        "cuda_event external_correlation cuda_profiler_range mtia_counters mtia_insight "
        "collective_comm critical_path hardware_counters cpu_to_cuda cpu_to_privateuse1"
    ),
    Group.OP: "cpu_op operator glow_op",
    Group.CALL: (
        "cuda_runtime cuda_driver runtime driver hip_runtime hip_driver xpu_runtime xpu_driver "
        "mtia_runtime glow_runtime privateuse1_runtime privateuse1_driver musa_runtime musa_driver"
    ),
    Group.RANGE: "user_annotation",
    Group.OVERHEAD: "overhead",
    Group.PYTHON: "python_function",
    Group.KERNEL: "kernel concurrent_kernel xpu_kernel mtia_ccp_events hpu_op",
    Group.COPY: "gpu_memcpy gpu_memcpy2 memcpy",
    Group.MEMSET: "gpu_memset memset",
    Group.WAIT: "cuda_sync xpu_sync",
    Group.WINDOW: "trace",
    Group.BARE: "",
}


class Categories(dict[str, int]):
    """The group of a category as written; letter case does not count."""

    def __init__(self) -> None:
        super().__init__(
            {name: int(group) for group, names in _GROUPS.items() for name in names.split()}
        )
        self[""] = int(Group.BARE)

    def __missing__(self, category: str) -> int:
        group = dict.get(self, category.lower(), int(Group.UNKNOWN))
        self[category] = group
        return group
