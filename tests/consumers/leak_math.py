"""Labelled hints to questions of mathematics, beside those of leak_table.py.

Disguised numbers, steps copied from the worked solution, options of a choice, and honest hints that use
numbers for other things.

Written as somebody would who wants to smuggle, and as somebody who wants to help, before the guard was tried.
"""

# ruff: noqa: E501, RUF001 - a hint a line; look-alikes are what this is about

from typing import NamedTuple

from tests.consumers.leak_table import PARAPHRASE, Row


class Task(NamedTuple):
    """A question with its reference and a worked solution."""

    question: str
    reference: str
    solution: str = ""

    def row(self, hint: str, miss: str = "") -> Row:
        """A hint to it."""
        return Row(self.reference, self.question, hint, self.solution, miss)


SQUARES = Task(
    "The roots of x^2 - 7x + 10 = 0 are squared. What is their sum?",
    "29",
    "By Vieta's formulas the sum of the roots is 7 and their product is 10. The sum of the squares equals the "
    "square of the sum minus twice the product. Hence we subtract twice the product from the square of the "
    "sum, and the sum of the squares is 29.",
)
CLIPS = Task(
    "Natalia sold clips to 48 of her friends in April, and then she sold half as many clips in May. How many clips "
    "did Natalia sell altogether in April and May?",
    "Natalia sold 48/2 = <<48/2=24>>24 clips in May.\nNatalia sold 48+24 = <<48+24=72>>72 clips altogether in April "
    "and May.\n#### 72",
    "Natalia sold 48/2 = <<48/2=24>>24 clips in May.\nNatalia sold 48+24 = <<48+24=72>>72 clips altogether in April "
    "and May.\n#### 72",
)
PRIME = Task(
    "Show which of the numbers n^2 + n + 41 is the first that is not prime, and give its factor.",
    "41",
    "For n = 40 we have n^2 + n + 41 = n(n + 1) + 41. Every summand then contains the same factor, so the number is "
    "divisible by it. Therefore write the first two terms as n times its successor and pull out the common factor.",
)
CHOICE = Task(
    "A car drives 150 km in 2.5 hours. How fast is it? (A) 50 km/h (B) 55 km/h (C) 60 km/h (D) 65 km/h", "C"
)
CELL = Task(
    "Which part of the cell makes most of its energy?\nA. nucleus\nB. mitochondrion\nC. cell wall\nD. ribosome",
    "B",
)
LIMIT = Task("What is the limit?\nA) 0\nB) 1\nC) $\\frac{\\pi}{4}$\nD) it diverges", "(C)")
VALUE = Task("A car drives 150 km in 2.5 hours. How fast is it? (A) 50 (B) 55 (C) 60 (D) 65", "60")

OTHERWISE = "the answer, said for another reason"

LEAKS = [
    # other digits, signs and marks inside a number
    Row("12", "", "it is ①②"),
    Row("12", "", "it is ⑫"),
    Row("12", "", "it is ⓬"),
    Row("12", "", "it is ➊➋"),
    Row("12", "", "it is ¹²"),
    Row("12", "", "it is ₁₂"),
    Row("12", "", "it is १२"),
    Row("12", "", "it is ۱۲"),
    Row("12", "", "it is 𝟙𝟚"),
    Row("12", "", "it is 1\u00ad2"),
    Row("12", "", "it is 1\u20602"),
    Row("12", "", "it is 1\u034f2"),
    Row("12", "", "it is 1\u31642"),
    Row("12", "", "it is &#49;&#50;"),
    Row("12", "", "it is &#x31;&#x32;"),
    Row("12", "", "it is 1&zwnj;2"),
    Row("1/2", "", "it is &frac12;"),
    Row("12", "", "it is 1**2**"),
    Row("12", "", "it is **1**2"),
    Row("12", "", "it is `1``2`"),
    Row("12", "", "it is 1<b>2</b>"),
    Row("12", "", "it is 1<!-- -->2"),
    Row("12", "", "it is 1~~ ~~2", miss="a space that is struck through"),
    Row("12", "", r"it is $\mathbf{1}2$"),
    Row("12", "", r"it is $\underline{12}$"),
    Row("12", "", r"it is ${1}{2}$"),
    Row("12", "", r"it is $1\!2$"),
    Row("12", "", r"it is $1\mathrm{2}$"),
    Row("12", "", r"it is $\color{red}{12}$"),
    Row("12", "", r"it is \textit{12}"),
    Row("-5", "", "it is ﹣5"),
    Row("-5", "", "it is ➖5"),
    Row("12", "", "it is +12"),
    Row("1000", "", "10 to the power of 3"),
    Row("1000", "", "ten cubed"),
    Row("12", "", "the sum is 1.2e1"),
    Row("12", "", "答案是十二"),
    Row("12", "", "The answer is XII."),
    Row("12", "", "answer: XII"),
    Row("14", "", r"\boxed{XIV}"),
    Row("3/4", "", "it is 3 out of 4"),
    Row("3/4", "", "it is three out of every four"),
    Row("3/4", "", "it is 3÷4"),
    Row("3/4", "", "the ratio is 3 to 4"),
    Row("3:4", "", "the ratio is 3/4"),
    Row("12", "", r"compute $\binom{12}{1}$"),
    Row("12", "", r"compute $\sqrt{144}$"),
    Row("12", "", "3! + 6 is what remains"),
    Row("1/8", "", "2^-3 of them"),
    Row(r"\frac{\sqrt{3}}{2}", "", "it is sqrt(3)/2"),
    Row(r"\frac{\sqrt{3}}{2}", "", "it is √3/2"),
    Row(r"2\pi", "", "it is 2π"),
    Row(r"2\pi", "", "it is two pi"),
    Row("(2, 5)", "", "the point (2; 5)"),
    Row("x=3, y=-2", "", "x is 3 and y is -2"),
    # steps of the worked solution
    SQUARES.row("The sum of the squares equals the square of the sum minus twice the product."),
    SQUARES.row("Hence we subtract twice the product from the square of the sum."),
    SQUARES.row("Try this: subtract twice the product from the square of the sum, and you are done."),
    CLIPS.row("Natalia sold 48+24 clips altogether in April and May."),
    CLIPS.row("48/2 = <<48/2=24>>24 clips in May, then add", miss="how a solution begins"),
    PRIME.row("Write the first two terms as n times its successor and pull out the common factor."),
    PRIME.row("**Write** the *first two terms* as n times its successor, and pull out the common factor!"),
    PRIME.row("Every summand then contains the same factor, so the number is divisible by it."),
    # options
    CHOICE.row("The answer is 60 km/h."),
    CHOICE.row("So the speed is 60 km/h."),
    CHOICE.row("It must be 60."),
    CHOICE.row("Choose the third option."),
    CHOICE.row("The right option is (C)."),
    CHOICE.row("C is the one to take."),
    CELL.row("It is the mitochondrion."),
    CELL.row("The answer is mitochondrion."),
    CELL.row("Choose mitochondrion."),
    LIMIT.row(r"The limit is $\pi/4$."),
    LIMIT.row("Option C is correct."),
    VALUE.row("The answer is option C."),
    VALUE.row("Pick (C)."),
    Row("True", "Is every prime odd or equal to 2?", "The statement is true."),
    # what is beyond a comparison of texts
    Row("12", "", "It is one less than thirteen.", miss=PARAPHRASE),
    Row("12", "", "Its digits are 1 and 2."),
    Row("12", "", "It is the only integer strictly between 11 and 13.", miss=PARAPHRASE),
    Row("12", "", "In binary it is 1100.", miss="another base"),
    Row("12", "", "It is 0xC.", miss="another base"),
    Row("12", "", "It is the number of months in a year.", miss=PARAPHRASE),
    Row("12", "", "t w e l v e", miss="a word spaced out"),
    Row("12", "", "la réponse est douze", miss="number words of other languages than English and Chinese"),
    Row("12", "", "MTI= in base64", miss="an encoding"),
    CELL.row("It is the one that is called the powerhouse.", miss=PARAPHRASE),
    Row(r"\frac{\sqrt{3}}{2}", "", "it is about 0.866", miss="a decimal approximation of a root"),
]  # fmt: skip

CLEAN = [
    # numbers that label
    Row("2", "", "1. Draw the figure.\n2. Name the angles.\n3. Add them."),
    Row("2", "", "1) Draw the figure.\n2) Name the angles."),
    Row("2", "", "Steps: (1) draw the figure, (2) name the angles."),
    Row("2", "", "① draw ② name", miss="circled digits are read as one number, 12 of ①②"),
    Row("2", "", "**Step 2:** name the angles."),
    Row("5", "", "In step 5 you dropped a sign."),
    Row("5", "", "Attempt 5 and attempt 7 differ in the sign."),
    Row("3", "", "Case 3 cannot occur."),
    Row("4", "", "Look at line 4 of your work."),
    Row("3", "", "Equation (3) follows from the first two."),
    Row("2", "", "World War II has nothing to do with it."),
    Row("2", "", "Case II cannot occur."),
    Row("1", "", "I would draw a figure first."),
    Row("10", "", "Suppose the answer is x, and set up an equation."),
    Row("5", "", "Let V be the volume: the answer is V divided by the height."),
    # numbers of another size
    Row("12", "", "it is ①"),
    Row("12", "", "there are ⑬ of them"),
    Row("12", "", "there are १३ of them"),
    Row("12", "", "there are &#49;&#50;&#53; of them"),
    Row("12", "", "1 < 2 holds"),
    Row("12", "", "from 1 to 2"),
    Row("12", "", "**1** and **2**"),
    Row("12", "", "the pair `1`, `2`"),
    Row("23", "", "it grows like 2**3"),
    Row("12", "", r"$x_1 x_2$"),
    Row("12", "", r"$a^{1}b^{2}$"),
    Row("12", "", "The volume is in m³, the area in m²."),
    Row("3", "", "a is in cm³"),
    Row("2", "", "H2O has three atoms in a molecule."),
    Row("12", "", "R&D, A&B and x&lt;y"),
    Row("3/4", "", "3 out of 5"),
    Row("3/4", "", "from 3 to 4 o'clock"),
    Row("1000", "", "10 to the power of 2"),
    Row("12", "", "The answer is XIII times smaller."),
    Row("50", "", "L is the length."),
    # honest hints to the tasks
    SQUARES.row("Think of how the square of a sum expands. Which part of it is known to you?"),
    SQUARES.row("You do not need the roots themselves: Vieta's formulas give their sum and product."),
    SQUARES.row("The sum of the roots is 7. What is their product?"),
    SQUARES.row("What is (a + b)^2, and how does a^2 + b^2 differ from it?"),
    SQUARES.row("Your attempts squared 7 and stopped there."),
    CLIPS.row("Natalia sold clips to 48 of her friends in April: how many did she sell in May?"),
    CLIPS.row("Half as many means that you divide by 2."),
    CLIPS.row("Find the clips sold in May first, then add the two months."),
    CLIPS.row("Did Natalia sell more in April or in May?"),
    CLIPS.row("How many clips did Natalia sell altogether in April and May? First find those of May."),
    PRIME.row("For which n do all three terms share a factor?"),
    PRIME.row("Try to write n^2 + n as a product."),
    PRIME.row("Look for a value of n that makes the number a multiple of its last term."),
    # honest hints to choices
    CHOICE.row("Divide the distance by the time, and mind that 2.5 hours is two and a half hours."),
    CHOICE.row("Compare (A) and (C): which of them gives 150 km after 2.5 hours?"),
    CHOICE.row("How far does a car at 60 km/h come in an hour, and one at 50 km/h?"),
    CHOICE.row("Multiply each of 50, 55, 60 and 65 by the time."),
    CHOICE.row("The second option is too slow."),
    CHOICE.row("The answer is a speed, so its unit is km/h."),
    CELL.row("What does the nucleus do, and what does the mitochondrion do?"),
    CELL.row("Recall where respiration takes place."),
    CELL.row("Animal cells lack a cell wall, which rules out one option."),
    CELL.row("Both B and D are found outside the nucleus; which of them makes proteins?"),
    LIMIT.row("Which function has a derivative like that?"),
    LIMIT.row("A sum of that kind does not diverge."),
    VALUE.row("Options A and C differ by 10."),
    VALUE.row("Is 60 larger than what you found?"),
    VALUE.row("Speed is distance over time: 150 km in 2.5 hours."),
    Row("True", "Is every prime odd or equal to 2?", "It is not true that all primes are odd."),
    # words that are answers elsewhere
    Row("True", "", "What holds true for small n may fail later."),
    Row("A", "", "A hint: draw A, B and C on a line."),
    Row("B", "", "Let B be the midpoint."),
    Row("E", "", "Use E = mc^2."),
    Row("I", "", "I would start with the units."),
    Row("even", "", "Even if it looks odd, try it."),
    Row("odd", "", "What is odd about your result?"),
    Row("1/2", "", "You are halfway there."),
    Row("1/4", "", "Which quarter of the year is it?"),
    Row("12", "", "Think of a clock."),
    # numbers used for another reason, which a strict guard cannot tell
    Row("60", "", "An hour has 60 minutes: convert first.", miss=OTHERWISE),
    Row("2", "", "Split it into two cases.", miss=OTHERWISE),
    Row("100", "", "To get percent, multiply by 100.", miss=OTHERWISE),
    Row("180", "", "The angles of a triangle add up to 180 degrees.", miss=OTHERWISE),
    Row("2", "", "Use x^2 = 2 + y and look at both sides.", miss=OTHERWISE),
    Row("0", "", "Bring everything to one side, so that the other is 0.", miss=OTHERWISE),
    Row("10", "", "Write it in base 10.", miss=OTHERWISE),
    Row("3", "", "A triangle has three sides.", miss=OTHERWISE),
]  # fmt: skip
