"""Names only say what a call *does*; whether it launched is for ``test_launches.py``."""

import numpy as np
import pytest

from boundby.timeline.calls import CallKind, classify, classify_names
from boundby.timeline.copies import CopyKind, classify_copies, classify_copy

CALLS = {
    CallKind.LAUNCH: """
        cudaLaunchKernel cudaLaunchKernelExC cuLaunchKernel cuLaunchKernelEx hipLaunchKernel
        hipExtLaunchKernel hipModuleLaunchKernel hipExtModuleLaunchKernel
        cudaLaunchCooperativeKernel cuLaunchCooperativeKernel musaLaunchKernel
        cudaLaunchKernel_ptsz""",
    CallKind.GRAPH_LAUNCH: "cudaGraphLaunch hipGraphLaunch cuGraphLaunch cudaGraphLaunch_v10000",
    CallKind.COPY: """
        cudaMemcpyAsync hipMemcpyAsync cuMemcpyAsync cuMemcpyHtoDAsync_v2 cuMemcpyDtoHAsync_v2
        cudaMemcpy2DAsync cudaMemcpyPeerAsync cudaMemsetAsync hipMemsetAsync cuMemsetD8Async""",
    CallKind.BLOCKING_COPY: """
        cudaMemcpy hipMemcpy cudaMemcpy2D cuMemcpyDtoH_v2 cuMemcpyHtoD_v2 hipMemcpyDtoH
        hipMemcpyWithStream cudaMemcpyFromSymbol""",
    CallKind.DEVICE_SYNC: """
        cudaDeviceSynchronize hipDeviceSynchronize cuCtxSynchronize hipCtxSynchronize
        cudaThreadSynchronize""",
    CallKind.STREAM_SYNC: "cudaStreamSynchronize hipStreamSynchronize cuStreamSynchronize_ptsz",
    CallKind.EVENT_SYNC: "cudaEventSynchronize hipEventSynchronize cuEventSynchronize",
    CallKind.ALLOCATOR: """
        cudaMalloc cudaFree cudaMallocAsync cudaFreeAsync cudaHostAlloc cudaFreeHost hipMalloc
        hipFree hipHostMalloc hipExtMallocWithFlags cuMemAlloc_v2 cuMemFree_v2 cuMemCreate
        cuMemMap cuMemUnmap cuMemAddressReserve cuMemSetAccess cuMemRelease cudaHostRegister""",
    CallKind.STREAM_WAIT: "cudaStreamWaitEvent hipStreamWaitEvent cuStreamWaitEvent",
    CallKind.EVENT_QUERY: "cudaEventQuery hipEventQuery cuEventQuery cudaStreamQuery",
    CallKind.OTHER: """
        cudaEventRecord cudaGetDevice cudaStreamIsCapturing cudaFuncGetAttributes
        cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags cudaPointerGetAttributes
        cudaLaunchHostFunc hipGetDevicePropertiesR0600 cudaStreamCreateWithFlags
        cudaDeviceGetAttribute cudaMemGetInfo __cudaPushCallConfiguration""",
}


@pytest.mark.parametrize(
    ("name", "kind"), [(name, kind) for kind, names in CALLS.items() for name in names.split()]
)
def test_a_call_is_classified_alike_in_every_spelling(name, kind):
    assert classify(name) == kind


def test_only_names_that_calls_use_are_classified():
    names = ["cudaLaunchKernel", "aten::mm", "cudaFree", "cudaDeviceSynchronize"]

    kinds = classify_names(names, np.array([0, 2, 2], dtype=np.int32))

    assert kinds.tolist() == [CallKind.LAUNCH, CallKind.OTHER, CallKind.ALLOCATOR, CallKind.OTHER]


COPIES = {
    CopyKind.TO_DEVICE: """
        Memcpy HtoD (Pageable -> Device)|Memcpy HtoD (Unknown -> Device)|CopyHostToDevice
        |memcpy H2D|Memcpy HtoD""",
    CopyKind.TO_DEVICE_PINNED: "Memcpy HtoD (Pinned -> Device)",
    CopyKind.TO_HOST: """
        Memcpy DtoH (Device -> Pageable)|Memcpy DtoH (Device -> Unknown)|CopyDeviceToHost
        |Memcpy DtoH""",
    CopyKind.TO_HOST_PINNED: "Memcpy DtoH (Device -> Pinned)",
    CopyKind.ON_DEVICE: """
        Memcpy DtoD (Device -> Device)|Memcpy PtoP (Device -> Device)|CopyDeviceToDevice
        |Memcpy AtoA (Array -> Array)|Memcpy Unknown""",
}


@pytest.mark.parametrize(
    ("name", "kind"),
    [(name.strip(), kind) for kind, names in COPIES.items() for name in names.split("|")],
)
def test_a_copy_tells_its_direction_and_host_memory_in_its_name(name, kind):
    assert classify_copy(name) == kind


def test_copies_are_classified_row_by_row():
    names = ["gemm", "Memcpy HtoD (Pinned -> Device)", "Memcpy DtoH (Device -> Pageable)"]

    kinds = classify_copies(names, np.array([2, 1, 1], dtype=np.int32))

    assert kinds.tolist() == [
        CopyKind.TO_HOST,
        CopyKind.TO_DEVICE_PINNED,
        CopyKind.TO_DEVICE_PINNED,
    ]
