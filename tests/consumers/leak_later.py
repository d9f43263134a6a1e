"""Labelled hints of the length that mentors write, made after the guard was: what it makes of new ones."""

# ruff: noqa: E501 - a hint a line

from tests.consumers import leak_code, leak_math
from tests.consumers.leak_code import pairs
from tests.consumers.leak_table import PARAPHRASE

COINS = leak_code.Task(
    "Given coin values and an amount, print the least number of coins that make it, or -1.\n"
    "Input\n3\n1 2 5\n11\nOutput\n3\nAmounts go up to 10000.",
    pairs(
        ("3\n1 2 5\n11\n", "3\n"),
        ("1\n2\n3\n", "-1\n"),
        ("4\n7 31 365 28\n9997\n", "34\n"),
        ("2\n186 419\n6249\n", "20\n"),
    ),
    """n = int(input())
coins = list(map(int, input().split()))
amount = int(input())
INF = float("inf")
fewest = [0] + [INF] * amount
for total in range(1, amount + 1):
    for coin in coins:
        if coin <= total:
            fewest[total] = min(fewest[total], fewest[total - coin] + 1)
print(fewest[amount] if fewest[amount] < INF else -1)
""",
)
LADDER = leak_code.Task(
    "In how many ways can you climb n steps, one or two at a time? climb(3) is 3.",
    pairs(("3", "3"), ("10", "89"), ("45", "1836311903"), kind="functional"),
    """def climb(n):
    a, b = 1, 1
    for _ in range(n):
        a, b = b, a + b
    return a
""",
)
ISLANDS = leak_code.Task(
    "Count the islands in a grid of 0s and 1s; land touches up, down, left and right.\n"
    'Example: [["1","0"],["0","1"]] gives 2.',
    [
        {"input": '[["1","0"],["0","1"]]', "output": "2", "testtype": "functional"},
        {
            "input": '[["1","1","0","0"],["1","0","0","1"],["0","0","1","1"]]',
            "output": "2",
            "testtype": "functional",
        },
        {"input": '[["0"]]', "output": "0", "testtype": "functional"},
    ],
    """class Solution {
    public int numIslands(char[][] grid) {
        int count = 0;
        for (int r = 0; r < grid.length; r++)
            for (int c = 0; c < grid[0].length; c++)
                if (grid[r][c] == '1') {
                    count++;
                    sink(grid, r, c);  // each island is met once
                }
        return count;
    }
    private void sink(char[][] grid, int r, int c) {
        if (r < 0 || c < 0 || r >= grid.length || c >= grid[0].length || grid[r][c] != '1') return;
        grid[r][c] = '0';
        sink(grid, r + 1, c); sink(grid, r - 1, c); sink(grid, r, c + 1); sink(grid, r, c - 1);
    }
}
""",
)
DECODE = leak_code.Task(
    "A text is encoded as in 3[a2[c]], which means accaccacc. Decode it.\nInput: 3[a2[c]]\nOutput: accaccacc",
    {
        "public_test_cases": pairs(("3[a2[c]]\n", "accaccacc\n")),
        "private_test_cases": pairs(("2[abc]3[cd]ef\n", "abcabccdcdcdef\n"), ("10[z]\n", "zzzzzzzzzz\n")),
    },
    """Keep a stack of what was before each bracket.

```python
stack, text, count = [], "", 0
for ch in input():
    if ch.isdigit():
        count = count * 10 + int(ch)
    elif ch == "[":
        stack.append((text, count))
        text, count = "", 0
    elif ch == "]":
        before, times = stack.pop()
        text = before + text * times
    else:
        text += ch
print(text)
```

When a bracket closes, the text since the last opened bracket is repeated and put behind what was before it.
""",
)
TANK = leak_math.Task(
    "A tank is filled by one pipe in 6 hours and by another in 4 hours. How long do both take together?",
    r"\frac{12}{5}",
    r"In one hour the first pipe fills $\frac16$ and the second $\frac14$ of the tank. Together they fill $\frac16 + \frac14 = \frac{5}{12}$ of the tank in an hour. Therefore the time they need is the reciprocal, $\frac{12}{5}$ hours.",
)
DICE = leak_math.Task(
    "Two fair dice are thrown. What is the probability that the sum is 8?",
    "5/36",
    "There are 36 equally likely outcomes. The sum is 8 for (2,6), (3,5), (4,4), (5,3) and (6,2), which are 5 outcomes. So the probability is 5/36.",
)
REMAINDER = leak_math.Task("What is the remainder when 7^{100} is divided by 5?", "1")
INTERVAL = leak_math.Task(
    "Solve |x - 3| < 2.",
    "(1, 5)",
    "The inequality means -2 < x - 3 < 2. Adding 3 to all sides gives 1 < x < 5.",
)
BLEND = leak_math.Task(
    "Which of the following is a prime number?\n\nA. 21\nB. 27\nC. 29\nD. 33\n\nAnswer with the letter.", "C"
)

UNITS = "another unit"

LEAKS = [
    COINS.row("Build the table from small totals. For each coin, update fewest[total] = min(fewest[total], fewest[total - coin] + 1), starting from zero coins for nothing."),
    COINS.row("Let d[t] be the least number for t. Then `d[t] = min(d[t], d[t - c] + 1)` for each coin c."),
    COINS.row("Your greedy choice fails: for the coins 186 and 419 and the amount 6249 the result should be 20."),
    COINS.row("Mind the case with only a 2 and the amount 3, where the expected output is -1.", miss=PARAPHRASE),
    COINS.row("Check the case\n```\n4\n7 31 365 28\n9997\n```\nthat your program gets wrong."),
    COINS.row("Finish with `print(fewest[amount] if fewest[amount] < INF else -1)`, since the total may be out of reach."),
    COINS.row("A sketch:\n```python\nbest = [0] + [10**9] * x\nfor t in range(1, x + 1):\n    best[t] = 1 + min(best[t - c] for c in cs if c <= t)\nprint(best[x])\n```"),
    LADDER.row("Keep the last two counts and in each turn do a, b = b, a + b."),
    LADDER.row("Keep the last two counts and in each turn do `prev, cur = cur, prev + cur`."),
    LADDER.row("For the largest test you should see 1836311903."),
    LADDER.row("climb(10) should return 89, and yours returns 55, so you start one too early."),
    LADDER.row("Hint: for n = 10 the answer is eighty-nine."),
    ISLANDS.row("Stop the recursion with `if (r < 0 || c < 0 || r >= grid.length || c >= grid[0].length || grid[r][c] != '1') return;`"),
    ISLANDS.row("In Python: if r < 0 or c < 0 or r >= len(g) or c >= len(g[0]) or g[r][c] != '1': return", miss="a library call of another language"),
    ISLANDS.row("After setting the cell to '0', call sink(grid, r + 1, c); sink(grid, r - 1, c); sink(grid, r, c + 1); sink(grid, r, c - 1);"),
    ISLANDS.row('Consider the grid [["1","1","0","0"],["1","0","0","1"],["0","0","1","1"]], where your program counts 3.'),
    ISLANDS.row("Consider the rows 1 1 0 0, 1 0 0 1 and 0 0 1 1."),
    DECODE.row("Read numbers of several digits by count = count * 10 + int(ch)."),
    DECODE.row("On ']' take `before, times = stack.pop()` and set `text = before + text * times`."),
    DECODE.row("When a bracket closes, the text since the last opened bracket is repeated and put behind what was before it."),
    DECODE.row("Think about 2[abc]3[cd]ef."),
    DECODE.row("One of the outputs is abcabccdcdcdef."),
    DECODE.row("For 10[z] the output has ten letters: zzzzzzzzzz."),
    TANK.row("Add the rates of both pipes; the time is the reciprocal of the sum, 2.4 hours."),
    TANK.row("Together they need 2 hours and 24 minutes.", miss=UNITS),
    TANK.row(r"The time is $1/(\frac16+\frac14)$."),
    TANK.row("Therefore the time they need is the reciprocal of what they fill in one hour: 12 over 5."),
    TANK.row("It takes 144 minutes.", miss=UNITS),
    TANK.row("It takes two and two fifths hours."),
    DICE.row("Count the pairs with the sum 8 and divide by 36: five thirty-sixths.", miss="parts beyond those in use"),
    DICE.row("Count the pairs, then 5 of the 36 outcomes remain.", miss=PARAPHRASE),
    DICE.row("The probability is about 0.1389."),
    DICE.row("It is five out of thirty-six."),
    DICE.row(r"$P = \dfrac{10}{72}$"),
    REMAINDER.row("Since 7^4 = 2401 leaves 1, the remainder is 1^25."),
    REMAINDER.row(r"$7^{100} \equiv 1 \pmod 5$"),
    REMAINDER.row("The remainder is one."),
    INTERVAL.row("Adding 3 to all sides gives 1 < x < 5."),
    INTERVAL.row("The solution is the interval from 1 to 5."),
    INTERVAL.row("x lies in ]1, 5[."),
    BLEND.row("29 is the only one without divisors, so pick C."),
    BLEND.row("Rule out multiples of 3; then only 29 remains, so the answer is 29."),
    BLEND.row("The right choice is the third one."),
]  # fmt: skip

CLEAN = [
    COINS.row("Your attempts take the largest coin first, which fails when smaller coins combine better. Instead, let f(t) be the least number of coins for the total t, and ask: which coin could be the last one? For each possible last coin, what is left to be paid? Compute f for all totals from small to large, and think about what f should be for totals that cannot be paid."),
    COINS.row("Greedy does not work here. For coins 1, 3 and 4 and the amount 6, taking 4 first needs three coins, but two are enough. Try dynamic programming over the amount."),
    COINS.row('What is the least number of coins for the amount 0? Start the table there, and use float("inf") for what you do not know yet.'),
    COINS.row("With amounts up to 10000 and few coins, a table with one entry for each total is small enough; recursion without a memory is not."),
    COINS.row("Check what you print when the amount cannot be made: the statement asks for -1."),
    COINS.row("Trace the example with coins 1 2 5 and 11: which totals are one coin away from 11?"),
    LADDER.row("Think about the last move: it was one step or two. How do the numbers of ways for n - 1 and n - 2 combine?"),
    LADDER.row("You recompute the same values over and over. Keep only the last two results, and update both at once so that you do not overwrite one too early."),
    LADDER.row("climb(1) is 1 and climb(2) is 2. Draw the ways for 4 and look for a pattern."),
    LADDER.row("- Write the first few values down.\n- How does each follow from the ones before?\n- Loop n times instead of calling climb twice."),
    ISLANDS.row("Whenever you meet land that you have not seen, you found a new island. Before you go on, mark everything connected to it, so that it is not counted again. A recursive function or a queue that visits the four neighbours does that; check the borders before you read a cell."),
    ISLANDS.row("Your attempts count cells, not islands. In the example both 1s are islands of their own, since diagonal neighbours do not touch."),
    ISLANDS.row("Remember that cells are characters: compare with '1', not with 1."),
    ISLANDS.row("What should happen when grid[r][c] is water? And when r or c leaves the grid?"),
    ISLANDS.row("Loop over rows and columns with two for loops, and keep a `visited` set of pairs `(r, c)`."),
    DECODE.row("Brackets nest, so a loop that handles one level is not enough: use a stack, or recursion. What has to be remembered when a bracket opens, so that you can go on when it closes?"),
    DECODE.row("Numbers may have more than one digit: 12[a] is twelve times a. Collect digits until the bracket."),
    DECODE.row("In 3[a2[c]] the inner 2[c] becomes cc first, then acc is repeated three times to accaccacc."),
    TANK.row("Do not average the two times. Ask instead what part of the tank each pipe fills in one hour, and add these parts. What does the sum tell you about the time for a whole tank?"),
    TANK.row("Both together must be faster than the faster pipe alone, so any answer above 4 hours cannot be right."),
    TANK.row(r"In one hour the first pipe fills $\frac{1}{6}$ of the tank. What does the second fill, and what do both?"),
    DICE.row("List the ordered pairs systematically: for each result of the first die, which result of the second makes the sum right? Remember that (2,6) and (6,2) are different outcomes, and divide by the number of all pairs."),
    DICE.row("There are 6 results for each die, so how many pairs are there in all? Your attempts counted the sums 2 to 12 as equally likely, which they are not."),
    REMAINDER.row("Reduce the base first: which small number has the same remainder as 7? Then look at how its powers repeat, and find where 100 falls in the cycle."),
    REMAINDER.row("Compute the last digits of the powers of 7: they repeat with period 4."),
    INTERVAL.row("An absolute value below a bound means that what is inside lies between two numbers. Write that as a double inequality and isolate x. Your attempts dropped the negative side."),
    INTERVAL.row("Think of the numbers whose distance to 3 is less than 2. Are the ends included?"),
    BLEND.row("A number is prime if it has no divisor besides itself and 1. Check each option for divisibility by 3 first: add the digits."),
    BLEND.row("Which of 21, 27, 29 and 33 are multiples of 3? You need the one that is left, but check it for 5 and 7 as well."),
    BLEND.row("Option A is 3 times 7, so it is not prime. Test the others in the same way."),
    leak_math.SQUARES.row("1. Do not solve for the roots.\n2. Use the relations between roots and coefficients.\n3. Express the sum of squares through the sum and the product."),
    leak_math.CLIPS.row("The phrase 'half as many' refers to the 48 clips of April. Work out May first. The question asks for both months together, so do not stop there."),
]  # fmt: skip
