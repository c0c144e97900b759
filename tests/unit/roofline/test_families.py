"""Families by name: kernels of many producers, and whole recordings where they are at hand."""

from collections import Counter

import numpy as np
import pytest

from boundby.errors import BoundbyError
from boundby.roofline.families import Family, classify_kernel, classify_kernels
from recordings import recording_of

NAMES = {
    Family.MATMUL: [
        "sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize256x128x8_stage3_ffma_execute_kernel__5x",
        "void cutlass::Kernel2<cutlass_80_simt_sgemm_256x128_8x4_nn_align1>(Params)",
        "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_bias_TNT",
        "volta_sgemm_128x64_nn",
        "ampere_fp16_s16816gemm_fp16_128x256_ldg8_f2f_stages_64x3_nn",
        "turing_fp16_s1688gemm_fp16_128x256_ldg8_f2f_stages_32x1_nt",
        "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT320x224x64_MI16x16x1_SN",
        "void cublasLt::splitKreduce_kernel<32, 16, int, float, float>(Params)",
        "void gemv2T_kernel_val<int, int, float, float, float, float, 128>(Params)",
        "_matmul_ogs_NNT_bf16xbf16xmxfp4_128x128x128x1_swiglu",
        "triton_tem_fused_addmm_relu_12",
        "triton_mm",
        "fused_moe_kernel",
    ],
    Family.CONVOLUTION: [
        "sm90_xmma_wgrad_indexed_implicit_gemm_f32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize128",
        "void cudnn::cnn::wgrad_alg0_engine<float, 128, 6, 7, 3, 3, 5, false, 512>(Params)",
        "void implicit_convolve_sgemm<float, float, 1024, 6, 7, 3, 3, 5, 1, false>(Params)",
        "volta_scudnn_winograd_128x128_ldg1_ldg4_relu_tile148t_nt_v1",
        "igemm_fwd_gtcx3_nhwc_bf16_bx0_ex1_bt128x256x32_wt32x32x8",
        "_ZN2ck16tensor_operation6device12_GLOBAL__N_139kernel_grouped_conv_fwd_xdl_cshuffle_v3I",
        "void fft2d_r2c_32x32<float, false, 0u, false>(Params)",
        "conv2d_c1_k1_nhwc_specialized",
        "void at::native::(anonymous namespace)::conv_depthwise2d_forward_kernel<3, float>(Params)",
    ],
    Family.ATTENTION: [
        "attn_fwd",
        "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128>>(Params)",
        "void pytorch_flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<Traits>(Params)",
        "fmha_cutlassB_f32_aligned_64x64_k64_dropout_sm80(Params)",
        "cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_f16_knob_26_64x64x64",
        "kernel_unified_attention_2d",
        "void paged_attention_ll4mi_QKV_mfma16_kernel<0, __hip_bfloat16>(Params)",
        "_ZN7ck_tile6kentryILi1ENS_13FmhaFwdKernelINS_31BlockFmhaPipelineQRKSVS",
        "triton_tem_fused_flex_attention_0",
    ],
    Family.ELEMENTWISE: [
        "void at::native::vectorized_elementwise_kernel<4, CUDAFunctor_add<float>, array>(Params)",
        "void at::native::unrolled_elementwise_kernel<BinaryFunctor<double, double>>(Params)",
        "void at::native::elementwise_kernel<128, 2, gpu_kernel_impl_nocast<AddFunctor>>(Params)",
        "triton_poi_fused_gelu_view_8",
        "triton_poi_fused__scaled_dot_product_flash_attention_cat_transpose_view_10",
        "triton__0d1d2d3d",
        "SubTensorOpWithScalar1d",
        "_ZN7sgl_hip10activation18act_and_mul_kernelI14__hip_bfloat16",
        (
            "void at::native::(anonymous namespace)::upsample_nearest2d_out_frame<float,"
            " &nearest_neighbor_compute_source_index>(Params)"
        ),
        "void cudnn::ops::scalePackedTensor_kernel<float, float>(cudnnTensor4dStruct, float*)",
    ],
    Family.REDUCTION: [
        "void at::native::reduce_kernel<512, 1, ReduceOp<float, MeanOps<float, float>>>(Params)",
        "triton_red_fused_gelu_gelu_backward_sum_view_4",
        "triton_per_fused__to_copy_add_native_layer_norm_backward_view_10",
        "void at::native::(anonymous namespace)::max_pool_forward_nchw<float, float>(Params)",
        "void at::native::nll_loss_forward_reduce_cuda_kernel_2d<float, float, long>(Params)",
    ],
    Family.SOFTMAX: [
        "void (anonymous namespace)::softmax_warp_forward<float, float, float, 9>(Params)",
        "void at::native::cunn_SoftMaxBackward<4, float, float, float>(Params)",
    ],
    Family.NORM: [
        "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float>(Params)",
        "void at::native::GammaBetaBackwardCUDAKernelTemplate<float, float, 32u>(Params)",
        "void cudnn::bn_bw_1C11_kernel_new<float, float, float2, 512, true, 1>(Params)",
        "_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi256E",
    ],
    Family.INDEX: [
        "void at::native::(anonymous namespace)::indexSelectLargeIndex<float, long>(Params)",
        "void vectorized_gather_kernel<16, long>(Params)",
        "void at::native::embedding_backward_feature_kernel<float, float, long>(Params)",
        "void vllm::reshape_and_cache_flash_kernel<__hip_bfloat16>(Params)",
        "void at::native::_scatter_gather_elementwise_kernel<128, 8>(Params)",
    ],
    Family.SORT: [
        "void at_cuda_detail::cub::DeviceRadixSortOnesweepKernel<Policy>(Params)",
        "void at::native::sbtopk::gatherTopK<float, unsigned int, 2, false>(Params)",
        "void cub::DeviceScanKernel<cub::AgentScanPolicy<128, 15>>(Params)",
    ],
    Family.COPY: [
        "Memcpy DtoD (Device -> Device)",
        (
            "void at::native::elementwise_kernel<128, 2, gpu_kernel_impl_nocast<"
            "direct_copy_kernel_cuda(TensorIteratorBase&)::{lambda()#3}>>(Params)"
        ),
        "void at::native::CatArrayBatchedCopy<OpaqueType<4u>, unsigned int, 3, 64, 64>(Params)",
        "void cudnn::ops::nchwToNhwcKernel<float, float, float, false, true>(Params)",
        "batched_transpose_32x32_half",
    ],
    Family.CAST: [
        "void at::native::vectorized_elementwise_kernel<4, bfloat16_copy_kernel_cuda(lambda)>(P)",
        "void at::native::vectorized_elementwise_kernel<4, bfloat16tofloat32_copy_kernel_cuda>(P)",
        (
            "void at::native::unrolled_elementwise_kernel<direct_copy_kernel_cuda(lambda), 4,"
            " memory::LoadWithCast<1>, memory::StoreWithCast<1>>(Params)"
        ),
        "triton_poi_fused__to_copy_1",
        "triton_poi_fused__to_copy_view_0",
    ],
    Family.MEMSET: [
        "Memset (Device)",
        "void at::native::vectorized_elementwise_kernel<4, FillFunctor<float>, array>(Params)",
    ],
    Family.OPTIMIZER: [
        "void at::native::multi_tensor_apply_kernel<TensorListMetadata<4>, AdamFunctor>(Params)",
        "void multi_tensor_apply_kernel<FusedOptimizerTensorListMetadata<4>, FusedAdam>(Params)",
    ],
    Family.RANDOM: [
        "void at::native::distribution_elementwise_grid_stride_kernel<float, 4, normal>(Params)",
        "void at::native::fused_dropout_kernel_vec<float, float, unsigned int, 1, 4>(Params)",
    ],
    Family.COMMUNICATION: [
        "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*, unsigned long, ncclWork*)",
        "ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)",
        "rccl_main_kernel",
        "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(RankData*, Signal)",
        "void one_shot_all_reduce_kernel<c10::BFloat16, 16, 8>(Params)",
        "multimem_all_reduce_kernel",
    ],
    Family.TRANSFER: [
        "Memcpy HtoD (Pageable -> Device)",
        "Memcpy DtoH (Device -> Pinned)",
        "Memcpy PtoP (Device -> Device)",
    ],
    Family.FFT: ["void vector_fft<128u, EPT<16u>, 64u>(kernel_params_t)"],
    Family.UNKNOWN: ["at::cuda::spin_kernel(long)", "Kernel", "", "my_own_kernel"],
}

LIMITS = {
    Family.MATMUL: "compute",
    Family.CONVOLUTION: "compute",
    Family.ATTENTION: "compute",
    Family.NORM: "memory",
    Family.COPY: "memory",
    Family.TRANSFER: "copy",
    Family.COMMUNICATION: "communication",
    Family.UNKNOWN: "other",
}


@pytest.mark.parametrize(
    ("family", "name"), [(family, name) for family, names in NAMES.items() for name in names]
)
def test_kernel_names(family, name):
    assert classify_kernel(name) is family


@pytest.mark.parametrize(("family", "limit"), LIMITS.items())
def test_the_roof_assumed_where_nothing_is_counted(family, limit):
    assert family.limit == limit


@pytest.mark.parametrize(
    ("op", "family"),
    [
        ("vllm::unified_attention_with_output", Family.ATTENTION),
        ("aten::mm", Family.MATMUL),
        ("aten::cudnn_convolution", Family.CONVOLUTION),
        ("_C::rms_norm", Family.NORM),
        ("c10d::allreduce_", Family.COMMUNICATION),
        ("mylib::fancy", Family.UNKNOWN),
    ],
)
def test_the_operator_helps_where_the_name_tells_nothing(op, family):
    assert classify_kernel("kernel_17", op) is family


def test_a_name_that_tells_wins_over_the_operator():
    assert classify_kernel("batched_transpose_32x32_half", "aten::conv2d") is Family.COPY


def test_only_names_in_use_are_classified():
    names = ["aten::add", "ncclKernel_AllReduce", "sgemm"]
    families = classify_kernels(names, np.array([2, 2], dtype=np.int32))

    assert families.tolist() == [Family.UNKNOWN, Family.UNKNOWN, Family.MATMUL]


def recordings(shared):
    for path in sorted((shared / "traces").rglob("*.json.gz")):
        try:
            yield path, recording_of(path)
        except BoundbyError:
            continue


def test_kernels_of_unknown_family_take_next_to_no_time(shared):
    total, unknown = 0, Counter()
    for _, recording in recordings(shared):
        work = recording.device
        families = classify_kernels(recording.names, work.name)[work.name]
        total += int(work.dur.sum())
        for row in np.flatnonzero(families == Family.UNKNOWN):
            unknown[recording.names[work.name[row]]] += int(work.dur[row])
    print(f"kernels of unknown family: {sum(unknown.values()) / total:.6%} of device time")

    assert sum(unknown.values()) < 1e-3 * total, unknown
