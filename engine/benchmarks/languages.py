"""The six languages of HumanEvalPack: what the harness does differently in each."""

from __future__ import annotations

from dataclasses import dataclass

from engine.protocols import Limits

PYTHON_STOP_WORDS = ("\nclass", "\ndef", "\n#", "\n@", "\nprint", "\nif", "\nassert")
GO_STOP_WORDS = ("\n//", "\nfunc main(", "struct", "\nfunc")


@dataclass(frozen=True)
class Language:
    """One language: the task id prefix of its rows, file extension, stop words, and how its replies are cut.

    `depth` is the number of braces open where a reply begins (0: the language is cut by indentation); `main` is put
    before the header; `timeout` is the harness's, in seconds.
    """

    name: str
    prefix: str
    extension: str
    timeout: float
    depth: int = 1
    stop_words: tuple[str, ...] = ()
    main: str = ""

    @property
    def limits(self) -> Limits:
        """The harness's timeout as CPU seconds; the wall clock is wider so that a busy machine fails no program."""
        return Limits(cpu_s=self.timeout, wall_s=3 * self.timeout)


LANGUAGES = {
    language.name: language
    for language in (
        Language("python", "Python", "py", 10, depth=0, stop_words=PYTHON_STOP_WORDS),
        Language("js", "JavaScript", "js", 10),
        Language("java", "Java", "java", 10, depth=2),
        Language("go", "Go", "go", 20, stop_words=GO_STOP_WORDS),
        Language("cpp", "CPP", "cpp", 60),
        Language("rust", "Rust", "rs", 300, main="fn main(){}\n"),
    )
}


def language_of(benchmark: str) -> Language:
    """The language that the last part of a task name stands for, as in the harness; Python where there is none."""
    return LANGUAGES.get(benchmark.rpartition("-")[2], LANGUAGES["python"])
