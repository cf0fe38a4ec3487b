"""Counts behind a full-precision score: a float from a results file tells k and the number of samples."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from literature.values import printed

# A mean of 164 quotients summed in double precision stays within this share of the true value.
FLOAT_ERROR = Fraction(1, 10**14)
MOST_CHANCE = 0.05


@dataclass(frozen=True)
class Recovered:
    """A count found behind a full-precision score; `chance` that an unrelated number would have fitted as well.

    `samples` is the smallest number that fits: the true one may be a multiple of it.
    """

    count: int
    problems: int
    samples: int
    chance: float

    @property
    def total(self) -> int:
        """N n."""
        return self.problems * self.samples

    @property
    def sentence(self) -> str:
        """For people."""
        again = "" if self.samples > 1 else ", or a multiple of it"
        return f"{self.count}/{self.total}, so n={self.samples} samples per problem{again}"


def recover(value: str, problems: int, most: int = 200) -> Recovered | None:
    """The smallest n = 1..`most` for which `value` is a whole count of `problems` x n; None when nothing decides.

    A number with few digits fits some n by chance; it is not accepted when that chance, summed over the n tried, is
    above 5 %.
    """
    number = printed(value)
    share = number.percent / 100
    slack = max(Fraction(1, 2 * 100 * 10**number.decimals), share * FLOAT_ERROR)
    chance = Fraction(0)
    for samples in range(1, most + 1):
        total = problems * samples
        chance += 2 * slack * total
        if chance > MOST_CHANCE:
            return None
        count = round(share * total)
        if abs(share - Fraction(count, total)) <= slack:
            return Recovered(count, problems, samples, float(chance))
    return None
