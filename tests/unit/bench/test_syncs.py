"""Hidden waits by line, on a CPU as well; and what the stream sanitizer wrote."""

from unittest.mock import patch

import torch

from boundby.bench.machine import CudaMachine
from boundby.bench.streams import parse_races
from boundby.bench.syncs import watch_syncs


def test_each_wait_is_found_with_its_line():
    x = torch.randn(8)
    with watch_syncs() as found:
        y = x * 2
        float(y.sum())
        y[y > 0]
        y.tolist()
        torch.equal(x, y)
    named = [each.what for each in found]

    assert named == ["aten._local_scalar_dense", "aten.index", "Tensor.tolist", "aten.equal"]
    assert {each.file for each in found} == {__file__}
    assert len({each.line for each in found}) == len(found)


def test_work_that_does_not_wait_is_left_alone():
    x = torch.randn(8, 8, requires_grad=True)
    with watch_syncs() as found:
        torch.where(x > 0, x, 0.0).sum().backward()
        x.detach().to(torch.float64)

    assert found == []


def test_everything_is_given_back():
    tolist = torch.Tensor.tolist
    with watch_syncs():
        pass

    assert torch.Tensor.tolist is tolist


REPORT = """============================
CSAN detected a possible data race on tensor with data pointer 139719969079296
Access by stream 94646435460352 during kernel:
aten::normal.float(Tensor self, float mean=0., *) -> Tensor
writing to argument(s) self, out, and to the output
With stack trace:
  File "/home/user/train.py", line 6, in <module>
    torch.rand(10000, out=a)
  File "/opt/site-packages/torch/cuda/_sanitizer.py", line 500, in __torch_dispatch__
    errors = self.event_handler._handle_kernel_launch(

Previous access by stream 0 during kernel:
aten::rand(int[] size) -> Tensor
writing to the output
With stack trace:
  File "/home/user/train.py", line 3, in <module>
    a = torch.rand(10000, device="cuda")
"""


def test_a_report_of_the_sanitizer_becomes_a_race():
    (race,) = parse_races(REPORT)

    assert (race.first, race.second) == ("94646435460352", "0")
    assert (race.file, race.line) == ("/home/user/train.py", 6)
    assert race.operators[0].startswith("aten::normal")
    assert "wait_stream" in race.message
    assert parse_races("") == ()


def test_what_boundby_waits_for_itself_is_not_hidden():
    machine = CudaMachine()
    with patch.object(torch.cuda, "synchronize"), watch_syncs() as found:
        machine.synchronize()
        torch.cuda.synchronize()

    assert [each.what for each in found] == ["torch.cuda.synchronize"]
