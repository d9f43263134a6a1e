"""How good a model is at known suites of questions: `mentor-stream eval`.

tool.py         start here: what the command calls
suite.py        what a suite is; suites/ has those that are known
paper.py        a suite before one model: questions that fit, answers that are there
examination.py  has the others asked, through an engine and a verifier as rollouts have them
asking.py       many questions to one examiner
results.py      the answers on disk, gone on from
estimates.py    accuracy, intervals, pass@k, two models compared: without I/O
report.py       the figures as one document
"""
