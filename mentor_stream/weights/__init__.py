"""Weights that the trainer sends to servers over a process group of PyTorch: what both ends must agree on.

The sender (trainer/sending/) keeps a key-value store at `run.weights_from`; a server
(producers/engines/vllm/receiving.py) asks there and is told what comes. For one update the two make a
process group (group.py), over which the safetensors files go as they are, bucket by bucket. messages.py is
what is said before. Imports no torch: both ends hand theirs in.
"""
