import json
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from trainer.hf import tensorfiles
from trainer.model.architecture import UnsupportedModel

SHAPES = {"a.weight": (2, 3), "a.bias": (3,), "b.weight": (5, 1)}


def tensors(
    shapes: dict[str, tuple[int, ...]], dtype: torch.dtype = torch.float32
) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    return {name: torch.randn(shape, generator=generator).to(dtype) for name, shape in shapes.items()}


def stored_again(directory: Path) -> dict[str, torch.Tensor]:
    """By the library, from all files."""
    return {name: t for path in directory.glob("*.safetensors") for name, t in load_file(path).items()}


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("limit", [1, 40, 10**6])
def test_the_library_reads_what_was_written(tmp_path: Path, dtype: str, limit: int) -> None:
    wanted = tensors(SHAPES, getattr(torch, dtype))
    tensorfiles.write(tmp_path, SHAPES, dtype, iter(wanted.items()), limit)
    found = stored_again(tmp_path)
    assert found.keys() == wanted.keys()
    assert all(torch.equal(found[n], wanted[n]) and found[n].dtype == wanted[n].dtype for n in wanted)
    for path in tmp_path.glob("*.safetensors"):
        with safe_open(path, framework="pt") as file:
            assert file.metadata() == {"format": "pt"}


def test_a_tensor_is_asked_for_when_the_one_before_is_written(tmp_path: Path) -> None:
    sizes = []

    def one_by_one():
        for item in tensors({f"t{number}": (1000,) for number in range(4)}).items():
            yield item
            [path] = tmp_path.glob("*.safetensors")
            sizes.append(path.stat().st_size)

    tensorfiles.write(tmp_path, {f"t{n}": (1000,) for n in range(4)}, "float32", one_by_one(), 10**6)
    assert sizes == sorted(set(sizes))


@given(st.lists(st.integers(1, 100), min_size=1, max_size=20), st.integers(1, 200))
def test_no_file_is_over_the_limit_unless_one_tensor_is(sizes: list[int], limit: int) -> None:
    named = {str(place): size for place, size in enumerate(sizes)}
    shards = tensorfiles._shards(named, limit)
    assert [name for names in shards.values() for name in names] == list(named)
    assert all(len(names) == 1 or sum(named[n] for n in names) <= limit for names in shards.values())


def test_an_index_names_the_file_of_each_tensor_and_there_is_none_for_one_file(tmp_path: Path) -> None:
    for name, limit in (("one", 10**6), ("many", 32)):
        (tmp_path / name).mkdir()
        tensorfiles.write(tmp_path / name, SHAPES, "float32", tensors(SHAPES).items(), limit)
    assert [path.name for path in (tmp_path / "one").iterdir()] == ["model.safetensors"]
    index = json.loads((tmp_path / "many" / "model.safetensors.index.json").read_text())
    assert index["metadata"] == {"total_size": 56}
    assert index["weight_map"] == {
        "a.weight": "model-00001-of-00002.safetensors",
        "a.bias": "model-00002-of-00002.safetensors",
        "b.weight": "model-00002-of-00002.safetensors",
    }
    found = tensorfiles.checked(tmp_path / "many", SHAPES)
    assert {name: tensor.path.name for name, tensor in found.items()} == index["weight_map"]


@pytest.mark.parametrize("came", [["a.bias"], ["a.weight", "a.bias", "b.weight", "c"]])
def test_other_tensors_than_expected_are_no_silent_damage(tmp_path: Path, came: list[str]) -> None:
    shapes = SHAPES | {"c": (1,)}
    with pytest.raises(ValueError, match="came"):
        tensorfiles.write(tmp_path, SHAPES, "float32", tensors({n: shapes[n] for n in came}).items(), 10**6)


def test_a_part_of_a_tensor_is_read(tmp_path: Path) -> None:
    save_file(wanted := tensors(SHAPES), tmp_path / "model.safetensors")
    found = tensorfiles.stored(tmp_path)
    region = (slice(1, 2), slice(0, 2))
    assert torch.equal(found["a.weight"].read("a.weight", region), wanted["a.weight"][region])


def problems(directory: Path) -> str:
    with pytest.raises(UnsupportedModel) as refused:
        tensorfiles.checked(directory, SHAPES)
    return str(refused.value)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"a.bias": None}, "tensors are missing: a.bias"),
        ({"c": (1,)}, "the model has no such tensors: c"),
        ({f"c{n}": (1,) for n in range(5)}, "c0, c1, c2 and 2 more"),
        ({"a.bias": (4,)}, "a.bias is [4], expected [3]"),
    ],
)
def test_what_is_not_of_the_model_is_named(tmp_path: Path, changes: dict, named: str) -> None:
    shapes = {name: shape for name, shape in (SHAPES | changes).items() if shape}
    save_file(tensors(shapes), tmp_path / "model.safetensors")
    assert named in problems(tmp_path)


def test_quantised_tensors_are_named(tmp_path: Path) -> None:
    found = tensors(SHAPES) | {"b.weight": torch.zeros(5, 1, dtype=torch.int8)}
    save_file(found, tmp_path / "model.safetensors")
    assert problems(tmp_path) == "quantised tensors are not supported: b.weight (I8)"


def test_a_head_that_is_missing_is_explained(tmp_path: Path) -> None:
    save_file(tensors(SHAPES), tmp_path / "model.safetensors")
    with pytest.raises(UnsupportedModel, match="tie_word_embeddings"):
        tensorfiles.checked(tmp_path, SHAPES | {"lm_head.weight": (5, 1)})


def test_what_old_files_hold_and_nobody_needs_is_passed_over(tmp_path: Path) -> None:
    more = {"model.layers.0.self_attn.rotary_emb.inv_freq": (4,), "lm_head.weight": (5, 1)}
    save_file(tensors(SHAPES | more), tmp_path / "model.safetensors")
    assert tensorfiles.checked(tmp_path, SHAPES).keys() >= SHAPES.keys()


def test_other_formats_are_refused_with_the_way_out(tmp_path: Path) -> None:
    assert problems(tmp_path).startswith("it holds no weights (model.safetensors or")
    torch.save(tensors(SHAPES), tmp_path / "pytorch_model.bin")
    assert "pytorch_model.bin is not read, save the model as safetensors" in problems(tmp_path)


def test_a_file_that_is_none_or_not_whole_is_named(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(b"version https://git-lfs.github.com/spec/v1")
    assert "model.safetensors is no safetensors file" in problems(tmp_path)
    save_file(tensors(SHAPES), path)
    path.write_bytes(path.read_bytes()[:-4])
    assert "but its header describes" in problems(tmp_path)


def test_an_index_that_names_nothing_or_what_is_not_there_is_refused(tmp_path: Path) -> None:
    index = tmp_path / "model.safetensors.index.json"
    index.write_text("[]")
    assert "holds no weight_map" in problems(tmp_path)
    index.write_text(json.dumps({"weight_map": {"a.weight": "model-00001-of-00002.safetensors"}}))
    assert "missing: model-00001-of-00002.safetensors" in problems(tmp_path)
