"""A run as a page in the browser: `mentor-stream monitor`. Joins no group, writes nothing.

tool.py      start here: what the command calls
watching.py  follows the stream, for everybody who looks
board.py     what is known at a moment: curves (measures.py, curve.py), hints (feed.py, score.py), processes
             (health.py), where each question's records are (index.py)
verdict.py   how the run does, in a sentence: findings.py on facts.py, which gathering.py and lately.py gather
inquiry.py   what memory does not hold, asked of the stream (past.py): histories, and a search (asked.py)
web.py       paths and what they answer (documents.py); gate.py: who may ask; live.py: what goes by
page/        what the browser gets: no build, nothing from elsewhere
"""
