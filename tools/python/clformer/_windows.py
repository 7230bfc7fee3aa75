"""Encoded windows of speech (clformer/windows.h), on which clformer_ctranslate2's Whisper is built. Threads may share all objects."""

from __future__ import annotations

import contextlib
import ctypes
import os
import threading
import weakref
from dataclasses import dataclass
from typing import Any, Callable, Iterator, List, Optional, Sequence, Tuple

import numpy
from numpy.typing import NDArray

from . import _c
from ._engine import Engine
from ._library import PathLike, check, check_process, lib
from .errors import ClosedError

Floats = NDArray[numpy.float32]


@dataclass(frozen=True)
class Text:
    """A text of a window: ids without the end token; the sum of natural log-probabilities including the end token; if
    they were wanted, the logits (V) of each generated token, including the end token."""

    ids: List[int]
    log_probability: float
    score: float
    logits: "List[Floats]"


@dataclass(frozen=True)
class Generation:
    """The texts of a window, best first, and the probability that it holds no speech."""

    texts: List[Text]
    no_speech_probability: float


@dataclass(frozen=True)
class Alignment:
    """A path through the tokens of a text and the positions of its window, and the probability of each token."""

    path: List[Tuple[int, int]]
    probabilities: List[float]


def _float_pointer(values: Floats) -> Any:
    return values.ctypes.data_as(ctypes.POINTER(ctypes.c_float))


def _int_array(values: Sequence[int]) -> Any:
    return (ctypes.c_int32 * max(len(values), 1))(*values)


def _id_lists(lists: Sequence[Sequence[int]]) -> Any:
    """Returns an array of clf_ids, which refers to the arrays of its ids."""
    array = (_c.clf_ids * max(len(lists), 1))()
    for i, ids in enumerate(lists):
        array[i].ids = _int_array(ids)
        array[i].count = len(ids)
    return array


class Windows:
    """Encoded windows: on the device, or on the host if their model was closed."""

    def __init__(self, speech: "Speech", create: Callable[[Any], int]) -> None:
        self.handle: Optional[ctypes.c_void_p] = None
        self.speech = speech
        self.process = os.getpid()
        handle = ctypes.c_void_p()
        check(create(ctypes.byref(handle)))
        self.handle = handle
        self.values: Optional[Floats] = None
        sizes = [ctypes.c_int() for _ in range(3)]
        lib.clf_windows_shape(*map(ctypes.byref, sizes), handle)
        self.shape: Tuple[int, int, int] = (sizes[0].value, sizes[1].value, sizes[2].value)
        self.lock = threading.Lock()
        speech.windows.add(self)

    def read(self) -> Floats:
        """Returns the output of the encoder (windows, positions, width)."""
        with self.lock:
            return self.values if self.values is not None else self._copy()

    def _copy(self) -> Floats:
        values = numpy.empty(self.shape, numpy.float32)
        check(lib.clf_windows_read(_float_pointer(values), self.handle))
        return values

    def detach(self) -> None:
        """Moves the windows to the host."""
        with self.lock:
            if self.values is None:
                self.values = self._copy()
                lib.clf_windows_free(self.handle)
                self.handle = None

    def __del__(self) -> None:
        if self.handle is not None and self.process == os.getpid():
            lib.clf_windows_free(self.handle)


class Speech:
    """A Whisper model on its devices."""

    def __init__(self, model: PathLike, device: Optional[str], precision: Optional[str]) -> None:
        self.windows: "weakref.WeakSet[Windows]" = weakref.WeakSet()
        self._engine = Engine(model, device, precision, 0)
        self._finalizer = weakref.finalize(self, self._close, self.windows, self._engine)

    @contextlib.contextmanager
    def _use(self, windows: Optional[Windows] = None) -> Iterator[Any]:
        """Yields the handle of the engine or of windows, which close() frees after the call."""
        engine = self._engine
        check_process(engine.process)
        with engine.changed:
            handle = engine.handle if windows is None else windows.handle
            if engine.is_closed or handle is None:
                raise ClosedError("the model is closed; load it again")
            engine.users += 1
        try:
            yield handle
        finally:
            with engine.changed:
                engine.users -= 1
                engine.changed.notify_all()

    def encode(self, features: Floats) -> Windows:
        """Encodes log-mel features (windows, bands, frames)."""
        values = numpy.ascontiguousarray(features, numpy.float32)
        count, bands, frames = values.shape
        with self._use() as engine:
            return Windows(self, lambda out: lib.clf_windows_encode(out, engine, _float_pointer(values), count, bands, frames))

    def load(self, encoded: Floats) -> Windows:
        """Returns windows with a given output of the encoder (windows, positions, width)."""
        values = numpy.ascontiguousarray(encoded, numpy.float32)
        count, positions, width = values.shape
        with self._use() as engine:
            return Windows(self, lambda out: lib.clf_windows_from_host(out, engine, _float_pointer(values), count, positions, width))

    def generate(self, windows: Windows, prompts: Sequence[Sequence[int]], suppressed: Sequence[int],
                 suppressed_first: Sequence[int], **options: Any) -> List[Generation]:
        """Generates the texts of windows; `options` are other fields of clf_window_options."""
        struct = _c.clf_window_options()
        lib.clf_window_options_init_sized(struct, ctypes.sizeof(struct))
        struct.suppressed, struct.suppressed_count = _int_array(suppressed), len(suppressed)
        struct.suppressed_first, struct.suppressed_first_count = _int_array(suppressed_first), len(suppressed_first)
        for name, value in options.items():
            setattr(struct, name, value)
        results = ctypes.POINTER(_c.clf_window_result)()
        count = windows.shape[0]
        with self._use(windows) as handle:
            check(lib.clf_windows_generate(ctypes.byref(results), handle, _id_lists(prompts), struct))
        try:
            vocabulary = lib.clf_model_describe(self._engine.model.first).contents.target_vocabulary
            return [self._generation(results[i], vocabulary) for i in range(count)]
        finally:
            lib.clf_window_results_free(results, count)

    @staticmethod
    def _generation(result: Any, vocabulary: int) -> Generation:
        def logits_of(text: Any) -> "List[Floats]":
            if not text.logits:
                return []
            array = numpy.ctypeslib.as_array(text.logits, (text.logit_count, vocabulary))
            return [row.copy() for row in array]

        texts = [Text(x.ids[: x.count], x.log_probability, x.score, logits_of(x)) for x in result.texts[: result.count]]
        return Generation(texts, result.no_speech_probability)

    def languages(self, windows: Windows, languages: Sequence[int]) -> Floats:
        """Returns the probabilities (windows, languages) of languages that are given by their ids."""
        found = numpy.empty((windows.shape[0], len(languages)), numpy.float32)
        with self._use(windows) as handle:
            check(lib.clf_windows_languages(_float_pointer(found), handle, _int_array(languages), len(languages)))
        return found

    def align(self, windows: Windows, start: Sequence[int], texts: Sequence[Sequence[int]], frames: Sequence[int],
              median_width: int) -> List[Alignment]:
        """Aligns the tokens of texts with their windows."""
        results = ctypes.POINTER(_c.clf_window_alignment)()
        count = windows.shape[0]
        lengths = (ctypes.c_int * max(count, 1))(*frames)
        with self._use(windows) as handle:
            check(lib.clf_windows_align(ctypes.byref(results), handle, _id_lists([start]), _id_lists(texts), lengths,
                                        median_width))
        try:
            return [Alignment(list(zip(x.tokens[: x.count], x.positions[: x.count])), x.probabilities[: x.probability_count])
                    for x in results[:count]]
        finally:
            lib.clf_window_alignments_free(results, count)

    def close(self) -> None:
        """Moves windows that are in use to the host, and frees everything."""
        self._finalizer()

    @staticmethod
    def _close(windows: "weakref.WeakSet[Windows]", engine: Engine) -> None:
        if engine.process == os.getpid():
            for one in list(windows):
                one.detach()
            engine.close()
