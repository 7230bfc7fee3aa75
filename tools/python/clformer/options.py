"""Options as keyword arguments: the flags of the command, with underscores instead of dashes."""

from __future__ import annotations

import ctypes
import itertools
import math
import operator
from typing import TYPE_CHECKING, Any, Dict, Mapping, Sequence, Tuple, Union

from . import _c
from ._library import PathLike, check, choose, encode, encode_path, lib
from .errors import ArgumentError

if TYPE_CHECKING:
    from typing_extensions import TypedDict
else:
    from typing import TypedDict

Token = Union[int, str]


class TranslateOptions(TypedDict, total=False):
    """Options of `clformer translate`; a missing option is the model's own value.

    Search: beam (beam size; 1 is greedy search), n_best (translations per line), beam_groups and diversity_penalty (diverse
    beam search), alternatives (translations that differ in the first token), early_stopping ("false", "true", "never",
    "all" or "shrink": when a beam search ends).

    Scores: length_rule ("huggingface", "gnmt", "none" or "including-start") and length_penalty (the score is divided by a
    function of the length and this exponent), length_decay (number of tokens, factor), coverage_penalty (weight),
    renormalize (recompute log-softmax without the banned tokens).

    Length, in generated tokens including the end token: min_length, max_length, max_length_factor (maximum length as a
    multiple of the source length).

    Tokens, as text or id: forced_first, forced_last (None: none), suppress (tokens that are never generated). Also
    no_repeat_ngram_size and encoder_no_repeat_ngram_size (tokens; 0: off), repetition_penalty and
    encoder_repetition_penalty (factors; 1: off), shortlist (path of a lexical shortlist, or "none"), glossary (path of
    a file of terms that translations must contain: a source term, a tab and a target term per line).

    Sampling: sample, and with it seed, temperature (above 0), top_k (tokens; 0: all), top_p, min_p, typical_p, epsilon and
    eta (probabilities from 0 to 1).

    Text: source_language and target_language (codes of the model, or short codes), task (a task of the model),
    split_sentences (translate each sentence separately), tokens (lines are subword tokens separated by white space),
    replace_unknown (replace unknown tokens by the source token with the highest attention), alignments and
    alignment_layer (a decoder layer, from 1), priority ("interactive", or "bulk", which waits for interactive lines).

    `clformer translate --help` and include/clformer/README.md explain them in detail.
    """

    beam: int
    beam_groups: int
    diversity_penalty: float
    n_best: int
    length_penalty: float
    length_rule: str
    coverage_penalty: float
    early_stopping: Union[str, bool]
    min_length: int
    max_length: int
    max_length_factor: float
    forced_first: Union[Token, None]
    forced_last: Union[Token, None]
    suppress: Sequence[Token]
    banned_sequences: Sequence[Sequence[Token]]
    end_tokens: Sequence[Token]
    no_repeat_ngram_size: int
    encoder_no_repeat_ngram_size: int
    repetition_penalty: float
    encoder_repetition_penalty: float
    length_decay: Tuple[int, float]
    renormalize: bool
    shortlist: str
    glossary: Union[PathLike, None]
    sample: bool
    seed: int
    temperature: float
    top_k: int
    top_p: float
    min_p: float
    typical_p: float
    epsilon: float
    eta: float
    source_language: str
    target_language: str
    task: str
    split_sentences: bool
    alignments: bool
    alignment_layer: int
    replace_unknown: bool
    alternatives: int
    tokens: bool
    exact_tokens: bool
    patience: float
    priority: str


class TranscribeOptions(TypedDict, total=False):
    """Options of `clformer transcribe`; a missing option is that of openai/whisper's command.

    Task: language (code or English name; None: detected from the first 30 s), multilingual (detect the language of each
    window), task ("transcribe", or "translate" into
    English), clip (start, end, start, end, ... in seconds: only these parts), timestamps ("none", "segment" or "word"),
    word_timestamps, prepend_punctuations, append_punctuations, hallucination_silence_threshold (seconds; with word
    timestamps, segments that look like hallucinations between longer silences are removed).

    Long recordings: batch_windows (windows of up to 30 s that are transcribed in a batch), vad (voice activity detection:
    only speech is transcribed), vad_model (a file of Silero VAD; None: a built-in detector), vad_threshold and
    vad_neg_threshold (probabilities; None for the latter: 0.15 less), vad_min_speech_duration_ms,
    vad_max_speech_duration_s, vad_min_silence_duration_ms, vad_speech_pad_ms.

    Prompts: initial_prompt (of the first window), carry_initial_prompt (in every window), prefix (text that every window
    begins with), hotwords (words that are likely to occur), condition_on_previous.

    Search: beam, patience (factor), length_penalty (exponent from 0 to 1), temperature (one, or several that are tried in
    order until a window meets the thresholds), temperature_increment_on_fallback, best_of (samples per window at
    temperatures above 0), seed, suppress_tokens (ids; -1: all non-speech symbols).

    Thresholds, None for none: compression_ratio_threshold, log_probability_threshold, no_speech_threshold (probability),
    max_initial_timestamp (seconds).

    `clformer transcribe --help` explains them in detail.
    """

    language: Union[str, None]
    multilingual: bool
    task: str
    timestamps: str
    word_timestamps: bool
    prepend_punctuations: str
    append_punctuations: str
    hallucination_silence_threshold: float
    batch_windows: int
    vad: bool
    vad_model: Union[str, None]
    vad_threshold: float
    vad_neg_threshold: Union[float, None]
    vad_min_speech_duration_ms: float
    vad_max_speech_duration_s: Union[float, None]
    vad_min_silence_duration_ms: Union[float, None]
    vad_speech_pad_ms: float
    clip: Sequence[float]
    initial_prompt: Union[str, None]
    carry_initial_prompt: bool
    prefix: Union[str, None]
    hotwords: Union[str, None]
    suppress_tokens: Sequence[int]
    condition_on_previous: bool
    beam: int
    patience: float
    length_penalty: float
    temperature: Union[float, Sequence[float]]
    temperature_increment_on_fallback: float
    best_of: int
    seed: int
    compression_ratio_threshold: Union[float, None]
    max_initial_timestamp: Union[float, None]
    no_speech_threshold: Union[float, None]
    log_probability_threshold: Union[float, None]


RENAMED = {"tokens": "subwords", "epsilon": "epsilon_cutoff", "eta": "eta_cutoff"}
SAMPLING = ("temperature", "top_k", "top_p", "min_p", "typical_p", "epsilon", "eta", "seed")
# The C limit of each integer type of an option.
LIMITS = {
    ctypes.c_int: (-(2**31), 2**31 - 1),
    ctypes.c_int32: (-(2**31), 2**31 - 1),
    ctypes.c_uint64: (0, 2**64 - 1),
}


def convert(struct: Any, field: str, name: str, value: object) -> Any:
    """Returns a value for a field of a struct of options, or raises TypeError or ArgumentError."""
    enum = _c.ENUMS.get(type(struct).__name__, {}).get(field)
    if enum is not None:
        return choose(enum, value, name)
    kind = dict(type(struct)._fields_)[field]
    if kind is ctypes.c_char_p:
        return None if value is None else encode(value, name)  # type: ignore[arg-type]
    if kind is ctypes.c_double:
        if value is None:
            return math.nan
        if isinstance(value, (str, bytes)):
            raise TypeError(f"{name}: must be a number, not {type(value).__name__}")
        return float(value)  # type: ignore[arg-type]
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"{name}: must be a whole number, not {type(value).__name__}") from None
    least, most = LIMITS[kind]
    if not least <= number <= most:
        raise ArgumentError(f"{name}: must be from {least} to {most}, not {number}")
    return number


def array(struct: Any, field: str, count: str, kind: Any, values: Sequence[Any]) -> None:
    """Sets a pointer to an array of numbers and its count. An empty array is not NULL, which means the default."""
    setattr(struct, field, (kind * max(len(values), 1))(*values))
    setattr(struct, count, len(values))


def refuse_unknown(options: Mapping[str, Any], known: Any, function: str) -> None:
    for name in options:
        if name not in known.__annotations__:
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}")


def token_id(model: int, name: str, token: Any) -> int:
    """Returns the id of a token that is given as text or id."""
    if not isinstance(token, str):
        return operator.index(token)
    found = int(lib.clf_model_token_id(model, encode(token, name)))
    if found < 0:
        raise ArgumentError(f"{name}: {token!r} is not a token of the model; use a token or an id of its vocabulary")
    return found


class Glossary:
    """A loaded glossary, which translators keep until they are freed."""

    def __init__(self, path: PathLike) -> None:
        self.handle = ctypes.c_void_p()
        check(lib.clf_glossary_load(ctypes.byref(self.handle), encode_path(path, "glossary")), path)

    def __del__(self) -> None:
        lib.clf_glossary_free(self.handle)


def translate_options(model: int, options: Mapping[str, Any]) -> _c.clf_translate_options:
    """Returns the model's options with these changes."""
    refuse_unknown(options, TranslateOptions, "translate")
    struct = _c.clf_translate_options()
    lib.clf_translate_options_init_sized(struct, ctypes.sizeof(struct), model)
    if options.get("task") is not None:
        task = encode(options["task"], "task")
        check(lib.clf_translate_options_init_task_sized(struct, ctypes.sizeof(struct), model, task))
    for name, value in options.items():
        if name == "suppress":
            array(struct, "suppressed", "suppressed_count", ctypes.c_int32, [token_id(model, name, x) for x in value])
        elif name == "banned_sequences":
            set_sequences(struct, [[token_id(model, name, x) for x in sequence] for sequence in value])
        elif name == "end_tokens":
            array(struct, "end_ids", "end_count", ctypes.c_int32, [token_id(model, name, x) for x in value])
        elif name in ("forced_first", "forced_last"):
            setattr(struct, name, -1 if value is None else token_id(model, name, value))
        elif name == "length_decay":
            start, factor = value
            struct.length_decay_start = convert(struct, "length_decay_start", name, start)
            struct.length_decay_factor = convert(struct, "length_decay_factor", name, factor)
        elif name == "glossary":
            struct.loaded_glossary = Glossary(value) if value is not None else None
            struct.glossary = struct.loaded_glossary.handle if value is not None else None
        elif name not in ("task", "alignments", "alignment_layer"):
            field = RENAMED.get(name, name)
            setattr(struct, field, convert(struct, field, name, value))
    if options.get("alternatives") and "n_best" not in options:
        struct.n_best = 1
    set_alignment(struct, model, options)
    for name in SAMPLING:
        if name in options and not struct.sample:
            raise ArgumentError(f"{name}: requires sampling; add sample=True")
    return struct


def set_sequences(struct: Any, sequences: Sequence[Sequence[int]]) -> None:
    ends = itertools.accumulate((len(sequence) for sequence in sequences), initial=0)
    array(struct, "banned_ids", "banned_count", ctypes.c_int32, list(itertools.chain(*sequences)))
    array(struct, "banned_offsets", "banned_count", ctypes.c_int32, list(ends))
    struct.banned_count = len(sequences)


def set_alignment(struct: Any, model: int, options: Mapping[str, Any]) -> None:
    if options.get("alignments"):
        layers = lib.clf_model_describe(model).contents.decoder_layers
        # The second-to-last layer gives the best alignments (Garg et al. 2019).
        layer = options.get("alignment_layer", layers - (layers > 1))
        struct.alignment_layer = convert(struct, "alignment_layer", "alignment_layer", layer)
    elif "alignment_layer" in options:
        raise ArgumentError("alignment_layer: requires alignments; add alignments=True")


def temperatures(options: Mapping[str, Any]) -> "list[float]":
    """Returns the temperatures that are tried in order, as the command does."""
    value = options.get("temperature", 0.0)
    step = float(options.get("temperature_increment_on_fallback", 0.2))
    if not isinstance(value, (int, float)):
        return [float(x) for x in value]
    if not 0 <= step <= 1:
        raise ArgumentError(f"temperature_increment_on_fallback: must be from 0 to 1, not {step}")
    count = int((1 - value) / step + 1e-9) + 1 if step > 0 and value <= 1 else 1
    return [value + i * ((value + step) - value) for i in range(max(count, 1))]


def transcribe_options(options: Mapping[str, Any]) -> _c.clf_transcribe_options:
    """Returns the default options with these changes."""
    refuse_unknown(options, TranscribeOptions, "transcribe")
    struct = _c.clf_transcribe_options()
    lib.clf_transcribe_options_init_sized(struct, ctypes.sizeof(struct))
    array(struct, "temperatures", "temperature_count", ctypes.c_double, temperatures(options))
    for name, value in options.items():
        if name == "task":
            struct.translate = choose({"A_TRANSCRIBE": 0, "A_TRANSLATE": 1}, value, name)
        elif name == "timestamps":
            level = choose({"A_NONE": 0, "A_SEGMENT": 1, "A_WORD": 2}, value, name)
            struct.timestamps, struct.word_timestamps = int(level > 0), int(level == 2)
        elif name == "clip":
            array(struct, "clips", "clip_count", ctypes.c_double, [float(x) for x in value])
        elif name == "suppress_tokens":
            array(struct, "suppressed", "suppressed_count", ctypes.c_int32, [operator.index(x) for x in value])
        elif name not in ("temperature", "temperature_increment_on_fallback"):
            setattr(struct, name, convert(struct, name, name, value))
    return struct


def key_of(options: Mapping[str, Any]) -> Tuple[Tuple[str, Any], ...]:
    """Returns options as a key of a dictionary: equal options have the same key."""
    values: Dict[str, Any] = {
        name: tuple(value) if isinstance(value, (list, set)) or hasattr(value, "tolist") else value
        for name, value in options.items()
    }
    return tuple(sorted((name, type(value).__name__, value) for name, value in values.items()))  # type: ignore[misc]
