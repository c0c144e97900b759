"""What each launch does, as edits need to know it, by the names of kernels."""

import pytest

from builders import Trace
from underroofs import held

NAMES = {
    "sgemm_largek_lds64<true, false, 5, 5, 4, 4, 4, 34>": "fp32",
    "sm80_xmma_gemm_tf32f32_tf32f32_f32_nn_n_tilesize32x32x8": "tf32",
    "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64": "half",
    "fmha_cutlassF_f32_aligned_64x64_rf_sm80(AttentionKernel<float>)": "fused_fp32",
    "fmha_cutlassB_f32_aligned_64x64_k64_dropout_sm80(Params)": "fused_fp32",
    "fmha_cutlassF_bf16_aligned_64x64_rf_sm80(Params)": None,
    "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4>>": None,
    "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x64": None,
    "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>": None,
}
WIDTHS = ("fp32", "tf32", "half", "fused_fp32")


@pytest.mark.parametrize(("name", "expected"), NAMES.items())
def test_the_width_of_a_launch_is_that_of_its_kernel(name, expected, tmp_path):
    trace = Trace()
    trace.submit(name, 10, start=20, dur=30)

    marks = held(trace, tmp_path).marks
    assert [width for width in WIDTHS if getattr(marks, width).any()] == [expected] * bool(expected)
