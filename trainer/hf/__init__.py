"""Policies as Hugging Face directories, in and out, a tensor at a time, whatever ranks share the model."""
