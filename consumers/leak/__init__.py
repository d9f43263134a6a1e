"""The leak guard: no hint that contains the answer is ever published.

guard.py        which search a question gets, with a worker process for formulas
decision.py     answers of mathematics: what equals the reference
  spelling.py     one spelling for all; characters.py, romans.py
  numerals.py     the numbers of a text; labels.py: those that only count steps
  expressions.py  its other formulas
  claims.py       what it calls the answer
choices.py      the right one of a question's options
steps.py        sentences of a worked solution
code.py         answers that are programs
  statements.py   the solution's lines; tokens.py, idioms.py
  hidden.py       inputs and outputs of hidden tests; values.py
  program.py      whole programs
"""
