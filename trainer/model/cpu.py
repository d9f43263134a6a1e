"""What megatron-core takes for granted about CUDA, supplied on hosts that have none.

megatron-core names `cuda` devices, streams and random states literally. On a machine without CUDA these
names are redirected to the CPU for the whole process; with CUDA nothing is touched.
"""

import contextlib
import functools
import importlib
import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch.utils import _device

_FACTORIES = (
    "tensor", "as_tensor", "zeros", "ones", "empty", "full", "arange",
    "zeros_like", "ones_like", "empty_like", "rand", "randn",
)  # fmt: skip


@functools.cache
def install() -> None:
    """Redirect, once. Call it before megatron-core is imported, or it loads torch's compiler for nothing."""
    if torch.cuda.is_available():
        return
    _silence()
    _redirect_devices()
    _import_uncompiled()
    _redirect_random_state()
    _redirect_streams()
    _redirect_types()


def _silence() -> None:
    """No word of megatron-core's on libraries for GPUs that are missing, nor on how it calls torch."""
    for module in (r"megatron\.", r"torch\.distributed\."):
        for category in (UserWarning, FutureWarning):
            warnings.filterwarnings("ignore", category=category, module=module)


def _on_cpu(factory: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(factory)
    def call(*args: Any, **kwargs: Any) -> Any:
        wanted = kwargs.get("device")
        if wanted is not None and not isinstance(wanted, int) and str(wanted).startswith("cuda"):
            kwargs["device"] = "cpu"
        return factory(*args, **kwargs)

    return call


def _redirect_devices() -> None:
    # `with torch.device(...)` knows factories by identity: it must note the real ones before they go.
    _device._device_constructors()
    for name in _FACTORIES:
        setattr(torch, name, _on_cpu(getattr(torch, name)))
    _replace(torch.cuda, "current_device", lambda: torch.device("cpu"))
    _replace(torch.cuda, "set_device", lambda *_: None)
    _replace(torch.cuda, "synchronize", lambda *_: None)
    _replace(torch.cuda, "empty_cache", lambda: None)
    _replace(torch.Tensor, "cuda", lambda self, *_, **__: self)
    _replace(torch.nn.Module, "cuda", lambda self, *_, **__: self)


def _import_uncompiled() -> None:
    """megatron-core compiles its fused kernels as it is imported; on CPUs none of them is used."""
    compiler, torch.compile = torch.compile, lambda function: function  # type: ignore[assignment]
    try:
        importlib.import_module("megatron.core.models.gpt")
    finally:
        torch.compile = compiler


def _redirect_random_state() -> None:
    from megatron.core.tensor_parallel import random

    _replace(torch.cuda, "manual_seed", torch.manual_seed)
    _replace(torch.cuda, "get_rng_state", lambda *_, **__: torch.get_rng_state())
    _replace(torch.cuda, "set_rng_state", lambda state, *_, **__: torch.set_rng_state(state))
    _replace(random, "_get_cuda_rng_state", lambda *_, **__: torch.get_rng_state())
    _replace(random, "_set_cuda_rng_state", lambda state, *_, **__: torch.set_rng_state(state))


class _Stream:
    """A CUDA stream of a device that computes in order anyway."""

    def __init__(self, *_: Any, **__: Any) -> None: ...

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *_, **__: None


def _redirect_streams() -> None:
    _replace(torch.cuda, "Stream", _Stream)
    _replace(torch.cuda, "current_stream", _Stream)
    _replace(torch.cuda, "stream", lambda _: contextlib.nullcontext())


def _redirect_types() -> None:
    """The optimizer sorts parameters by type names that contain `cuda`."""
    original = torch.Tensor.type

    def type_name(self: torch.Tensor, dtype: Any = None, *args: Any, **kwargs: Any) -> Any:
        if dtype is not None:
            return original(self, dtype, *args, **kwargs)
        return original(self).replace("torch.", "torch.cuda.", 1)

    _replace(torch.Tensor, "type", type_name)


def _replace(owner: Any, name: str, value: Any) -> None:
    setattr(owner, name, value)
