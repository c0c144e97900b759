"""What kind of work a kernel is, by its name: for graphs and traces without shapes too.

A name is matched against the families in order; the first that fits wins, so the special ones
(attention, communication) stand before the broad ones. Each distinct name is classified once.
"""

from __future__ import annotations

import re
from enum import IntEnum
from functools import lru_cache
from typing import Literal

import numpy as np
import numpy.typing as npt

from boundby.distribution import distinct

Limit = Literal["compute", "memory", "communication", "copy", "other"]
"""The kind of roof a family usually stands under."""


class Family(IntEnum):
    """A family of kernels."""

    UNKNOWN = 0
    MATMUL = 1
    CONVOLUTION = 2
    ATTENTION = 3
    ELEMENTWISE = 4
    REDUCTION = 5
    """Reductions, pooling, losses; also generated kernels that reduce."""
    SOFTMAX = 6
    NORM = 7
    INDEX = 8
    """Gather, scatter, embedding, cache updates, routing."""
    SORT = 9
    """Sorting, selection, scans."""
    COPY = 10
    """Within device memory: strided copies, transposes, concatenation, device-to-device copies."""
    CAST = 11
    """From one element type to another."""
    MEMSET = 12
    OPTIMIZER = 13
    """Kernels over lists of tensors, and fused optimizers."""
    RANDOM = 14
    COMMUNICATION = 15
    TRANSFER = 16
    """Between host and device, or between devices."""
    FFT = 17

    @property
    def limit(self) -> Limit:
        """The roof to assume where FLOPs and bytes are unknown."""
        return _LIMITS.get(self, "memory")


_LIMITS: dict[Family, Limit] = {
    Family.UNKNOWN: "other",
    Family.MATMUL: "compute",
    Family.CONVOLUTION: "compute",
    Family.ATTENTION: "compute",
    Family.COMMUNICATION: "communication",
    Family.TRANSFER: "copy",
}

_NAMES: tuple[tuple[Family, str], ...] = (
    (Family.ATTENTION, r"^triton_\w*flex_(attention|decoding)"),
    (Family.MATMUL, r"^triton_(tem|mm|bmm)"),
    (Family.CAST, r"^triton_poi_fused__to_copy(_(t|view|transpose|permute))*_\d+$"),
    (Family.REDUCTION, r"^triton_(red|per|split_scan)"),
    (Family.ELEMENTWISE, r"^triton_(poi|for|foreach|)_?(fused|\d)"),
    (Family.TRANSFER, r"^Memcpy (HtoD|DtoH|PtoP|HtoH)|^CopyHostToDevice|^CopyDeviceToHost"),
    (Family.COPY, r"^Memcpy|^CopyDeviceToDevice"),
    (Family.MEMSET, r"^Memset|^FillBuffer"),
    (
        Family.COMMUNICATION,
        (
            r"(?i)nccl|rccl|all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|cross_device"
            r"|one_?shot|two_?shot|multimem|mscclpp|msccl|nvshmem|quick_?reduce|sendrecv|deep_ep"
            r"|internode|intranode|symm_mem|barrier_kernel"
        ),
    ),
    (
        Family.ATTENTION,
        (
            r"(?i)fmha|flash_?(fwd|bwd|attn|attention|decod|prefill)|sdpa|attn_(fwd|bwd)"
            r"|(unified|paged|mem_eff|efficient|flex|decode|prefill|ragged|batch)\w*_?attention"
            r"|Attention(Backward)?Kernel|PyTorchMemEff|Batch(Decode|Prefill)With|_attn|mla_"
            r"|compute_dot_do_o|convert_dq|dot_do_o|FusedMultiHead|attention_(kernel|fwd|bwd|reduce)"
            r"|attention_ll|(fwd|bwd)_grouped_kernel_stage"
        ),
    ),
    (
        Family.CONVOLUTION,
        (
            r"(?i)scudnn|hcudnn|icudnn|winograd|implicit_(gemm|convolve)|explicit_convolve|(w|d)grad"
            r"|fprop|convolve|grouped_?conv|im2d?2?col|col2im|dgrad_engine|wgrad_alg|igemm_(fwd|bwd|wrw)"
            r"|conv(olution)?_?[123]?d|conv_?depthwise|depthwise_?conv|_conv_|ConvolutionKernel"
            r"|naive_conv|fft2d_|flip_filter|compute\w*OffsetsKernel|miopenSp|xdlops_bwd_weight"
            r"|_convolution_|gridwise_convolution|ConvHipImplicit|MIOpenConv"
            r"|init_device_workspace_kernel<\w*xmma"
        ),
    ),
    (
        Family.MATMUL,
        (
            r"(?i)gemm|nvjet|Cijk_|cutlass|xmma|splitKreduce|gemv|gevm|matmul"
            r"|cublas|s884|s1688|s16816|wmma|wgmma|rocblas|hipblas|marlin|bmm|moe_(kernel|mm)"
            r"|fused_moe|dot_kernel|reduce_1Block_kernel|trsm|syrk|sgemm|dgemm|int4pack|bitsandbytes"
        ),
    ),
    (Family.OPTIMIZER, r"(?i)multi_?tensor|adam|adagrad|lamb_|sgd_|foreach|amp_(update|foreach)"),
    (
        Family.CAST,
        (
            r"(?i)16(to\w+)?_copy_kernel|float8_copy|_copy_kernel_cuda.*LoadWithCast"
            r"|SubTensorOpWithCast|cast_kernel|castTensor|convert_\w*(fp8|bf16|fp16)|quantize|to_fp8"
            r"|per_token_(group_)?quant"
        ),
    ),
    (
        Family.NORM,
        (
            r"(?i)layer_?norm|rms_?norm|group_?norm|batch_?norm|\bbn_(fw|bw)|instance_?norm"
            r"|GammaBeta|RowwiseMoments|ComputeInternalGradients|ComputeFusedParams"
            r"|cuComputeGrad|cuApplyLayerNorm|BatchNorm|norm_fwd|norm_bwd|layernorm"
        ),
    ),
    (Family.SOFTMAX, r"(?i)soft_?max"),
    (
        Family.SORT,
        (
            r"(?i)sort|topk|top_k|DeviceScan|scan_kernel|DeviceSelect|DeviceCompact|scanThrust"
            r"|unique|DeviceRadix|DeviceRunLength|DeviceReduceByKey|bitonic|kth|median|lookback_scan"
            r"|rocprim|cumsum|cumprod|tensor_kernel_scan|histogram|merge_sort|DevicePartition"
            r"|_(sum_bitmatrix|combined_routing)"
        ),
    ),
    (
        Family.INDEX,
        (
            r"(?i)gather|scatter|embedding|(?<!source_)(?<!with_)index|reshape_and_cache|kvcache|kv_cache|kv_indices"
            r"|permute_\w*(data|lengths|embs)|bucketize|rotary|masked_select|flatten_kernel"
            r"|nonzero|lookup|linearize|token_ids|block_table|grid_sampler|_page_table|req_to_token"
            r"|moe_align|sparse_features"
        ),
    ),
    (
        Family.RANDOM,
        r"(?i)distribution_|philox|dropout|curand|randperm|bernoulli|normal_kernel|rand\b",
    ),
    (
        Family.COPY,
        (
            r"(?i)CatArray|batched_transpose|transpose|NchwToNhwc|NhwcToNchw|nchw2nhwc|direct_copy"
            r"|copy_kernel|copy_device_to_device|CNHW|permute|triu_tril|roll_kernel|flip_kernel"
            r"|pad_kernel|reflection_pad|replication_pad|split_with_sizes|stack_kernel"
            r"|__amd_rocclr_copyBuffer|unfold|copyBuffer|im2row"
        ),
    ),
    (
        Family.MEMSET,
        r"(?i)FillFunctor|(?<!masked_)fill_kernel|memset|fillBuffer|zero_kernel|set_kernel",
    ),
    (Family.FFT, r"(?i)_fft|fft_|cufft|rocfft|multi_bluestein"),
    (
        Family.REDUCTION,
        (
            r"(?i)reduce|reduction|pool|nll_loss|ClassNLL|loss\w*_kernel|ctc_|argmax"
            r"|argmin|Welford|sum_kernel|mean_kernel|norm_kernel|l2norm|adaptive_average|cdist|scal_kernel"
            r"|max_kernel|asum|nrm2|trace_kernel|cross_entropy"
        ),
    ),
    (
        Family.ELEMENTWISE,
        (
            r"(?i)elementwise|elemwise|pointwise|act_and_mul"
            r"|silu|gelu|relu|sigmoid|swiglu|upsample|interpol|SubTensorOp|scalePackedTensor|epilogue"
            r"|TensorOp|add_kernel|mul_kernel|addTensor|OpTensor|ActivationFwd|ActivationBwd"
            r"|activation|bias_|arange|range_kernel|linspace|masked_scale|where_kernel|clamp|scale_kernel"
            r"|lstm|gru_|LSTM|RNN|_rnn|CUDAFunctor|lambda|axpy|apply_kernel|kernelPointwise|qkv"
        ),
    ),
    (Family.UNKNOWN, r"."),
)
"""Where the names come from: kernels of torch 1.8 to 2.11 with CUDA and ROCm, cuBLAS, cuDNN,
CUTLASS, MIOpen, hipBLASLt, composable kernel, Triton, vLLM, SGLang, AITER and FBGEMM recordings."""

_PATTERNS = tuple((family, re.compile(pattern)) for family, pattern in _NAMES)

_OP_FAMILIES = (
    (Family.ATTENTION, re.compile(r"attention|flash_attn")),
    (Family.CONVOLUTION, re.compile(r"conv(olution|\dd|_)")),
    (Family.MATMUL, re.compile(r"^aten::(_?(add|badd)?b?mm|linear|matmul|einsum|_scaled_mm)")),
    (Family.COMMUNICATION, re.compile(r"^(nccl|c10d|rccl)|record_param_comms|all_?reduce")),
    (Family.NORM, re.compile(r"norm$|_norm_|norm_backward|layernorm")),
    (Family.SOFTMAX, re.compile(r"softmax")),
    (Family.INDEX, re.compile(r"embedding|index|gather|scatter")),
    (Family.OPTIMIZER, re.compile(r"_foreach_|_fused_(adam|sgd|adagrad)")),
)


@lru_cache(maxsize=65536)
def classify_kernel(name: str, op_name: str = "") -> Family:
    """The family of a kernel, copy or memset.

    Args:
        name: As recorded.
        op_name: The operator that launched it; asked only where the name tells nothing.
    """
    family = next(family for family, pattern in _PATTERNS if pattern.search(name or "?"))
    if family is Family.UNKNOWN and op_name:
        return next((f for f, pattern in _OP_FAMILIES if pattern.search(op_name)), family)
    return family


def classify_kernels(names: list[str], used: npt.NDArray[np.int32]) -> npt.NDArray[np.int8]:
    """int8[len(names)]: the Family of each name that occurs in ``used``; UNKNOWN elsewhere."""
    families = np.zeros(len(names), dtype=np.int8)
    for index in distinct(used):
        families[index] = classify_kernel(names[index])
    return families
