"""The mentor: reads collapsed groups, answers with guided queries. Start with mentor.py.

casework.py is what it decides, guides/ who writes the hint (fdcg/ is the paper's), leak/ what keeps the
answer out of it, budget.py its length, tally.py its counts.
"""
