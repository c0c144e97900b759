"""What a device attains, as text, JSON and Markdown."""

import json
from dataclasses import replace

import roofs
from boundby.report.device import encode, markdown, render
from boundby.report.terminal import Look
from roofs import REACH

TEXT = """\
NVIDIA H200, torch 2.11.0, CUDA 13.0

ceilings                    attainable   datasheet       share
copy, GB/s                        4220        4800         88%
float32 4096, TFLOP/s             50.7        67.0         76%
bfloat16 8192, TFLOP/s             759         990         77%
float16 8192, TFLOP/s              730           -           -

transfers                         GB/s
host to device, pinned            55.0
host to device, pageable          7.10
device to host, pinned            54.0
device to host, pageable          6.50

host                                us
a launch alone                    3.10
an operator                       6.20
with autograd                     9.40
a node of a CUDA graph           0.980
an operator and a wait            21.0
reading a value                   18.0

kernels below 6.20 us leave this device waiting for its host, below 9.40 us where autograd records;
in a CUDA graph from 0.980 us on
"""


def test_text():
    assert render(REACH, roofs.H200, Look()) == TEXT


def test_an_unknown_device_has_no_data_sheet():
    text = render(REACH, None, Look())

    assert "copy, GB/s                        4220           -           -" in text


def test_what_cannot_be_measured_is_a_dash():
    host = replace(REACH.host, launch=None, graph_node=None)
    text = render(replace(REACH, host=host, cuda=""), None, Look())

    assert "a launch alone                       -" in text
    assert text.startswith("NVIDIA H200, torch 2.11.0\n")
    assert text.endswith("where autograd records\n")


def test_markdown():
    text = markdown(REACH, roofs.H200)

    assert text.startswith("# NVIDIA H200, torch 2.11.0, CUDA 13.0\n\n| ceilings | attainable |")
    assert "| bfloat16 8192, TFLOP/s | 759 | 990 | 77% |" in text


def test_document():
    found = json.loads(encode(REACH, roofs.H200))

    assert list(found) == [
        "schema_version",
        "tool",
        "device",
        "attainable",
        "datasheet",
        "product_sides",
        "transfers_gbs",
        "host_us",
    ]
    assert found["device"] == {
        "name": "NVIDIA H200",
        "memory_gib": 140,
        "multiprocessors": 132,
        "torch": "2.11.0",
        "cuda": "13.0",
    }
    assert found["attainable"]["memory_gbs"] == 4220
    assert found["datasheet"]["peak_tflops"]["tf32"] == 494.5
    assert found["host_us"]["launch_bound_below"] == 6.2
    assert json.loads(encode(REACH, None))["datasheet"] is None
