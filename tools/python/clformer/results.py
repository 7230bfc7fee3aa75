"""Results of a translator."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, List, Optional, Tuple

import numpy
from numpy.typing import NDArray

from . import _c
from ._library import error, lib, text
from .errors import Error, LineWarning


@dataclass(frozen=True)
class Hypothesis:
    """One translation of a line.

    text: the translation.
    ids: (n) generated ids, including the end token if there is one.
    tokens: (n) the same as tokens of the vocabulary.
    score: the value that ranks the hypothesis; the log-probability for greedy search and samples.
    log_probability: sum of natural log-probabilities including the end token.
    alignment: (n) for each id the index of the source token with the highest attention, from 0, or -1 if the id is not
        text; None without the option `alignments`.
    """

    text: str
    ids: List[int]
    tokens: List[str]
    score: float
    log_probability: float
    alignment: Optional[List[int]] = None


@dataclass(frozen=True)
class Translation:
    """The result for one line; str() and `text` are its best translation.

    hypotheses: best first; none for an empty line and for a line with a problem.
    problem: why the line has no translation, or None.
    cut_from: tokens or frames of the line before truncation to the model's limit; 0: not truncated.
    source_count: tokens or frames that were encoded.
    missing_terms: target terms of the glossary that the best translation lacks.
    """

    hypotheses: Tuple[Hypothesis, ...]
    problem: Optional[Error]
    cut_from: int
    source_count: int
    missing_terms: Tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The best translation; "" if there is none."""
        return self.hypotheses[0].text if self.hypotheses else ""

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Score:
    """The log-probability of a target.

    log_probability: sum of natural log-probabilities of the target including the end token; NaN with a problem.
    ids, tokens: (n) the target including the end token.
    token_log_probabilities: (n) float32.
    problem: why the pair has no score, or None.
    cut_from: tokens of the longer side before truncation; 0: not truncated.
    """

    log_probability: float
    ids: List[int]
    tokens: List[str]
    token_log_probabilities: NDArray[numpy.float32]
    problem: Optional[Error]
    cut_from: int


def tokens_of(model: int, ids: List[int]) -> List[str]:
    """Returns the tokens of ids; ids outside the vocabulary give ""."""
    return [text(lib.clf_model_token(model, value)) for value in ids]


def hypothesis_of(model: int, found: Any) -> Hypothesis:
    ids = found.ids[: found.count]
    alignment = found.alignment[: found.count] if found.alignment else None
    return Hypothesis(text(found.text), ids, tokens_of(model, ids), found.score, found.log_probability, alignment)


def problem_of(found: Any) -> Optional[Error]:
    return error(found.status, text(found.problem)) if found.status != 0 else None


def translation_of(model: int, found: _c.clf_translation) -> Translation:
    hypotheses = tuple(hypothesis_of(model, found.hypotheses[i]) for i in range(found.count))
    missing = tuple(text(found.missing_terms[i]) for i in range(found.missing_count))
    return Translation(hypotheses, problem_of(found), found.cut_from, found.source_count, missing)


def score_of(model: int, found: _c.clf_score) -> Score:
    ids = found.ids[: found.count] if found.count else []
    values = numpy.array(found.token_log_probabilities[: found.count] if found.count else [], numpy.float32)
    problem = problem_of(found)
    total = found.log_probability if problem is None else float("nan")
    return Score(total, ids, tokens_of(model, ids), values, problem, found.cut_from)


def warn(results: "List[Any]", first: int, level: int) -> None:
    """Warns about lines that have a problem, were truncated or lack terms; `first` is the index of the first line."""
    for i, result in enumerate(results, first):
        if result.problem is not None:
            warnings.warn(f"line {i}: {result.problem}", LineWarning, stacklevel=level + 1)
        elif result.cut_from:
            warnings.warn(
                f"line {i}: is too long for the model and was truncated from {result.cut_from} tokens; "
                "split it, or use split_sentences=True",
                LineWarning,
                stacklevel=level + 1,
            )
        elif getattr(result, "missing_terms", ()):
            terms = ", ".join(result.missing_terms)
            warnings.warn(f"line {i}: its translation lacks terms of the glossary: {terms}", LineWarning, stacklevel=level + 1)
