"""A roofline written by hand, with one row of everything: what reports are given."""

from boundby.bench.ceilings import DeviceReach, HostCosts
from boundby.evidence.roofs import FamilyRow, Roofline, RoofRow, SideRow, UncountedRow, Use
from boundby.evidence.wastes import LowerPrecision, Waste
from boundby.roofline.ceilings import Ceilings
from boundby.roofline.measured import MeasuredCeilings, device_key

H200 = Ceilings(
    name="H200 SXM",
    source="datasheet",
    document="NVIDIA H200 datasheet",
    memory_gbs=4800,
    peak_tflops={"float32": 67, "tf32": 494.5, "bfloat16": 989.5},
    special_gops=4187.5,
    cache_mib=60,
    multiprocessors=132,
    note="cache as its driver reports it",
)
MEASURED = Ceilings(
    name="NVIDIA H200",
    source="measured",
    document="measured by boundby device with torch 2.11.0",
    memory_gbs=4220,
    peak_tflops={"float32": 50.7, "tf32": 370, "bfloat16": 759},
)
PRODUCT = RoofRow(
    name="aten::mm",
    calls=1,
    ms=21.4,
    counted=1.0,
    family="matmul",
    flops=1.0995e12,
    bytes=8.05e8,
    intensity=1365.3,
    tflops=51.4,
    gbs=37.6,
    compute_share=0.767,
    memory_share=0.0078,
    attained=1.013,
    limited_by="compute",
    lost_ms=4.99,
    doubt="",
)
REFUSED = RoofRow(
    name="void at::native::elementwise_kernel<128, `|evil>",
    calls=2,
    ms=0.108,
    counted=0.5,
    family="elementwise",
    flops=None,
    bytes=9e9,
    intensity=None,
    tflops=None,
    gbs=None,
    compute_share=None,
    memory_share=None,
    attained=None,
    limited_by="memory",
    lost_ms=0.0,
    doubt="above-roof",
)


def known() -> Roofline:
    """One fp32 product on an H200 that was measured too."""
    return Roofline(
        device="NVIDIA H200",
        ceilings=H200,
        attainable=MEASURED,
        reason="",
        steps=5,
        use=Use(mfu=0.761, mfu_half=0.0515, memory=0.0078, flops=1.0995e12, bytes=9.8e9),
        counted=0.97,
        sides=(SideRow("compute", 21.4, 16.41), SideRow("memory", 0.108, 0.108)),
        families=(FamilyRow("matmul", 21.4), FamilyRow("elementwise", 0.108)),
        operators=(PRODUCT, REFUSED),
        kernels=(PRODUCT,),
        uncounted=(UncountedRow("mylib::fancy", 0.054, "no-rule"),),
        wastes=(
            Waste("fp32-product", 1, 21.4, 0.96, flops=1.0995e12, saved_ms=18.5),
            Waste("chain", 2, 0.108, 0.006, bytes=4e9, least_bytes=2.4e9, saved_ms=0.04),
        ),
        lower_precision=LowerPrecision(21.4, 2.9, 1.45, 0.108, 0.054),
    )


def unknown() -> Roofline:
    """The same work on a device that nobody knows."""
    row = RoofRow("aten::mm", 1, 21.4, 1.0, "matmul", 1.0995e12, 8.05e8, 1365.3, 51.4, 37.6,
                  None, None, None, "unknown", None, "")  # fmt: skip
    return Roofline(
        device="Some Card",
        ceilings=None,
        attainable=None,
        reason="Some Card is not in the device table",
        steps=5,
        use=Use(None, None, None, 1.0995e12, 8.05e8),
        counted=1.0,
        sides=(SideRow("compute", 21.4, 21.4),),
        families=(FamilyRow("matmul", 21.4),),
        operators=(row,),
        kernels=(row,),
        uncounted=(),
        wastes=(),
        lower_precision=None,
    )


REACH = DeviceReach(
    measured=MeasuredCeilings(
        device_key("NVIDIA H200", 150109880320, 132),
        4220.0,
        {"float32": 50.7, "bfloat16": 759.0, "float16": 730.0},
        "2.11.0",
    ),
    cuda="13.0",
    transfers={"h2d_pinned": 55.0, "h2d_pageable": 7.1, "d2h_pinned": 54.0, "d2h_pageable": 6.5},
    host=HostCosts(3.1, 6.2, 9.4, 0.98, 21.0, 18.0),
    shapes={"float32": 4096, "bfloat16": 8192, "float16": 8192},
)
"""What ``boundby device`` found."""
