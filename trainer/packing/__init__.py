"""What a batch is to the model: groups to rows, rows to packs that fit a micro-batch, packs to tensors."""
