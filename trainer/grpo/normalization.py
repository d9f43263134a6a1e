"""What counts alike in a batch's loss."""

import torch
from torch import Tensor

from trainer.config import Normalization


def row_weights(lengths_R: Tensor, normalization: Normalization, *, constant_length: int | None) -> Tensor:
    """What one token of each row weighs in the batch's loss [rows]; rows of no tokens weigh nothing.

    token: every token of the batch the same (DAPO, arXiv 2503.14476). sequence: every row the same,
    whatever its length (GRPO, arXiv 2402.03300). constant: rows x `constant_length`, so that neither the
    row's nor the batch's length matters (Dr. GRPO, arXiv 2503.20783).
    """
    lengths_R = lengths_R.to(torch.float64)
    rows = max(1, len(lengths_R))
    if normalization == "token":
        weights_R = torch.full_like(lengths_R, 1.0) / lengths_R.sum().clamp(min=1)
    elif normalization == "sequence":
        weights_R = 1.0 / (rows * lengths_R.clamp(min=1))
    else:
        if constant_length is None:
            raise ValueError("constant normalization without a length")
        weights_R = torch.full_like(lengths_R, 1.0 / (rows * constant_length))
    return torch.where(lengths_R > 0, weights_R, 0.0)
