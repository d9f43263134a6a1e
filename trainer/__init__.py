"""Group-relative policy optimisation on Megatron-core, fed by the stream.

Start with loop.py: rank 0 takes batches, has them learned on all ranks, releases policies.

intake/      groups off the stream into batches, on a thread of its own; why none comes
packing/     a batch as rows, as shares of the ranks, as bytes on their way and as tensors
learning/    one batch: through the model, the loss, moved weights, what was measured; the reference
grpo/        the formulas
model/       the policy: config.json, layers, log-probs; number formats, hosts without CUDA
hf/          Hugging Face directories in and out
launch.py, torchrun.py, ranks.py    the processes and how they find each other; ending.py: how they fail
orders.py, stopping.py    what all ranks do together; how they are asked to end
release.py, checkpoint.py, shards.py    what stays on disk; uploads.py: in a store
sending/     what was released, to the servers that sample
retraining/  the same from what a run has recorded, batch by batch
report.py, journal.py, health.py    what is told, and when to give up
component.py, config.py    the settings, and what must hold before it starts

The only package that imports torch, beside the in-process engine and what runs inside vLLM.
"""
