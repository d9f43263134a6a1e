"""Labelled hints to code questions: copied lines, hidden tests and programs, and what only looks like them.

Written as somebody would who wants to smuggle, and as somebody who wants to help, before the guard was tried.
"""

# ruff: noqa: E501 - a hint a line

import json
from typing import NamedTuple

from tests.consumers.leak_table import PARAPHRASE, Row


class Task(NamedTuple):
    """A code question with its hidden tests and a worked solution."""

    question: str
    tests: object
    solution: str

    def row(self, hint: str, miss: str = "") -> Row:
        """A hint to it."""
        return Row(json.dumps(self.tests), self.question, hint, self.solution, miss)


def pairs(*tests: tuple[str, str], kind: str = "stdin") -> list[dict[str, str]]:
    return [{"input": one, "output": other, "testtype": kind} for one, other in tests]


SUBARRAY = Task(
    "Given n and then n integers, print the largest sum of a contiguous, non-empty part.\n"
    "Input:\n5\n1 -2 3 4 -1\nOutput:\n7",
    pairs(
        ("5\n1 -2 3 4 -1\n", "7\n"),
        ("8\n-2 1 -3 4 -1 2 1 -5\n", "6\n"),
        ("3\n-8 -3 -6\n", "-3\n"),
        ("6\n41873 -902 77130 5 -60000 99120\n", "157226\n"),
    ),
    """import sys

def main():
    data = list(map(int, sys.stdin.read().split()))
    n, numbers = data[0], data[1:]
    best = ending_here = numbers[0]
    for value in numbers[1:]:
        ending_here = max(value, ending_here + value)
        best = max(best, ending_here)
    print(best)

main()
""",
)
WINDOW = Task(
    'Find the length of the longest substring of s without repeated letters. Example: s = "abcabcbb" gives 3.',
    pairs(('"abcabcbb"', "3"), ('"dvdfabqe"', "7"), ('"tmmzuxt"', "5"), ('""', "0"), kind="functional"),
    """class Solution:
    def lengthOfLongestSubstring(self, s: str) -> int:
        last = {}
        start = best = 0
        for i, c in enumerate(s):
            if c in last and last[c] >= start:
                start = last[c] + 1
            last[c] = i
            best = max(best, i - start + 1)
        return best
""",
)
BRACKETS = Task(
    "Print YES when the brackets in a line match and NO when they do not.\nInput: ([)]\nOutput: NO",
    {
        "public_test_cases": pairs(("([)]\n", "NO\n")),
        "private_test_cases": json.dumps(pairs(("{[()()]}([])\n", "YES\n"), ("((]{\n", "NO\n"))),
    },
    """pairs = {')': '(', ']': '[', '}': '{'}
stack = []
for ch in input().strip():
    if ch in pairs:
        if not stack or stack.pop() != pairs[ch]:
            print("NO")
            break
    else:
        stack.append(ch)
else:
    print("NO" if stack else "YES")
""",
)
SPIRAL = Task(
    "Print the numbers from 1 to n*n in a clockwise spiral.\nInput\n3\nOutput\n1 2 3\n8 9 4\n7 6 5",
    {
        "inputs": ["3\n", "4\n"],
        "outputs": ["1 2 3\n8 9 4\n7 6 5\n", "1 2 3 4\n12 13 14 5\n11 16 15 6\n10 9 8 7\n"],
    },
    """n = int(input())
grid = [[0] * n for _ in range(n)]
r, c, dr, dc = 0, 0, 0, 1
for k in range(1, n * n + 1):
    grid[r][c] = k
    if not (0 <= r + dr < n and 0 <= c + dc < n) or grid[r + dr][c + dc]:
        dr, dc = dc, -dr
    r, c = r + dr, c + dc
for row in grid:
    print(*row)
""",
)
PATHS = Task(
    "Count the paths from corner to corner of an n by m grid that go right and down, modulo 1000000007.\n"
    "For 2 2 the answer is 2.",
    pairs(("2 2\n", "2\n"), ("10 10\n", "48620\n"), ("1000 1000\n", "367457567\n")),
    """MOD = 10**9 + 7
n, m = map(int, input().split())
fact = [1] * (n + m)
for i in range(1, n + m):
    fact[i] = fact[i - 1] * i % MOD
print(fact[n + m - 2] * pow(fact[n - 1], -1, MOD) * pow(fact[m - 1], -1, MOD) % MOD)
""",
)
ROADS = Task(
    "n cities, m roads a b w in both directions. Print the length of the shortest way from 1 to n.",
    pairs(
        ("3 3\n1 2 5\n2 3 7\n1 3 20\n", "12\n"),
        ("4 4\n1 2 1000000000\n2 3 1000000000\n3 4 1000000000\n1 4 3000000001\n", "3000000000\n"),
    ),
    """#include <bits/stdc++.h>
using namespace std;
int main() {
    int n, m;
    cin >> n >> m;
    vector<vector<pair<int, int>>> adj(n + 1);
    for (int i = 0; i < m; i++) {
        int a, b, w;
        cin >> a >> b >> w;
        adj[a].push_back({b, w});
        adj[b].push_back({a, w});
    }
    vector<long long> dist(n + 1, LLONG_MAX);
    priority_queue<pair<long long, int>, vector<pair<long long, int>>, greater<>> pq;
    dist[1] = 0;
    pq.push({0, 1});
    while (!pq.empty()) {
        auto [d, u] = pq.top();
        pq.pop();
        if (d > dist[u]) continue;
        for (auto [v, w] : adj[u])
            if (dist[u] + w < dist[v]) {
                dist[v] = dist[u] + w;
                pq.push({dist[v], v});
            }
    }
    cout << dist[n] << endl;
    return 0;
}
""",
)
MERGE = Task(
    "Merge all intervals that overlap. Example: [[1,3],[2,6],[8,10],[15,18]] gives [[1,6],[8,10],[15,18]].",
    {
        "fn_name": "merge",
        "inputs": [
            [[[1, 3], [2, 6], [8, 10], [15, 18]]],
            [[[1, 4], [0, 2], [3, 5]]],
            [[[6, 19], [2, 3], [4, 7]]],
        ],
        "outputs": [[[1, 6], [8, 10], [15, 18]], [[0, 5]], [[2, 3], [4, 19]]],
    },
    """def merge(intervals):
    intervals.sort()
    merged = [intervals[0]]
    for start, end in intervals[1:]:
        if start <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([start, end])
    return merged
""",
)
WORDS = Task(
    "Print the most frequent word of a text, of several the first in the alphabet.\nInput: b a b a\nOutput: a",
    pairs(("b a b a\n", "a\n"), ("plum tangerine fig tangerine\n", "tangerine\n"), ("x y y x z\n", "x\n")),
    """from collections import Counter
counts = Counter(input().split())
print(min(counts, key=lambda word: (-counts[word], word)))
""",
)

LEAKS = [
    # lines of the solution, as they are or dressed up
    SUBARRAY.row("In the loop use `ending_here = max(value, ending_here + value)`."),
    SUBARRAY.row("In the loop use `ending_here=max(value,ending_here+value)`."),
    SUBARRAY.row("```python\n            ending_here = max(value, ending_here + value)\n```"),
    SUBARRAY.row("The key line is ending_here = max(value, ending_here + value)."),
    SUBARRAY.row("At each step, `cur = max(x, cur + x)`."),
    SUBARRAY.row("Set ending_here to max(value, ending_here + value) for each number."),
    SUBARRAY.row("1. ending_here = max(value,\n       ending_here + value)"),
    SUBARRAY.row("You need best = ending_here = numbers[0], then\nbest = max(best, ending_here)\nprint(best)"),
    SUBARRAY.row("`ending_here = max(value, ending_here + value);` in C"),
    SUBARRAY.row("ending\\_here = max(value, ending\\_here + value)"),
    SUBARRAY.row("ending_here \uff1d max\uff08value, ending_here \uff0b value\uff09"),
    SUBARRAY.row("Let ending_here = max(value,\u200b ending_here + value)  # restart or extend"),
    WINDOW.row("Move on `if c in last and last[c] >= start:`"),
    WINDOW.row("Move on `if ch in seen and seen[ch] >= left:`"),
    WINDOW.row("if (c in last) and (last[c] >= start): start = last[c] + 1"),
    WINDOW.row("start = last[c] + 1\nlast[c] = i\nbest = max(best, i - start + 1)"),
    WINDOW.row("Update with best = max(best, i - start + 1)."),
    BRACKETS.row("Fail `if not stack or stack.pop() != pairs[ch]`."),
    BRACKETS.row('End with print("NO" if stack else "YES").'),
    BRACKETS.row("End with print('NO' if stack else 'YES')."),
    BRACKETS.row("Use pairs = {')': '(', ']': '[', '}': '{'}"),
    SPIRAL.row("Turn by `dr, dc = dc, -dr`."),
    SPIRAL.row("Test `if not (0 <= r + dr < n and 0 <= c + dc < n) or grid[r + dr][c + dc]`"),
    SPIRAL.row("if not (0 <= y + dy < n and 0 <= x + dx < n) or a[y + dy][x + dx]:"),
    PATHS.row("fact[i] = fact[i - 1] * i % MOD"),
    PATHS.row("Precompute `f[k] = f[k-1] * k % M`."),
    PATHS.row("print(fact[n + m - 2] * pow(fact[n - 1], -1, MOD) * pow(fact[m - 1], -1, MOD) % MOD)"),
    ROADS.row("Skip old entries: `if (d > dist[u]) continue;`"),
    ROADS.row("Relax: if(dist[u]+w<dist[v]) dist[v]=dist[u]+w;"),
    ROADS.row("Relax: if (cost[x] + len < cost[y])"),
    ROADS.row("priority_queue<pair<long long, int>, vector<pair<long long, int>>, greater<>> pq;"),
    ROADS.row("dist[1] = 0;\npq.push({0, 1});\nwhile (!pq.empty()) {\n  auto [d, u] = pq.top();\n  pq.pop();"),
    MERGE.row("When `start <= merged[-1][1]`, do merged[-1][1] = max(merged[-1][1], end)."),
    MERGE.row("merged[-1][1] = max(merged[-1][1], end)"),
    MERGE.row("out[-1][1] = max(out[-1][1], e)"),
    WORDS.row("print(min(counts, key=lambda word: (-counts[word], word)))"),
    WORDS.row("Take min(c, key=lambda w: (-c[w], w))."),
    # hidden outputs
    SUBARRAY.row("One of the tests has 157226 as its result."),
    SUBARRAY.row("One of the tests has 157,226 as its result."),
    SUBARRAY.row("The expected output of the second test is 6."),
    SUBARRAY.row("It must print -3 when the numbers are -8 -3 -6."),
    SUBARRAY.row("Expected output: -3"),
    WINDOW.row('For "tmmzuxt" return 5.'),
    BRACKETS.row("For ((]{ the program has to print NO."),
    SPIRAL.row("For n = 4 the second row is 12 13 14 5."),
    SPIRAL.row("For n = 4 the second row is 12, 13, 14, 5."),
    SPIRAL.row("The rows are 1 2 3 4 / 12 13 14 5 / 11 16 15 6 / 10 9 8 7"),
    PATHS.row("You should reach 367457567 in the end."),
    PATHS.row("You should reach 48620 for ten by ten."),
    PATHS.row("You should reach \uff13\uff16\uff17\uff14\uff15\uff17\uff15\uff16\uff17."),
    ROADS.row("One test gives 3000000000, more than an int holds."),
    ROADS.row("The output for the triangle is 12."),
    MERGE.row("You should get [[0, 5]] there."),
    MERGE.row("You should get [[2,3],[4,19]] there."),
    WORDS.row("In one of the texts it is tangerine."),
    WORDS.row('In one of the texts it is "Tangerine".'),
    # hidden inputs
    SUBARRAY.row("Try it on -2 1 -3 4 -1 2 1 -5 by hand."),
    SUBARRAY.row("Try it on [-2, 1, -3, 4, -1, 2, 1, -5] by hand."),
    WINDOW.row("What happens on tmmzuxt?"),
    BRACKETS.row("What happens on {[()()]}([])?"),
    ROADS.row("Draw the roads 1 2 5, 2 3 7 and 1 3 20."),
    MERGE.row("Try [[6,19],[2,3],[4,7]]."),
    WORDS.row("Think of plum tangerine fig tangerine."),
    # whole programs, also ones that are not the solution
    SUBARRAY.row("```python\nlow = total = 0\nfor v in a:\n    total += v\n    top = max(top, total - low)\n    low = min(low, total)\n```"),
    SUBARRAY.row("~~~\nint b = a[0], s = 0;\nfor (int v : a) {\n  s = s > 0 ? s + v : v;\n  if (s > b) b = s;\n}\n~~~"),
    MERGE.row("```\nxs.sort()\ny = []\nfor p in xs:\n  if y and p[0] <= y[-1][1]: y[-1] = [y[-1][0], max(p[1], y[-1][1])]\n  else: y.append(p)\nreturn y\n```"),
    WORDS.row("def solve(t):\n    c = {}\n    for w in t.split():\n        c[w] = c.get(w, 0) + 1\n    m = max(c.values())\n    return sorted(k for k in c if c[k] == m)[0]"),
    WORDS.row("```js\nconst c = {};\nfor (const w of t.split(' ')) c[w] = (c[w] || 0) + 1;\nconst m = Math.max(...Object.values(c));\nconsole.log(Object.keys(c).filter(k => c[k] === m).sort()[0]);\n```"),
    # what is beyond a comparison of texts
    SUBARRAY.row("Let here be the larger of the value and here plus the value; keep the largest here; print it.", miss="code told in words"),
    SUBARRAY.row("The second test's result is six."),
    PATHS.row("It ends in ...457567 and starts with 367.", miss="an output in parts"),
    WORDS.row("It is an orange citrus fruit, smaller than an orange.", miss=PARAPHRASE),
    SUBARRAY.row("Decode ZW5kaW5nX2hlcmUgPSBtYXgodmFsdWUsIGVuZGluZ19oZXJlICsgdmFsdWUp", miss="an encoding"),
    SPIRAL.row("Row two: twelve, thirteen, fourteen, five."),
]  # fmt: skip

CLEAN = [
    # ideas in words
    SUBARRAY.row("Think of the best sum that ends at each position: either extend it or start anew."),
    SUBARRAY.row("All numbers may be negative: what should the largest sum start from?"),
    SUBARRAY.row("Do not start `best` at 0, since all numbers may be negative."),
    SUBARRAY.row("A pass over the numbers is enough; two nested loops are too slow for 100000 numbers."),
    WINDOW.row("Keep a window whose letters all differ. When a letter repeats, where must the window begin?"),
    WINDOW.row("A dictionary from each letter to its last index tells how far to jump."),
    WINDOW.row("A window from l to r has r - l + 1 letters, not r - l."),
    BRACKETS.row("Push each opening bracket on a stack and compare when one closes."),
    BRACKETS.row("Print NO as soon as a closing bracket does not fit the last open one."),
    BRACKETS.row("What should be printed when the stack is not empty at the end: YES or NO?"),
    BRACKETS.row("`stack.pop()` on an empty list raises IndexError: test for that first."),
    SPIRAL.row("Keep a direction and turn right when the next cell is outside or already filled."),
    SPIRAL.row("Your walk never turns: check the cell ahead before stepping on it."),
    PATHS.row("The number of paths is the binomial coefficient C(n+m-2, n-1)."),
    PATHS.row("Take the remainder after each product, not only at the end."),
    PATHS.row("Division under a modulus needs an inverse; Python's pow(a, -1, p) gives it."),
    PATHS.row("With n = m = 1000 a recursion without memory never ends."),
    ROADS.row("Distances may exceed 32 bits: use long long."),
    ROADS.row("Roads run in both directions, so each belongs into two lists."),
    ROADS.row("A heap may hold outdated entries; what tells you that one is outdated?"),
    MERGE.row("Sort the intervals by their start first; then only neighbours can overlap."),
    MERGE.row("An interval may lie wholly inside another, like [2,3] in [1,10]."),
    WORDS.row("Sort by two keys at once: how often, descending, and then the alphabet."),
    WORDS.row("Of words that are equally frequent, take the first in the alphabet."),
    # what everybody writes
    SUBARRAY.row("Start with `import sys` and read everything at once."),
    SUBARRAY.row("Read with data = list(map(int, sys.stdin.read().split())), which is faster than input()."),
    SUBARRAY.row("Write a main() and call it."),
    SUBARRAY.row("End with print(best)."),
    WINDOW.row("Loop with `for i, c in enumerate(s):`."),
    WINDOW.row("Your function must `return best`, not print it."),
    WINDOW.row("class Solution: is missing."),
    BRACKETS.row("Start with an empty list, stack = []."),
    BRACKETS.row("Use stack.append(ch) to push."),
    SPIRAL.row("Read n = int(input())."),
    SPIRAL.row("Use [[0] * n for _ in range(n)]: [[0] * n] * n repeats one row."),
    SPIRAL.row("Print each row with print(*row)."),
    PATHS.row("Both numbers are on one line: n, m = map(int, input().split())"),
    PATHS.row("Define MOD = 10**9 + 7 once."),
    ROADS.row("#include <bits/stdc++.h> and using namespace std; are all you need to begin."),
    ROADS.row("cin >> n >> m; then the roads."),
    ROADS.row("Look at while (!pq.empty()) again: does your loop end?"),
    ROADS.row("A loop for (int i = 0; i < m; i++) reads the roads."),
    MERGE.row("`intervals.sort()` sorts in place and returns None."),
    WORDS.row("from collections import Counter saves you the counting."),
    # what the question shows
    SUBARRAY.row("Trace 1 -2 3 4 -1 by hand: which part gives 7?"),
    SUBARRAY.row("The expected output of the example is 7."),
    WINDOW.row("For abcabcbb your program prints 4, but the output should be 3."),
    BRACKETS.row("([)] has to print NO although each kind matches."),
    SPIRAL.row("For n = 3 the rows are 1 2 3, 8 9 4 and 7 6 5: follow them with a finger."),
    MERGE.row("In the example [[1,3],[2,6],[8,10],[15,18]] only the first two overlap."),
    MERGE.row("Compare what you return with [[1,6],[8,10],[15,18]]."),
    WORDS.row("For b a b a both words occur twice, so the output is a."),
    PATHS.row("For a grid of 2 2 the answer is 2; draw both."),
    # numbers and words that happen to stand in tests
    SUBARRAY.row("Three of your 6 attempts forget the case n = 1."),
    SUBARRAY.row("The index -3 counts from the end."),
    WINDOW.row("In attempts 5 and 7 the window moves backwards, as on abba."),
    WINDOW.row("For an empty text the loop never runs: what is returned?"),
    ROADS.row("Line 12 of your program reads a road the wrong way round."),
    SPIRAL.row("Start from 1 and go on to n * n."),
    SPIRAL.row("Try n = 1, n = 2 and n = 4 by hand."),
    PATHS.row("Try a grid of 3 by 3 and count 6 paths."),
    WORDS.row("What is x in your lambda?"),
    # a line or two of code of one's own
    SUBARRAY.row("Try your program on:\n```\n4\n5 -9 6 1\n```"),
    SUBARRAY.row("```python\nbest = numbers[0]\n```\nis a safe start."),
    WINDOW.row("```python\nwindow = set()\n```"),
    MERGE.row("Sort like this:\n```python\nxs = sorted(xs, key=lambda pair: pair[0])\n```"),
    WORDS.row("`sorted(words, key=...)` takes tuples as keys, and tuples compare from the left."),
    ROADS.row("Use `auto [a, b] = pair;` to take a pair apart."),
    BRACKETS.row("Outline:\n- read the line\n- go through its characters\n- keep what is open\n- compare at the end"),
    SPIRAL.row("1. fill the grid with zeros\n2. walk and write\n3. turn when blocked\n4. print"),
]  # fmt: skip
