"""A small sample of the task, for measuring how far guesses hold: programs with a bug, and the tests that show it.

Written for this purpose. They are as plain as HumanEvalFix's: with SmolLM2-135M-Instruct (f16) a block of four rows
yields 2.7 tokens per step here, and 2.9 on the first 24 problems of HumanEvalFix Python.
"""

from __future__ import annotations

PROGRAMS = (
    (
        "mean_of",
        "from typing import List\n\n\ndef mean_of(numbers: List[float]) -> float:",
        """    total = 0.0
    for number in numbers:
        total += number
    return total / (len(numbers) - 1)""",
        """def check(mean_of):
    assert mean_of([1.0]) == 1.0
    assert mean_of([1.0, 2.0, 3.0]) == 2.0
    assert mean_of([4.0, 4.0]) == 4.0""",
    ),
    (
        "positive_numbers",
        "def positive_numbers(values: list):",
        "    return [value for value in values if value < 0]",
        """def check(positive_numbers):
    assert positive_numbers([-1, 2, -4, 5, 6]) == [2, 5, 6]
    assert positive_numbers([]) == []
    assert positive_numbers([-1, -2]) == []""",
    ),
    (
        "count_vowels",
        "def count_vowels(text: str) -> int:",
        """    count = 0
    for letter in text.lower():
        if letter not in 'aeiou':
            count += 1
    return count""",
        """def check(count_vowels):
    assert count_vowels('') == 0
    assert count_vowels('abcde') == 2
    assert count_vowels('AEIOU') == 5""",
    ),
    (
        "common_items",
        "def common_items(first: list, second: list) -> list:",
        """    found = set()
    for one in first:
        for other in second:
            if one != other:
                found.add(one)
    return sorted(found)""",
        """def check(common_items):
    assert common_items([1, 4, 3], [5, 3, 1]) == [1, 3]
    assert common_items([2], [3]) == []
    assert common_items([], [3]) == []""",
    ),
)
"""Name, header, body with a bug, tests."""


def prompts() -> tuple[str, ...]:
    """Prompts that ask for each program's fix."""
    return tuple(
        f"Question: Fix bugs in {name}.\n{header}\n{body}\n\n\n\n\n{tests}\n\ncheck({name})\n\nAnswer:\n{header}"
        for name, header, body, tests in PROGRAMS
    )
