"""The mentor: scripted.py plays the agents, leak_table.py lists what leaks and what does not."""
