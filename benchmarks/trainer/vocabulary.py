"""What log-probs and their gradients take of memory: ours, and with logits for all tokens at once.

python -m benchmarks.trainer.vocabulary ours|naive TOKENS prints the MB that a process grows by, in a process
that has done nothing else.
"""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import torch

from benchmarks.rows import Finding, Wanted, row
from trainer.model.vocabulary import Share, token_scores

WORDS, HIDDEN = 128 * 1024, 64
TOKENS = 16 * 1024
PART = 8
"""The naive way is measured on this part of the tokens and counted so many times: it grows with the tokens
alone, and all at once would not fit into memory here."""


def vocabulary_memory(tokens: int = TOKENS) -> Iterator[Finding]:
    """Peak above what the inputs take."""
    wanted = Wanted("ratio", "at most", 0.25)
    baseline = _grown("naive", tokens // PART) * PART
    name = f"trainer.vocabulary.{tokens // 1024}k-tokens-{WORDS // 1024}k-words"
    yield row(name, _grown("ours", tokens), "MB", baseline), wanted


def _grown(way: str, tokens: int) -> float:
    command = [sys.executable, "-W", "ignore", "-m", __name__, way, str(tokens)]
    return float(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def _ours(hidden: torch.Tensor, weight: torch.Tensor, targets: torch.Tensor) -> None:
    token_scores(
        hidden, weight, targets, torch.ones(len(targets)), Share(0, WORDS)
    ).logprobs_N.sum().backward()


def _naive(hidden: torch.Tensor, weight: torch.Tensor, targets: torch.Tensor) -> None:
    logprobs = torch.log_softmax((hidden @ weight.t()).float(), -1)
    logprobs.gather(1, targets[:, None]).sum().backward()


def _peak() -> float:
    """MB, the most so far of this program; what getrusage says begins with what its parent had."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024 / 1e6


def _measure(way: str, tokens: int) -> float:
    random = torch.Generator().manual_seed(0)
    hidden = torch.randn(tokens, HIDDEN, generator=random, requires_grad=True)
    weight = torch.randn(WORDS, HIDDEN, generator=random, requires_grad=True)
    targets = torch.randint(0, WORDS, (tokens,), generator=random)
    before = _peak()
    {"ours": _ours, "naive": _naive}[way](hidden, weight, targets)
    return _peak() - before


if __name__ == "__main__":
    sys.stdout.write(str(_measure(sys.argv[1], int(sys.argv[2]))))
