"""The policy as megatron-core has it: what config.json says of it, its layers, and its words' log-probs.

gpt.py puts it together; cpu.py and precision.py are what the hardware asks for.
"""
