"""Who plays the four agents, one kind a module or folder, chosen by `agents.kind`.

base.py is the contract, llm/ the default; yours is a file here or any module of your own
(mentor_stream/plugins.py).
"""
