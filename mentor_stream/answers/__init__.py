"""Whether two mathematical answers are the same one, and where an answer stands in a text.

final.py         what a completion settles on
equality.py      whether an expression states a reference's value
formulas.py      formulas read and compared, on math-verify
magnitude.py     formulas that nobody can compute
notation.py      spellings, brought to the LaTeX that it reads
numberwords.py   numbers in words, in digits
inequalities.py  inequalities, as intervals
assignments.py   values of several variables, as tuples
misreadings.py   answers that it takes for a value which they do not state
units.py         the unit of an answer
prose.py         words among formulas
thinking.py      where the thinking ends and the answer begins
programs.py      the tests of a code question
blocks.py        code between fences
options.py       the options of a multiple-choice question

Sympy can be made to run for ever or to fill memory, so all of this belongs in a worker process
(mentor_stream/workers/), whose limits are the only ones: math-verify's own alarm clocks are off, since on a
slow machine they would turn lost time into a wrong answer. Importing this loads neither.
"""

from mentor_stream.answers.equality import Unreadable, equivalent, readable
from mentor_stream.answers.final import MAX_CHARACTERS, Form, final_answer

__all__ = ["MAX_CHARACTERS", "Form", "Unreadable", "equivalent", "final_answer", "readable"]
