import pytest

from boundby.evidence.facts import Place
from boundby.evidence.frames import user_place


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("train.py(42): step", Place("train.py", 42, "step", exact=False)),
        ("/home/me/train.py(7): <lambda>", Place("/home/me/train.py", 7, "<lambda>", exact=False)),
        ("C:\\x\\run.py(1): <module>", Place("C:\\x\\run.py", 1, "<module>", exact=False)),
        ("a (1)/m.py(3): f", Place("a (1)/m.py", 3, "f", exact=False)),
        (
            "<ipython-input-3-ab>(2): step",
            Place("<ipython-input-3-ab>", 2, "step", exact=False),
        ),
    ],
)
def test_frames_of_the_user(name, place):
    assert user_place(name) == place


@pytest.mark.parametrize(
    "name",
    [
        "torch/nn/modules/module.py(1783): _call_impl",
        "/usr/lib/python3.12/json/encoder.py(183): encode",
        "/venv/lib/python3.12/site-packages/mine/net.py(3): forward",
        "json/encoder.py(183): encode",
        "random.py(242): _randbelow_with_getrandbits",
        "tqdm/std.py(1160): __iter__",
        "/var/torchinductor_me/4o/c4ox.py(10): call",
        "<frozen os>(680): __getitem__",
        "<string>(2): __init__",
        "<built-in method item of Tensor object at 0x7f00deb06fd0>",
        "nn.Module: Linear_3",
        "unknown",
        "",
    ],
)
def test_frames_of_libraries_and_others(name):
    assert user_place(name) is None
