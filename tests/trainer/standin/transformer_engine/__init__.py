"""Stands in for Transformer Engine where there is no GPU: its modules in plain torch, none of its FP8.

It has what megatron-core's spec of a dense decoder asks for, with the engine's names, arguments and
parameters, and refuses what the engine would: matrices of other sides than FP8 takes, other attention than of
packed sequences. Any other name is an empty class. It shows that megatron-core, this spec and our packed
sequences are wired together, and nothing of numbers or speed.
"""

import contextlib
import importlib
import sys
import types
from importlib.machinery import ModuleSpec

import torch
from torch import nn

__version__ = "2.9.0"

multiplied: list[str | None] = []
"""Each multiplication: by which recipe of FP8, if any."""
_recipes: list[str] = []
"""Those in force, the innermost last; outside of FP8 none."""
_SIDE = 16


class _Module(types.ModuleType):
    """Has whatever is asked of it."""

    __path__: list[str] = []  # noqa: RUF012

    def __getattr__(self, name: str) -> type:
        if name.startswith("__") or name == "post_all_gather_processing":
            raise AttributeError(name)
        setattr(self, name, type(name, (nn.Module,), {}))
        return getattr(self, name)


class _Finder:
    """Makes every module below this one."""

    def find_spec(self, name: str, path: object, target: object = None) -> ModuleSpec | None:
        below = name.startswith(f"{__name__}.")
        return ModuleSpec(name, self, is_package=True) if below else None  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> _Module:
        return _Module(spec.name)

    def exec_module(self, module: _Module) -> None:
        parent, _, name = module.__name__.rpartition(".")
        setattr(sys.modules[parent], name, module)


class _Stateful(nn.Module):
    """Has a state beside its parameters, as all of the engine's modules."""

    def get_extra_state(self) -> torch.Tensor:
        return torch.empty(0, dtype=torch.uint8)

    def set_extra_state(self, state: torch.Tensor) -> None: ...


class Linear(_Stateful):
    normed = False

    def __init__(
        self, in_features, out_features, *, tp_size, parallel_mode, sequence_parallel, bias, return_bias,
        params_dtype, eps=1e-5, normalization="RMSNorm", **_,
    ) -> None:  # fmt: skip
        super().__init__()
        assert normalization == "RMSNorm"
        self.mode, self.sequence_parallel = parallel_mode, sequence_parallel
        self.return_bias, self.eps, self.save_original_input = return_bias, eps, False
        rows, columns = out_features, in_features
        if parallel_mode == "column":
            rows //= tp_size
        else:
            columns //= tp_size
        self.weight = nn.Parameter(torch.zeros(rows, columns, dtype=params_dtype))
        self.bias = nn.Parameter(torch.zeros(rows, dtype=params_dtype)) if bias else None
        if self.normed:
            self.layer_norm_weight = nn.Parameter(torch.ones(in_features, dtype=params_dtype))
            self.layer_norm_weight.sequence_parallel = sequence_parallel
        for parameter in [self.weight, *([self.bias] if bias else [])]:
            parameter.tensor_model_parallel, parameter.partition_stride = True, 1
            parameter.partition_dim = 0 if parallel_mode == "column" else 1

    def forward(self, x, is_first_microbatch=None):
        from megatron.core import tensor_parallel as tp

        if self.normed:
            x = nn.functional.rms_norm(x, x.shape[-1:], self.layer_norm_weight, self.eps)
        recipe = _recipes[-1] if _recipes else None
        multiplied.append(recipe)
        for side in (x.numel() // x.size(-1), x.size(-1), *self.weight.shape):
            assert recipe is None or side % _SIDE == 0, f"{tuple(x.shape)} by {tuple(self.weight.shape)}"
        gathered, whole = self.mode == "column", self.sequence_parallel
        if gathered:
            own = (
                tp.gather_from_sequence_parallel_region if whole else tp.copy_to_tensor_model_parallel_region
            )
            x = own(x)
        y = x @ self.weight.t()
        if not gathered:
            shared = (
                tp.reduce_scatter_to_sequence_parallel_region
                if whole
                else tp.reduce_from_tensor_model_parallel_region
            )
            y = shared(y)
        if self.return_bias:
            return y, self.bias
        return y if self.bias is None else y + self.bias


class LayerNormLinear(Linear):
    normed = True


class RMSNorm(nn.RMSNorm):
    def __init__(self, hidden_size, eps, sequence_parallel, params_dtype, **_) -> None:
        super().__init__(hidden_size, eps=eps, dtype=params_dtype)
        self.weight.sequence_parallel = sequence_parallel


class DotProductAttention(_Stateful):
    def __init__(self, *, softmax_scale, num_gqa_groups, tp_size, **_) -> None:
        super().__init__()
        self.scale, self.groups = softmax_scale, num_gqa_groups // tp_size
        self.register_load_state_dict_post_hook(_without_state)

    def forward(self, q, k, v, mask, *, attn_mask_type, qkv_format, cu_seqlens_q, max_seqlen_q, **_):
        assert (attn_mask_type, qkv_format, mask) == ("padding_causal", "thd", None)
        assert cu_seqlens_q.dtype == torch.int32
        lengths = cu_seqlens_q.diff().tolist()
        assert (sum(lengths), max(lengths), self.groups) == (len(q), max_seqlen_q, k.size(1))
        sequences = zip(*(x.transpose(0, 1).split(lengths, 1) for x in (q, k, v)), strict=True)
        found = [
            nn.functional.scaled_dot_product_attention(
                *(x[None] for x in sequence), is_causal=True, scale=self.scale, enable_gqa=True
            )[0]
            for sequence in sequences
        ]
        return torch.cat(found, 1).transpose(0, 1).flatten(1)


def _without_state(_: nn.Module, incompatible) -> None:
    """megatron-core does not write attention's."""
    missing = incompatible.missing_keys
    missing[:] = [key for key in missing if not key.endswith("core_attention._extra_state")]


class FusedAdam(torch.optim.Optimizer):
    """Counts its steps in the groups, unlike torch's."""

    def __init__(self, params, lr, betas, eps, weight_decay, **_) -> None:
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self) -> None:
        for group in self.param_groups:
            group["step"] = group.get("step", 0) + 1
            first, second = group["betas"]
            unbiased = [1 - beta ** group["step"] for beta in group["betas"]]
            for p in group["params"]:
                state = self.state[p] or {name: torch.zeros_like(p) for name in ("exp_avg", "exp_avg_sq")}
                self.state[p] = state
                state["exp_avg"].lerp_(p.grad, 1 - first)
                state["exp_avg_sq"].mul_(second).addcmul_(p.grad, p.grad, value=1 - second)
                p.mul_(1 - group["lr"] * group["weight_decay"])
                spread = (state["exp_avg_sq"] / unbiased[1]).sqrt_().add_(group["eps"])
                p.addcdiv_(state["exp_avg"], spread, value=-group["lr"] / unbiased[0])


class _Recipe:
    def __init__(self, *, fp8_format, **_) -> None:
        self.fp8_format = fp8_format


@contextlib.contextmanager
def fp8_autocast(enabled, fp8_recipe, **_):
    assert enabled
    _recipes.append(f"{type(fp8_recipe).__name__} {fp8_recipe.fp8_format}")
    yield
    _recipes.pop()


def _norm(_, lists, __):
    return torch.cat([t.float().flatten() for t in lists[0]]).norm()[None], None


def _scaled(_, lists, factor):
    for source, target in zip(*lists, strict=True):
        target.copy_(source * factor)


def _checkpoint(function, *arguments, **_):
    return torch.utils.checkpoint.checkpoint(function, *arguments, use_reentrant=False)


sys.meta_path.insert(0, _Finder())  # type: ignore[arg-type]
_RECIPES = ("DelayedScaling", "Float8CurrentScaling", "Float8BlockScaling", "MXFP8BlockScaling")
_HAVE = {
    "pytorch": {c.__name__: c for c in (Linear, LayerNormLinear, RMSNorm, DotProductAttention, fp8_autocast)},
    "pytorch.fp8": {"fp8_autocast": fp8_autocast},
    "pytorch.attention": {
        "_SplitAlongDim": type("", (), {"apply": lambda x, dim, sizes: x.split(sizes, dim)})
    },
    "pytorch.cpu_offload": {"get_cpu_offload_context": lambda *_, **__: (contextlib.nullcontext(), None)},
    "pytorch.distributed": {"checkpoint": _checkpoint},
    "pytorch.ops": {},
    "pytorch.optimizers": {
        "FusedAdam": FusedAdam,
        "multi_tensor_applier": lambda operation, _, lists, *rest: operation(None, lists, *rest),
        "multi_tensor_l2norm": _norm,
        "multi_tensor_scale": _scaled,
    },
    "common.recipe": {name: type(name, (_Recipe,), {}) for name in _RECIPES}
    | {"Format": types.SimpleNamespace(E4M3="e4m3", HYBRID="hybrid")},
}
for _place, _names in _HAVE.items():
    vars(importlib.import_module(f"{__name__}.{_place}")).update(_names)
