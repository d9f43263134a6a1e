"""What a batch is to the model: groups to rows, rows to packs that fit a micro-batch, packs to tensors.

On rank 0 rows.py, balance.py and shares.py; on the way to the others encoding.py; on each rank microbatch.py.
"""
