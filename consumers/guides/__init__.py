"""Mentor policies, one a module or folder, chosen by `mentor.guide.kind`; base.py is the contract.

fdcg/ is the paper's, none.py plain GRPO, filter.py DAPO; yours is a file here or any module of your own
(mentor_stream/plugins.py).
"""
