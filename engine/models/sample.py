"""A small sample of the task, for measuring how far guesses hold: programs with a bug, their tests, and replies.

Written for this purpose, in HumanEvalFix's manner; the replies are of the kind that a small model gives: one repeats
the program, two repair it, one writes it anew in part. A block of four rows yields about as many tokens per step on
them as it did on SmolLM2-135M-Instruct's replies to 24 problems of HumanEvalFix Python (2.9; 4.0 with eight rows).
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
        """
    total = 0.0
    for number in numbers:
        total += number
    return total / (len(numbers) - 1)
""",
    ),
    (
        "positive_numbers",
        "def positive_numbers(values: list):",
        "    return [value for value in values if value < 0]",
        """def check(positive_numbers):
    assert positive_numbers([-1, 2, -4, 5, 6]) == [2, 5, 6]
    assert positive_numbers([]) == []
    assert positive_numbers([-1, -2]) == []""",
        """
    return [value for value in values if value > 0]
""",
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
        """
    count = 0
    for letter in text.lower():
        if letter in 'aeiou':
            count += 1
    return count
""",
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
        """
    seen = set()
    result = []
    for one in first:
        for other in second:
            if one == other:
                result.append(one)
                seen.add(one)
    return result
""",
    ),
)
"""Name, header, body with a bug, tests, reply."""


def replies() -> tuple[tuple[str, str], ...]:
    """Prompts that ask for each program's fix, and what was answered."""
    return tuple(
        (
            f"Question: Fix bugs in {name}.\n{header}\n{body}\n\n\n\n\n{tests}\n\ncheck({name})\n\nAnswer:\n{header}",
            reply,
        )
        for name, header, body, tests, reply in PROGRAMS
    )
