"""Names of strangers: nothing in them may move a cursor, reorder or hide text."""

import pytest

from boundby.report.sanitize import cells, cut, fit, kernel, private, shown, visible, well_formed
from boundby.report.sanitize import command as shown_command


@pytest.mark.parametrize(
    ("hostile", "safe"),
    [
        pytest.param("\x1b[2Jgone", r"\x1b[2Jgone", id="escape sequence"),
        pytest.param("\x9b31mred", r"\x9b31mred", id="one-byte escape sequence"),
        pytest.param("a\r\nb\tc", r"a\x0d\x0ab\x09c", id="line breaks"),
        pytest.param("user\u202enimda", r"user\u202enimda", id="right-to-left override"),
        pytest.param("a\u2066b\u2069", r"a\u2066b\u2069", id="isolates"),
        pytest.param("ad\u200bmin", r"ad\u200bmin", id="zero width"),
        pytest.param("\ufeffname", r"\ufeffname", id="byte order mark"),
        pytest.param("a\U000e0041b", r"a\U000e0041b", id="tag character"),
        pytest.param("bad\udc80", r"bad\udc80", id="lone surrogate"),
        pytest.param("a\u2028b", r"a\u2028b", id="line separator"),
        pytest.param("a\u00a0b", "a b", id="no-break space"),
        pytest.param("训练 é", "训练 é", id="letters stay"),
    ],
)
def test_what_is_not_printable_is_written_out(hostile, safe):
    assert visible(hostile) == safe
    assert visible(hostile).isprintable()


@pytest.mark.parametrize(
    ("recorded", "reported"),
    [
        ("/home/alice/train.py(42): step", "~/train.py(42): step"),
        ("/Users/alice/a b/train.py", "~/a b/train.py"),
        (r"C:\Users\alice\train.py", r"~\train.py"),
        ("/root/train.py", "~/train.py"),
        ("/rooted/train.py", "/rooted/train.py"),
        ("aten::add/home", "aten::add/home"),
        ('"/home/bob/x", "/home/carol"', '"~/x", "~"'),
        ("/mnt/home/alice/train.py(3): f", "~/train.py(3): f"),
        ("/data/users/alice/train.py(3): f", "~/train.py(3): f"),
        ("/mnt/c/Users/alice/train.py(3): f", "~/train.py(3): f"),
        (r"c:\users\alice\train.py(3): f", r"~\train.py(3): f"),
        (r"\\server\Users\alice\train.py(3): f", r"~\train.py(3): f"),
        ("/Users/Jane Doe/train.py(3): f", "~/train.py(3): f"),
        ("/srv/app/users/views/list.py(3): f", "/srv/app/users/views/list.py(3): f"),
        ("/srv/app/home/views.py(3): f", "/srv/app/home/views.py(3): f"),
    ],
)
def test_home_folders_do_not_name_their_owner(recorded, reported):
    assert private(recorded) == reported


@pytest.mark.parametrize(
    ("command", "typed"),
    [
        ("boundby trace /home/alice/trace.json --ops 15", "boundby trace ~/trace.json --ops 15"),
        ("boundby trace '/home/alice/my trace.json'", "boundby trace ~/'my trace.json'"),
        ("boundby trace 'a b.json'", "boundby trace 'a b.json'"),
    ],
)
def test_a_command_stays_one_that_can_be_typed(command, typed):
    assert shown_command(command) == typed


def test_shown_does_both():
    assert shown("/home/alice/\x1b[1m") == r"~/\x1b[1m"


def test_lone_surrogates_become_replacement_characters():
    assert well_formed("a\ud800b") == "a?b"


@pytest.mark.parametrize(
    ("mangled", "short"),
    [
        (
            "void at::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>(int)",
            "vectorized_elementwise_kernel<CUDAFunctor_add>",
        ),
        (
            "void at::reduce_kernel<512, 1, at::ReduceOp<float, at::MeanOps<float>>>(at::ReduceOp)",
            "reduce_kernel<MeanOps>",
        ),
        (
            "void at::native::(anonymous namespace)::CatArrayBatchedCopy<float, unsigned int, 2>()",
            "CatArrayBatchedCopy",
        ),
        (
            "std::enable_if<!T7, void>::type internal::gemvx::kernel<int, Params<int>>(int)",
            "kernel<Params>",
        ),
        (
            "void cutlass::Kernel2<cutlass_80_simt_sgemm_256x128_8x4_nn_align1>(int)",
            "Kernel2<cutlass_80_simt_sgemm_256x128_8x4_nn_align1>",
        ),
        ("triton_poi_fused_add_relu_0", "triton_poi_fused_add_relu_0"),
        ("aten::addmm", "aten::addmm"),
        (
            "autograd::engine::evaluate_function: MmBackward0",
            "autograd::engine::evaluate_function: MmBackward0",
        ),
        (
            "<built-in method item of Tensor object at 0x7f>",
            "<built-in method item of Tensor object at 0x7f>",
        ),
        ("void broken::template<", "template"),
    ],
)
def test_a_kernel_is_called_by_what_it_does(mangled, short):
    assert kernel(mangled) == short


def test_a_hostile_kernel_name_costs_no_recursion_error():
    assert kernel("void " + "a<b>::" * 10_000)


def test_columns_are_counted_as_a_terminal_does():
    assert cells("abc") == 3
    assert cells("训练") == 4
    assert cells("e\u0301") == 1


@pytest.mark.parametrize("width", [1, 2, 3, 4, 7, 12, 40])
@pytest.mark.parametrize("name", ["short", "a_rather_long_kernel_name_128x64", "训练训练训练训练"])
def test_fitted_text_fills_its_column(name, width):
    assert cells(fit(name, width)) == width


def test_cut_text_keeps_both_ends():
    assert cut("sm80_xmma_gemm_f32_kernel_trt", 15) == "sm80_x...el_trt"
