"""Operators with recorded sizes one after the other, one kernel each."""

from builders import Trace

KERNEL = "void at::native::vectorized_elementwise_kernel<4, functor<float>>"
GEMM = "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT"
SOFTMAX = "void softmax_warp_forward<c10::BFloat16>"
N = 42_240_000  # 4 N bytes take 40 us at the attainable 4224 GB/s of an H200


class Operations:
    """A trace without steps; times in us."""

    def __init__(self):
        self.trace = Trace()
        self.at, self.free = 0, 1_000

    def run(self, name, dims, types="float", dur=100, kernel=KERNEL, **recorded):
        """One operator; a string as ``types`` stands for all its tensors."""
        types = [types if d else "Scalar" for d in dims] if isinstance(types, str) else types
        concrete = recorded.pop("concrete", [""] * len(dims))
        how = recorded.pop("how", {})
        op = self.trace.op(name, self.at, 20, dims=dims, types=types, concrete=concrete, **recorded)
        self.trace.submit(kernel, self.at + 5, start=self.free, dur=dur, op=op, **how)
        self.at, self.free = self.at + 50, self.free + dur + 1
        return self


def attention(program, half="c10::BFloat16"):
    """A projection, attention over scores of 64 x 1024 x 1024, a projection: 520 us."""
    batch, queries, keys = scores = 64, 1024, 1024
    program.run("aten::mm", [[64, 64], [64, 64]], half, dur=10, kernel=GEMM)
    program.run("aten::bmm", [[batch, queries, 64], [batch, 64, keys]], half, kernel=GEMM)
    program.run("aten::div", [list(scores), []], half)
    program.run(
        "aten::_softmax", [[4, batch // 4, queries, keys], [], []], half, dur=200, kernel=SOFTMAX
    )
    program.run("aten::bmm", [list(scores), [batch, keys, 64]], half, kernel=GEMM)
    program.run("aten::mm", [[64, 64], [64, 64]], half, dur=10, kernel=GEMM)
    return program
