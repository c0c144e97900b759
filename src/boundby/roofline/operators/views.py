"""Operators that start no device work of their own: views, allocations, and containers.

A container's work is done by operators it calls, which are recorded and counted themselves.
"""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


VIEWS = _words(
    "view view_as reshape _reshape_alias _unsafe_view as_strided as_strided_ t t_ T transpose "
    "transpose_ permute swapaxes swapdims movedim moveaxis expand expand_as squeeze squeeze_ "
    "unsqueeze unsqueeze_ select slice narrow split split_with_sizes chunk tensor_split unbind "
    "unflatten flatten ravel unfold diagonal detach detach_ alias view_as_real view_as_complex "
    "real imag numpy_T adjoint mT mH lift lift_fresh resolve_conj resolve_neg conj _conj "
    "broadcast_to atleast_1d atleast_2d atleast_3d hsplit vsplit dsplit "
    "unsafe_chunk unsafe_split unsafe_split_with_sizes"
)

ALLOCATIONS = _words(
    "empty empty_like empty_strided new_empty new_empty_strided resize_ resize_as_ set_ "
    "zeros zeros_like new_zeros ones ones_like new_ones full full_like new_full "
    "rand rand_like randn randn_like randint randint_like"
)
"""Filling them is a recorded child (``fill_``, ``zero_``, ``normal_``)."""

CONTAINERS = _words(
    "to type_as float half double bfloat16 einsum tensordot linalg_multi_dot chain_matmul inner "
    "kron item type result_type is_floating_point size stride numel dim "
    "dropout dropout_ feature_dropout alpha_dropout instance_norm group_norm batch_norm "
    "_batch_norm_impl_index _batch_norm_impl_index_backward _scaled_dot_product_attention_math "
    "adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d nll_loss_nd nll_loss2d meshgrid "
    "pad one_hot embedding_bag embedding_backward masked_scatter _fused_sdp_choice "
    "value_selecting_reduction_backward _has_compatible_shallow_copy_type record_stream "
    "requires_grad_ retain_grad is_pinned pin_memory _pin_memory cpu cuda"
)

FREE_NAMES = VIEWS | ALLOCATIONS | CONTAINERS
"""All of them, without namespace."""

FREE_PREFIXES = (
    "autograd::engine::evaluate_function",
    "torch::autograd::",
    "ProfilerStep",
    "Torch-Compiled Region",
    "## Call CompiledFxGraph",
    "CompiledFunction",
    "TorchDynamo",
    "AOTDispatcher",
    "enumerate(DataLoader)",
    "Optimizer.",
)
"""Containers by the start of their name, as recorded."""

BACKWARD_NODE = r"^\w+Backward\d*$"
"""Autograd nodes (``MmBackward0``): containers of the operators of the backward pass."""
