"""Verifiers, one a module, chosen by `reward.verifier.kind`; base.py is the contract.

math.py compares values, exact.py letters, choice.py options; code/ runs programs in a sandbox, and script/
there tests in code, too; weighted.py makes one of several. Yours is a file here or any module of your own
(mentor_stream/plugins.py). They run in worker processes that may be killed (judging/).
"""
