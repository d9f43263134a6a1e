"""Mentor policies, one a module or folder, chosen by `mentor.guide.kind`; base.py is the contract.

fdcg/ is the paper's, static/ gives prepared hints, critique/ has one attempt criticised, none.py is plain
GRPO, filter.py DAPO; yours is a file here, an installed package's or any module (mentor_stream/plugins.py).
"""
