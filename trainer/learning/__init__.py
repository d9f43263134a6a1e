"""One optimizer step: packs through the model, the loss of grpo/, moved weights, and what was measured."""
