"""Group-relative policy optimisation on Megatron-core, fed by the stream.

Start with loop.py: rank 0 takes groups, cuts batches, has them learned, releases policies.

stream.py, places.py               groups in, records out; what a checkpoint names on the stream
validation.py, batches.py, seen.py which groups are learned from, and when
orders.py, ranks.py, stopping.py   what all ranks do together; the processes; how they are asked to end
learner.py                         one batch: rows.py, packing.py, microbatch.py, scorer.py (through a model),
                                   vocabulary.py (log-probs), grpo/ (the formulas), measures.py,
                                   optimizer.py, steps.py (what came of it); reference.py for the KL
architecture.py, rope.py           the model: what config.json says,
model.py, layers.py                and how it is built
hf.py, parameters.py, tensorfiles.py  Hugging Face directories in and out, a tensor at a time
release.py, checkpoint.py, shards.py  what stays on disk
report.py, tally.py, journal.py, health.py  what is told, and when to give up
precision.py, cpu.py               number formats; hosts without CUDA

The only package, beside the in-process engine, that imports torch.
"""
