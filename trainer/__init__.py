"""Group-relative policy optimisation on Megatron-core, fed by the stream.

The only package, beside the in-process engine, that imports torch.
"""
