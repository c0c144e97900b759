"""Operator calls as a profiler records them: written by hand, or captured from torch itself."""

import json

import pytest

from boundby.read.recording import Signature
from boundby.roofline.dtypes import SCALAR_TYPES

KINETO_TYPES = {
    "torch.float32": "float",
    "torch.float64": "double",
    "torch.bfloat16": "c10::BFloat16",
    "torch.float16": "c10::Half",
    "torch.int64": "long int",
    "torch.int32": "int",
    "torch.bool": "bool",
    "torch.uint8": "unsigned char",
    "torch.float8_e4m3fn": "c10::Float8_e4m3fn",
}


SCALAR_CODES = {f"torch.{name}": code for code, name in SCALAR_TYPES.items()}


def encode(value) -> bytes:
    return b"" if value is None else json.dumps(value).encode()


@pytest.fixture(scope="session")
def sign():
    """Build a Signature: ``sign([[8, 4], [4, 2]], "float")``; one type stands for all tensors."""

    def build(dims, types="float", strides=None, concrete=None) -> Signature:
        if isinstance(types, str):
            types = [types if d or d == () else "Scalar" for d in dims]
        return Signature(encode(dims), encode(types), encode(strides), encode(concrete))

    return build


class Captured(list):
    """Every operator that torch ran inside ``with``, as (name, signature, torch's own count)."""

    def __enter__(self):
        from torch.utils._python_dispatch import TorchDispatchMode
        from torch.utils.flop_counter import flop_registry

        calls = self

        class Mode(TorchDispatchMode):
            def __torch_dispatch__(self, function, types, args=(), kwargs=None):
                kwargs = kwargs or {}
                result = function(*args, **kwargs)
                name = function.overloadpacket
                count = flop_registry.get(name)
                flops = None if count is None else count(*args, **kwargs, out_val=result)
                calls.append(
                    (str(name).replace(".", "::"), recorded(function, args, kwargs), flops)
                )
                return result

        self.mode = Mode()
        self.mode.__enter__()
        return self

    def __exit__(self, *error):
        self.mode.__exit__(*error)


def recorded(function, args, kwargs) -> Signature:
    """The arguments in the order of the schema, defaults filled in, as Kineto writes them."""
    rows = []
    for index, argument in enumerate(function._schema.arguments):
        value = args[index] if index < len(args) else kwargs.get(argument.name, "missing")
        if isinstance(value, str) and value == "missing":
            value = argument.default_value
        rows.append(slot(value))
    dims, types, strides, concrete = zip(*rows, strict=True)
    return Signature(*(encode(list(column)) for column in (dims, types, strides, concrete)))


def slot(value):
    import torch

    if isinstance(value, torch.Tensor):
        return list(value.shape), KINETO_TYPES[str(value.dtype)], list(value.stride()), ""
    if isinstance(value, list | tuple) and value and isinstance(value[0], torch.Tensor):
        shapes = [list(tensor.shape) for tensor in value]
        return shapes, "TensorList", [list(tensor.stride()) for tensor in value], ""
    if isinstance(value, list | tuple):
        return [], "ScalarList", [], "[" + ", ".join(str(item) for item in value) + "]"
    if isinstance(value, torch.dtype):
        return [], "Scalar", [], str(SCALAR_CODES[str(value)])
    if value is None or isinstance(value, torch.device | torch.layout | torch.memory_format):
        return [], "", [], ""
    return [], "Scalar", [], str(value)


@pytest.fixture
def captured():
    return Captured()
