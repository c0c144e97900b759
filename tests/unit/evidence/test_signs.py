"""Signs read off operators and kernels: origins, optimizer, precision, attention, norms, mode."""

import pytest

from boundby.evidence.optree import build_op_tree
from boundby.evidence.precision import width
from boundby.evidence.signs import Signs, find_signs
from builders import Trace
from steps import ELEMENTWISE, SGEMM, Op, Range, one_by_one, repeated
from worlds import timeline_of

CAST = ["aten::to", "aten::_to_copy", "aten::copy_"]
BACKWARD = "autograd::engine::evaluate_function: MmBackward0"
BIG = [[4096, 4096], [4096, 4096]]
SOFTMAX = "void softmax_warp_forward<float>"


def mm(**args):
    return Op("aten::mm", SGEMM, **args)


def add(**args):
    return Op("aten::add", ELEMENTWISE, **args)


def test_nothing_is_known_of_a_recording_without_device_work():
    trace = Trace()
    trace.step(1, 0, 100)
    trace.op("aten::add", 10, 20)

    assert find_signs(timeline_of(trace)) == Signs()


def test_a_forest_that_is_there_already_is_used():
    timeline = repeated(mm(), add())

    assert find_signs(timeline, build_op_tree(timeline)) == find_signs(timeline)


# --- Where launches come from


def test_shares_of_launches_sum_to_one():
    origins = find_signs(repeated(mm(us=50), add(), add(), mm())).origins

    assert (origins.elementwise, origins.small, origins.other) == (0.5, 0.25, 0.25)
    assert origins.optimizer == origins.casts == origins.python_loop == 0


def test_elementwise_kernels_make_a_chain_only_next_to_each_other():
    apart = find_signs(repeated(add(), mm(), add(), mm())).origins
    together = find_signs(repeated(mm(), add(us=15), add(us=15), mm())).origins

    assert apart.elementwise == 0
    assert together.elementwise == 0.5
    assert together.elementwise_device == pytest.approx(0.75)


def test_a_cast_changes_the_type_and_a_copy_between_layouts_does_not():
    def copied(types):
        return find_signs(repeated(Op(CAST, ELEMENTWISE, types=types), mm())).origins

    assert copied(["c10::BFloat16", "float"]).casts == 0.5
    assert copied(["c10::BFloat16", "float"]).casts_device == pytest.approx(0.5)
    assert copied(["float", "float"]).casts == 0
    assert copied(None).casts == 0.5


def test_a_copy_from_the_host_is_no_cast():
    upload = Op(CAST, "Memcpy HtoD (Pageable -> Device)", types=["float", "double"])

    assert find_signs(repeated(upload, mm())).origins.casts == 0


def loop(times, *extra, body=None):
    one = body or [Op("aten::select"), mm(), add()]
    return repeated(*(one * times), *extra)


def test_a_short_pattern_on_slices_is_a_loop():
    origins = find_signs(loop(20, Op("aten::sum", "reduce_kernel"))).origins

    assert origins.python_loop == pytest.approx(40 / 41)
    assert origins.loop_repeats == 20


def test_layers_repeat_too_and_are_no_loop():
    layer = [Op("aten::select"), *[mm(dims=[[i, i]]) for i in range(5)], *[add()] * 5]

    assert find_signs(loop(12, body=layer)).origins.python_loop == 0
    assert find_signs(loop(20, body=[mm(), add()])).origins.python_loop == 0


def test_what_repeats_a_hundred_times_is_a_loop_without_slices():
    assert find_signs(loop(100, body=[mm(), add()])).origins.python_loop == 1


def test_a_loop_that_reads_a_value_each_time_is_a_matter_of_waits():
    body = [Op("aten::select"), mm(), Op(["aten::item", "aten::_local_scalar_dense"])]

    assert find_signs(loop(20, body=body)).origins.python_loop == 0


def test_the_backward_pass_of_a_loop_belongs_to_it():
    backward = [Op([BACKWARD, "aten::mm"], SGEMM), Op([BACKWARD, "aten::mul"], ELEMENTWISE)] * 20
    origins = find_signs(loop(20, Op("aten::sum", "reduce_kernel"), *backward)).origins

    assert origins.python_loop == pytest.approx(80 / 81)


def test_a_shorter_run_beside_a_loop_stays_outside_it():
    chain = [Op("aten::mul", ELEMENTWISE), Op("aten::exp", "exp_kernel")] * 8
    origins = find_signs(loop(20, Op("aten::sum", "reduce_kernel"), *chain)).origins

    assert origins.python_loop == pytest.approx(40 / 57)


def test_a_step_of_another_length_is_not_laid_over():
    body = [Op("aten::select"), mm(), add()] * 20
    origins = find_signs(one_by_one(body[:6], body, body)).origins

    assert origins.python_loop == pytest.approx(80 / 84)


# --- Optimizer


@pytest.mark.parametrize(
    ("kind", "inside"),
    [
        ("loop", [Op("aten::addcdiv_", ELEMENTWISE)] * 10),
        ("foreach", [Op("aten::_foreach_add_", "multi_tensor_apply_kernel")] * 10),
        ("fused", [Op("aten::_fused_adamw_", "multi_tensor_apply_kernel")]),
        ("fused", [Op("aten::add_", ELEMENTWISE)]),
        (None, [Op("## Call CompiledFxGraph abc ##", "triton_poi_fused_add_0")]),
    ],
)
def test_the_kind_of_update_is_what_its_range_holds(kind, inside):
    update = find_signs(repeated(mm(), Range("Optimizer.step#AdamW.step", *inside))).update

    assert update.kind == kind
    assert update.launches == len(inside)
    assert 0 < update.host_share < 1
    assert 0 < update.device_share < 1


def test_the_optimizer_is_named_by_the_range_that_takes_longest():
    small, large = Range("Optimizer.step#SGD.step", add()), Range("Optimizer.step#Adam.step", mm())
    timeline = repeated(small, large, large)

    assert find_signs(timeline).update.optimizer == "Adam"


def test_fused_operators_name_no_class():
    fused = Op("aten::_fused_adamw_", ELEMENTWISE)

    assert find_signs(repeated(mm(), fused)).update.optimizer is None


def test_fused_operators_are_an_update_without_a_range():
    update = find_signs(repeated(mm(), Op("aten::_fused_sgd_", "multi_tensor_apply"))).update

    assert (update.kind, update.launches) == ("fused", 1)


def test_without_an_update_nothing_is_said_of_it():
    assert find_signs(repeated(mm())).update == Signs().update


# --- Precision


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        ("void cutlass::Kernel2<cutlass_80_simt_sgemm_128x32_8x5_nn_align1>", "fp32"),
        ("sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128x8_ffma", "fp32"),
        ("volta_scudnn_128x64_relu_interior_nn_v1", "fp32"),
        ("void implicit_convolve_sgemm<float, float, 1024, 5, 5, 3>", "fp32"),
        ("Cijk_Ailk_Bjlk_SB_Bias_AS_SAV_UserArgs_MT64x16x16", "fp32"),
        ("sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x128x32", "tf32"),
        ("void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_64x64_16x6_nn_align4>", "tf32"),
        ("sm90_xmma_fprop_implicit_gemm_f32f32_tf32f32_f32_nhwckrsc_nhwc", "tf32"),
        ("nvjet_sm90_tst_128x256_64x4_2x1_v_bz_coopA_bias_TNN", "half"),
        ("ampere_fp16_s16816gemm_fp16_128x256_ldg8_f2f_stages_64x3_nn", "half"),
        ("cutlass_75_tensorop_f16_s1688gemm_f16_256x128_nn_align2", "half"),
        ("Cijk_Alik_Bljk_BBS_BH_Bias_HAS_SAV_UserArgs_MT16x16x256", "half"),
        ("ampere_dgemm_64x64_nn", "double"),
        ("void at::native::vectorized_elementwise_kernel<4, float>", ""),
        ("pytorch_flash::flash_fwd_kernel<cutlass::bfloat16_t>", ""),
        ("some_unknown_gemm", ""),
    ],
)
def test_the_name_of_a_product_tells_its_width(kernel, expected):
    assert width(kernel) == expected


def test_shares_are_of_device_time():
    precision = find_signs(repeated(mm(us=30), Op("aten::add", ELEMENTWISE, us=10))).precision

    assert precision.products == precision.fp32 == pytest.approx(0.75)
    assert precision.tf32 == precision.half == precision.double == 0


def test_odd_sizes_count_on_tensor_cores_alone():
    def odd(kernel, dims):
        return find_signs(repeated(Op("aten::mm", kernel, dims=dims))).precision.odd_sizes

    assert odd("nvjet_sm90_tst_128x128", [[64, 512], [512, 50257]]) == 1
    assert odd("nvjet_sm90_tst_128x128", [[63, 512], [512, 50304]]) == 0
    assert odd("nvjet_sm90_tst_128x128", "no dims") == 0
    assert odd("nvjet_sm90_tst_128x128", None) is None
    assert odd(SGEMM, [[64, 512], [512, 50257]]) == 0


def test_a_product_without_recorded_sizes_is_not_odd():
    half = "nvjet_sm90_tst_128x128"
    timeline = repeated(Op("aten::mm", half), Op("aten::mm", half, dims=[[8, 8], [8, 8]]))

    assert find_signs(timeline).precision.odd_sizes == 0


# --- Attention


def attention(*between, dims=((2, 8, 512, 512),), types=("float",)):
    softmax = Op("aten::_softmax", SOFTMAX, 10, dims=[list(d) for d in dims], types=list(types))
    return [Op("aten::bmm", SGEMM, 5), *between, softmax, Op("aten::bmm", SGEMM, 5)]


def test_softmax_between_batched_products_is_attention_by_hand():
    found = find_signs(repeated(*attention(add()), mm(us=25))).attention

    assert found.by_hand == pytest.approx(0.5)
    assert found.calls == 1
    assert found.score_bytes == 2 * 8 * 512 * 512 * 4
    assert found.fused is False


@pytest.mark.parametrize(
    ("between", "masked"),
    [
        ((), False),
        (("aten::div",), False),
        (("aten::div", "aten::masked_fill_"), True),
        (("aten::where",), True),
        (("aten::add",), True),
    ],
)
def test_a_mask_stands_between_product_and_softmax(between, masked):
    work = attention(*(Op(name, ELEMENTWISE) for name in between))

    assert find_signs(repeated(add(), *work, add())).attention.masked is masked


def test_without_attention_by_hand_nothing_is_masked():
    assert find_signs(repeated(mm(), add())).attention.masked is False


def test_backward_attention_counts_as_time_and_not_as_a_call():
    backward = [
        Op("aten::bmm", SGEMM),
        Op("aten::_softmax_backward_data", SOFTMAX),
        Op("aten::bmm", SGEMM),
    ]
    found = find_signs(repeated(*attention(), mm(), mm(), mm(), *backward)).attention

    assert found.by_hand == pytest.approx(35 / 50)
    assert found.calls == 1


def test_a_softmax_far_from_products_or_without_them_is_none():
    classifier = find_signs(repeated(mm(), Op("aten::_softmax", SOFTMAX))).attention
    far = find_signs(repeated(*attention(*[add()] * 9))).attention

    assert classifier.by_hand == far.by_hand == 0
    assert classifier.score_bytes is None


def test_sizes_or_types_that_were_not_recorded_give_no_bytes():
    assert find_signs(repeated(*attention(types=("",)))).attention.score_bytes is None
    bare = [Op("aten::bmm", SGEMM), Op("aten::_softmax", SOFTMAX), Op("aten::bmm", SGEMM)]
    assert find_signs(repeated(*bare)).attention.score_bytes is None


def test_what_fused_attention_falls_back_to_was_asked_for_fused():
    inside = "aten::_scaled_dot_product_attention_math"
    work = [
        Op([inside, "aten::bmm"], SGEMM),
        Op([inside, "aten::_softmax"], SOFTMAX),
        Op([inside, "aten::bmm"], SGEMM),
    ]

    assert find_signs(repeated(*work)).attention.by_hand == 0


def test_a_fused_kernel_is_recognised():
    flash = Op("aten::_flash_attention_forward", "pytorch_flash::flash_fwd_kernel<Flash>")

    assert find_signs(repeated(flash)).attention.fused is True


def decode_steps(lengths, keys=None):
    def call(query, key):
        dims = [[1, 8, query, 64], [1, 8, key, 64], [1, 8, key, 64]]
        return [Op("aten::scaled_dot_product_attention", "fmha_cutlassF_f32", dims=dims)] * 2

    return one_by_one(*(call(q, k) for q, k in zip(lengths, keys or lengths, strict=True)))


def test_queries_that_grow_with_the_keys_compute_the_prefix_again():
    assert find_signs(decode_steps([10, 11, 12])).attention.recomputes_prefix is True
    assert find_signs(decode_steps([1, 1, 1], [10, 11, 12])).attention.recomputes_prefix is False
    assert find_signs(decode_steps([64, 64, 64])).attention.recomputes_prefix is False
    assert find_signs(decode_steps([10, 11])).attention.recomputes_prefix is False
    assert find_signs(repeated(mm(dims=BIG))).attention.recomputes_prefix is None


def test_score_matrices_grow_like_the_queries_they_come_from():
    work = [attention(dims=((1, 8, n, n),)) for n in (10, 11, 12)]

    assert find_signs(one_by_one(*work)).attention.recomputes_prefix is True


def test_training_never_computes_a_prefix_again():
    work = [[*attention(dims=((1, 8, n, n),)), Op(BACKWARD)] for n in (10, 11, 12)]

    assert find_signs(one_by_one(*work)).attention.recomputes_prefix is False


@pytest.mark.parametrize("dims", ["no dims", [[5]], [[2, 3], [4]], None])
def test_attention_of_unknown_sizes_says_nothing_of_a_prefix(dims):
    call = Op("aten::scaled_dot_product_attention", "fmha_cutlassF_f32", dims=dims)

    assert find_signs(repeated(call)).attention.recomputes_prefix is None


# --- Norms


def rms_norm(prefix=()):
    names = ("aten::pow", "aten::mean", "aten::add", "aten::rsqrt", "aten::mul", "aten::mul")
    return [Op([*prefix, name], ELEMENTWISE) for name in names]


def test_a_mean_and_a_root_are_a_norm_by_hand():
    norms = find_signs(repeated(*rms_norm(), *rms_norm(), mm(us=60))).norms

    assert norms.by_hand == 2
    assert norms.device_share == pytest.approx(0.5)


def test_roots_of_an_optimizer_or_a_backward_pass_are_no_norms():
    update = Range("Optimizer.step#Adam.step", *rms_norm())

    assert find_signs(repeated(mm(), update)).norms.by_hand == 0
    assert find_signs(repeated(mm(), *rms_norm([BACKWARD]))).norms.by_hand == 0
    assert find_signs(repeated(Op("aten::sqrt", ELEMENTWISE))).norms.by_hand == 0


def test_a_root_far_from_its_mean_or_before_it_is_no_norm():
    mean, root = Op("aten::mean", "reduce_kernel"), Op("aten::sqrt", ELEMENTWISE)

    assert find_signs(repeated(mean, *[add()] * 8, root)).norms.by_hand == 0
    assert find_signs(repeated(root, *[add()] * 8, mean)).norms.by_hand == 0


# --- Mode


def test_a_backward_pass_or_an_update_is_training():
    assert find_signs(repeated(mm())).mode.training is False
    assert find_signs(repeated(mm(), Op([BACKWARD, "aten::mm"], SGEMM))).mode.training is True
    update = Range("Optimizer.step#SGD.step", add())
    assert find_signs(repeated(mm(), update)).mode.training is True


def test_operators_with_a_sequence_number_are_recorded_for_a_backward_pass():
    assert find_signs(repeated(mm(sequence=3))).mode.records_grad is True
    assert find_signs(repeated(mm())).mode.records_grad is False


def test_compiled_code_shows_in_regions_and_in_kernels():
    region = Op("Torch-Compiled Region: 0/0", "triton_poi_fused_add_0")
    lookup = Op("TorchDynamo Cache Lookup")
    compiled = find_signs(repeated(lookup, region, region)).mode

    assert (compiled.compiled, compiled.compiled_calls) == (True, 2)
    assert 0 < compiled.guards < 1
    kernel = find_signs(repeated(Op("aten::add", "triton_per_fused_gelu_native_layer_norm_0"))).mode
    assert (kernel.compiled, kernel.compiled_calls, kernel.guards) == (True, None, None)
    assert find_signs(repeated(Op("mine", "my_triton_kernel"))).mode.compiled is False


def test_graphs_are_seen_by_their_launch():
    graph = Op("aten::add", SGEMM, call="cudaGraphLaunch")

    assert find_signs(repeated(graph)).mode.in_graphs is True
    assert find_signs(repeated(mm())).mode.in_graphs is False


def test_forward_operators_in_the_backward_pass_are_computed_again():
    again = Op([BACKWARD, "aten::linear", "aten::addmm"], SGEMM)

    assert find_signs(repeated(mm(us=15), again)).mode.recomputed == pytest.approx(0.25)


def test_sizes_vary_where_steps_differ():
    steps = [[mm(dims=[[8, n], [n, 8]])] for n in (8, 8, 16)]

    assert find_signs(one_by_one(*steps)).mode.shapes_vary is True
    assert find_signs(repeated(mm(dims=BIG))).mode.shapes_vary is False
    assert find_signs(repeated(mm())).mode.shapes_vary is None


def test_without_operators_only_kernels_tell():
    trace = Trace()
    trace.step(1, 0, 100)
    trace.submit(SGEMM, 10, start=20, dur=5)
    mode = find_signs(timeline_of(trace)).mode

    assert (mode.compiled, mode.in_graphs) == (False, False)
    assert (mode.training, mode.records_grad, mode.shapes_vary) == (None, None, None)
