"""Results of a Translator and of Whisper."""

import threading
import warnings


class Result:
    """Fields that are read only; a list is copied at each read."""

    def __init__(self, **fields):
        object.__setattr__(self, "_fields", fields)

    def __getattr__(self, name):
        fields = object.__getattribute__(self, "_fields") if name != "_fields" else {}
        if name not in fields:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        value = fields[name]
        return list(value) if isinstance(value, list) else value

    def __setattr__(self, name, value):
        raise AttributeError(f"{type(self).__name__}.{name} cannot be set")

    def __eq__(self, other):
        return type(self) is type(other) and self._fields == other._fields

    __hash__ = object.__hash__

    def __repr__(self):
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self._fields.items())})"


class TranslationResult(Result):
    """hypotheses: list of lists of tokens, best first; scores, attention, logits: lists, empty if not requested."""

    def __init__(self, hypotheses, scores=(), attention=(), logits=()):
        super().__init__(hypotheses=list(hypotheses), scores=list(scores), attention=list(attention), logits=list(logits))

    def __len__(self):
        return len(self._fields["hypotheses"])

    def __getitem__(self, index):
        """The interface of CTranslate2 before 2.0."""
        warnings.warn("reading this result as a list of dictionaries is deprecated; use its attributes",
                      DeprecationWarning, stacklevel=2)
        names = {"hypotheses": "tokens", "scores": "score", "attention": "attention"}
        if not -len(self) <= index < len(self):
            raise IndexError(f"hypothesis {index} of {len(self)}")
        return {key: self._fields[name][index] for name, key in names.items() if self._fields[name]}


class ScoringResult(Result):
    """tokens and log_probs of a target."""

    def __init__(self, tokens, log_probs):
        super().__init__(tokens=tokens, log_probs=log_probs)


class WhisperGenerationResult(Result):
    """sequences, sequences_ids and scores have one entry per hypothesis, best first; no_speech_prob."""

    def __init__(self, sequences, sequences_ids, scores, logits, no_speech_prob):
        super().__init__(sequences=sequences, sequences_ids=sequences_ids, scores=scores, logits=logits,
                         no_speech_prob=no_speech_prob)


class WhisperAlignmentResult(Result):
    """alignments: pairs of a token and a position of the encoder; text_token_probs."""

    def __init__(self, alignments, text_token_probs):
        super().__init__(alignments=alignments, text_token_probs=text_token_probs)


class GenerationStepResult(Result):
    """A generated token."""

    def __init__(self, step, batch_id, token_id, hypothesis_id, token, log_prob=None, logits=None, is_last=False):
        super().__init__(step=step, batch_id=batch_id, token_id=token_id, hypothesis_id=hypothesis_id, token=token,
                         log_prob=log_prob, logits=logits, is_last=is_last)


class Future:
    """The result of a call that runs on another thread, or its exception, which every result() raises."""

    def __init__(self):
        self._over = threading.Event()
        self._value = self._error = None

    def done(self):
        return self._over.is_set()

    def _wait(self):
        self._over.wait()

    def result(self):
        self._over.wait()
        if self._error is not None:
            raise self._error
        return self._value


class AsyncTranslationResult(Future):
    pass


class AsyncScoringResult(Future):
    pass


class WhisperGenerationResultAsync(Future):
    pass


def run(call, count, kind):
    """Runs a call that returns `count` results on a thread; returns a Future of this kind for each."""
    futures = [kind() for _ in range(count)]

    def work():
        values, error = [None] * count, None
        try:
            values = call()
        except BaseException as exception:
            error = exception
        for future, value in zip(futures, values):
            future._value, future._error = value, error
            future._over.set()

    threading.Thread(target=work, daemon=True).start()
    return futures
