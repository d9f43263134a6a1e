"""What FP8 and NCCL must know of this machine, asked without a CUDA context of one's own.

The GPUs are looked at by another process, which this module is the program of: whoever asks (`mentor-stream
check`, `up`) would hold memory of each of them for as long as it lives.
"""

import json
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version

from trainer.model.fp8 import Found


def found() -> Found:
    """This machine. GPUs are looked for only where there is something to use them with."""
    try:
        engine = version("transformer-engine")
    except PackageNotFoundError:
        return Found(megatron=version("megatron-core"))
    cuda, capabilities = _looked()
    oldest = min(map(tuple, capabilities), default=None)
    return Found(megatron=version("megatron-core"), engine=engine, cuda=cuda, capability=oldest)


def has_gpu() -> bool:
    """Whether torch sees one."""
    return bool(_looked()[1])


def _looked() -> tuple[str | None, list[tuple[int, int]]]:
    asked = subprocess.run([sys.executable, "-m", __name__], check=True, stdout=subprocess.PIPE)
    return json.loads(asked.stdout)


def gpus() -> tuple[str | None, list[tuple[int, int]]]:
    """The CUDA that torch was built for, and the compute capability of each GPU that it sees."""
    import torch

    seen = range(torch.cuda.device_count())
    return torch.version.cuda, [torch.cuda.get_device_capability(gpu) for gpu in seen]


if __name__ == "__main__":
    sys.stdout.write(json.dumps(gpus()))
