"""Translating and scoring text, and attention maps."""

from __future__ import annotations

import asyncio
import ctypes
import itertools
import os
import queue
import threading
import warnings
import weakref
from collections import deque
from typing import (
    TYPE_CHECKING, Any, AsyncIterator, Callable, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Tuple, TypeVar,
    Union,
)

from . import _c
from ._engine import Engine, Job, Token, is_library_thread, lines
from ._library import Flag, PathLike, check, encode, field_type, lib, poll_hook, run, text
from .attention import Attention
from .errors import ArgumentError, LineWarning
from .options import TranslateOptions, translate_options
from .results import Score, Translation, score_of, translation_of, warn

if TYPE_CHECKING:
    from typing_extensions import Unpack

T = TypeVar("T")
Prefix = Union[str, Sequence[str], None]
CHUNK = 256  # lines of a job of translate_lines()
AHEAD = 4  # jobs of translate_lines() that run at a time


def strings(values: Any, name: str) -> List[str]:
    """Returns a list of strings from an iterable, a NumPy array of strings, or an Arrow array."""
    if isinstance(values, (str, bytes)):
        raise TypeError(f"{name}: must be a list of strings, not one {type(values).__name__}")
    for method in ("to_pylist", "to_list", "tolist"):  # Arrow; pandas and Polars; NumPy
        if hasattr(values, method):
            values = getattr(values, method)()
            break
    found = list(values)
    for i, value in enumerate(found):
        if not isinstance(value, str):
            raise TypeError(f"{name}[{i}]: must be a string, not {type(value).__name__}")
    return found


def prefixes_of(prefix: Prefix, count: int) -> Optional[List[str]]:
    """Returns a prefix for each line."""
    if prefix is None or isinstance(prefix, str):
        return None if not prefix else [prefix] * count
    found = strings(prefix, "target_prefix")
    if len(found) != count:
        raise ArgumentError(f"target_prefix: has {len(found)} strings for {count} lines; give one for each line")
    return found


def take_translations(job: "Job[List[Translation]]", count: int) -> List[Translation]:
    out = ctypes.POINTER(_c.clf_translation)()
    check(lib.clf_job_take(ctypes.byref(out), job.handle))
    try:
        return [translation_of(job.engine.model.first, out[i]) for i in range(count)]
    finally:
        lib.clf_translations_free(out, count)


def take_scores(job: "Job[List[Score]]", count: int) -> List[Score]:
    out = ctypes.POINTER(_c.clf_score)()
    check(lib.clf_job_take_scores(ctypes.byref(out), job.handle))
    try:
        return [score_of(job.engine.model.first, out[i]) for i in range(count)]
    finally:
        lib.clf_scores_free(out, count)


def close_engine(engine: Engine) -> None:
    """Closes an engine. A thread of the library, on which the garbage collector may run, cannot close its own engine."""
    if is_library_thread():
        threading.Thread(target=engine.close).start()
    else:
        engine.close()


def only(result: Translation) -> str:
    """Returns the text of a line that is translated alone, or raises its problem."""
    if result.problem is not None:
        raise result.problem
    warn([result], 0, 3)
    return result.text


class Translator:
    """A model that translates and scores text. Threads may share it; their lines share batches.

    model: path of a model folder, an Argos Translate package or an OpenAI model.
    device: an index of `devices()`, "gpu", "cpu", a PCI address, a UUID or a part of a name; several, such as "0,2" or
        "gpu*", share the lines. None: $CLFORMER_DEVICE, or else the default device.
    precision: "fp32", "fp16", "bf16" or "int8"; None: the precision of a converted model, else fp32.
    batch_tokens: maximum number of source tokens in a batch; 0: chosen for the device and the model.
    options: defaults for the options of all calls, see TranslateOptions.

    >>> with Translator(model) as translator:
    ...     translator.translate("Je suis étudiant")
    "I'm a student."
    """

    def __init__(self, model: PathLike, device: Optional[str] = None, precision: Optional[str] = None, *,
                 batch_tokens: int = 0, **options: "Unpack[TranslateOptions]") -> None:
        self._options: Dict[str, Any] = dict(options)
        self._engine = Engine(model, device, precision, batch_tokens)
        self._finalizer = weakref.finalize(self, close_engine, self._engine)
        try:
            self._engine.leave(self._engine.enter(self._options))
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Cancels the calls of other threads, which raise ClosedError, and frees the model."""
        self._finalizer()

    def __enter__(self) -> "Translator":
        return self

    def __exit__(self, *args: object) -> None:
        self.close()

    def _merge(self, options: Mapping[str, Any]) -> Dict[str, Any]:
        return {**self._options, **options}

    def _submit(self, texts: Sequence[str], options: Mapping[str, Any], prefix: Prefix,
                finished: "Optional[Callable[[Job[List[Translation]]], None]]" = None,
                streamed: Optional[Callable[[str], None]] = None, generated: Optional[Callable[[Token], bool]] = None,
                wants_logits: bool = False) -> "Job[List[Translation]]":
        count = len(texts)
        job: "Job[List[Translation]]" = Job(self._engine, self._merge(options), lambda job: take_translations(job, count),
                                            finished, streamed, generated, wants_logits)
        return job.submit(texts, prefixes=prefixes_of(prefix, count))

    def translate(self, line: str, *, target_prefix: Optional[str] = None, **options: "Unpack[TranslateOptions]") -> str:
        """Returns the translation of a line, or "" for an empty line.

        target_prefix: text that the translation begins with.

        >>> translator.translate("Je suis étudiant", target_prefix="I am", beam=1)
        'I am a student.'
        """
        return only(self._submit([line], options, target_prefix).wait()[0])

    def translate_batch(self, lines: Iterable[str], *, target_prefix: Prefix = None,
                        **options: "Unpack[TranslateOptions]") -> List[Translation]:
        """Translates lines: a list, a generator, a NumPy array of strings, or an Arrow array of strings. Returns (n)
        translations in order; a LineWarning names a line that has a problem or was truncated.

        target_prefix: text that every translation begins with, or (n) texts.

        >>> [str(x) for x in translator.translate_batch(["Je suis étudiant", "Merci"])]
        ["I'm a student.", 'Thank you for your side.']
        >>> [x.text for x in translator.translate_batch(["Merci"], n_best=2)[0].hypotheses]
        ['Thank you for your side.', 'Thank you for your me.']
        """
        results = self._submit(strings(lines, "lines"), options, target_prefix).wait()
        warn(results, 0, 2)
        return results

    def translate_lines(self, lines: Iterable[str], *, target_prefix: Optional[str] = None,
                        **options: "Unpack[TranslateOptions]") -> Iterator[Translation]:
        """Translates an iterable of any length in bounded memory: yields the translations in order, and reads up to 1024
        lines ahead.

        >>> for translation in translator.translate_lines(iter(["Merci"])):
        ...     print(translation)
        Thank you for your side.
        """
        source, first = iter(lines), 0
        jobs: "deque[Tuple[int, Job[List[Translation]]]]" = deque()
        try:
            while True:
                chunk = strings(itertools.islice(source, CHUNK), "lines") if len(jobs) < AHEAD else []
                if chunk:
                    jobs.append((first, self._submit(chunk, options, target_prefix)))
                    first += len(chunk)
                elif jobs:
                    start, job = jobs.popleft()
                    results = job.wait()
                    warn(results, start, 2)
                    yield from results
                else:
                    return
        finally:
            for _, job in jobs:
                job.free()

    def translate_document(self, document: bytes, *, name: str = "document", format: Optional[str] = None,
                           subtitle_width: Optional[int] = None, reading_speed: Optional[float] = None,
                           elements: Optional[str] = None, inline_elements: Optional[str] = None,
                           encoding: Optional[str] = None, all: bool = False, do_not_translate: Iterable[str] = (),
                           memory: Optional[bytes] = None, **options: "Unpack[TranslateOptions]") -> bytes:
        """Translates a document and keeps everything that is not text. Returns the bytes of the translated document; a
        LineWarning counts, for example, subtitles that are too long to read.

        document: bytes of a file: subtitles, HTML, Markdown, XML, JSON, YAML, gettext PO, XLIFF, TMX or plain text,
            or an office document or EPUB.
        name: file name, whose suffix selects the format; messages begin with it.
        format: "srt", "vtt", "ass", "html", "markdown", "xhtml", "xml", "xliff", "tmx", "json", "yaml", "po",
            "text", "docx", "odt", "pptx", "odp" or "epub"; None: chosen by the suffix, or else by the content.
        encoding: of the document and of the result, such as "windows-1252"; None: that of a byte order
                mark, an XML declaration or a meta element of HTML, or else UTF-8.
        all: also translates texts of PO, XLIFF and TMX that have a translation.
        do_not_translate: terms that are kept as they are, such as product names.
        memory: bytes of a translation memory in TMX, whose translations of equal texts are used instead of the model. The
            languages of TMX are source_language and target_language, also with a model of one language pair.
        subtitle_width: columns of a line of subtitles; 0: one line; None: 42.
        reading_speed: a warning counts the subtitles with more characters per second; 0: no warning; None: 21.
        elements: XML: names of the elements whose text is translated, separated by commas; None: each with text.
        inline_elements: XML: names of the elements that are part of a sentence; None: those beside text.

        >>> translator.translate_document("Je suis étudiant\\n".encode(), format="text")
        b"I'm a student.\\n"
        """
        if not isinstance(document, bytes):
            raise TypeError(f"document: must be bytes, not {type(document).__name__}")
        if memory is not None and not isinstance(memory, bytes):
            raise TypeError(f"memory: must be bytes, not {type(memory).__name__}")
        struct = _c.clf_document_options()
        lib.clf_document_options_init_sized(struct, ctypes.sizeof(struct))
        struct.name = encode(name, "name")
        struct.format = None if format is None else encode(format, "format")
        struct.elements = None if elements is None else encode(elements, "elements")
        struct.inline_elements = None if inline_elements is None else encode(inline_elements, "inline_elements")
        struct.encoding = None if encoding is None else encode(encoding, "encoding")
        struct.all = all
        struct.kept_terms = encode("\n".join(do_not_translate), "do_not_translate")
        if subtitle_width is not None:
            struct.subtitle_width = subtitle_width
        if reading_speed is not None:
            struct.reading_speed = reading_speed
        flag = Flag()
        settings = translate_options(self._engine.model.first, self._merge(options))
        settings.interrupted = poll_hook(field_type(settings, "interrupted"))
        settings.payload = flag.payload
        memory_options = _c.clf_memory_options()
        lib.clf_memory_options_init_sized(memory_options, ctypes.sizeof(memory_options))
        struct.source_language = memory_options.source_language = settings.source_language
        struct.target_language = memory_options.target_language = settings.target_language

        def translate() -> Tuple[bytes, List[str]]:
            self._engine.hold()
            handle, out, size = ctypes.c_void_p(), ctypes.c_char_p(), ctypes.c_size_t()
            texts = ctypes.c_void_p()
            try:
                check(lib.clf_document_open(ctypes.byref(handle), document, len(document), struct))
                if memory is not None:
                    check(lib.clf_memory_open(ctypes.byref(texts), memory, len(memory), memory_options))
                    check(lib.clf_document_recall(handle, texts, None))
                check(lib.clf_document_translate(handle, self._engine.handle, settings))
                check(lib.clf_document_write(ctypes.byref(out), ctypes.byref(size), handle))
                sentences = (lib.clf_document_warning(handle, i) for i in itertools.count())
                found = [text(sentence) for sentence in itertools.takewhile(bool, sentences)]
                return ctypes.string_at(out, size.value), found
            finally:
                lib.clf_string_free(out)
                lib.clf_document_free(handle)
                lib.clf_memory_free(texts)
                self._engine.release()

        result, found = run(translate, flag)
        for sentence in found:
            warnings.warn(sentence, LineWarning, stacklevel=2)
        return result

    def stream(self, line: str, *, target_prefix: Optional[str] = None,
               **options: "Unpack[TranslateOptions]") -> Iterator[str]:
        """Yields the translation of a line in parts of whole words while it is generated. The search is greedy: beam is 1.

        >>> "".join(translator.stream("Je suis étudiant"))
        "I'm a student."
        """
        parts: "queue.SimpleQueue[Union[str, Job[List[Translation]]]]" = queue.SimpleQueue()
        job = self._submit([line], {"beam": 1, **options}, target_prefix, parts.put, parts.put)
        try:
            part = parts.get()
            while isinstance(part, str):
                yield part
                part = parts.get()
            only(part.outcome()[0])
        finally:
            job.free()

    async def translate_async(self, line: str, *, target_prefix: Optional[str] = None,
                              **options: "Unpack[TranslateOptions]") -> str:
        """translate() for asyncio. Cancelling the task cancels the translation."""
        return only((await self._wait(lambda finished: self._submit([line], options, target_prefix, finished)))[0])

    async def translate_batch_async(self, lines: Iterable[str], *, target_prefix: Prefix = None,
                                    **options: "Unpack[TranslateOptions]") -> List[Translation]:
        """translate_batch() for asyncio. Cancelling the task cancels the translations."""
        texts = strings(lines, "lines")
        results = await self._wait(lambda finished: self._submit(texts, options, target_prefix, finished))
        warn(results, 0, 2)
        return results

    async def stream_async(self, line: str, *, target_prefix: Optional[str] = None,
                           **options: "Unpack[TranslateOptions]") -> AsyncIterator[str]:
        """stream() for asyncio."""
        loop = asyncio.get_running_loop()
        parts: "asyncio.Queue[Any]" = asyncio.Queue()

        def put(part: Any) -> None:
            try:
                loop.call_soon_threadsafe(parts.put_nowait, part)
            except RuntimeError:  # the loop was closed
                pass

        job = self._submit([line], {"beam": 1, **options}, target_prefix, put, put)
        try:
            part = await parts.get()
            while isinstance(part, str):
                yield part
                part = await parts.get()
            only(part.outcome()[0])
        finally:
            job.discard()

    async def _wait(self, submit: "Callable[[Callable[[Job[T]], None]], Job[T]]") -> T:
        loop = asyncio.get_running_loop()
        future: "asyncio.Future[T]" = loop.create_future()

        def settle(job: "Job[T]") -> None:
            job.free()
            if not future.done():
                try:
                    future.set_result(job.outcome())
                except Exception as error:
                    future.set_exception(error)

        def finished(job: "Job[T]") -> None:  # on the callback thread
            try:
                loop.call_soon_threadsafe(settle, job)
            except RuntimeError:  # the loop was closed
                job.discard()

        job = submit(finished)
        try:
            return await future
        except asyncio.CancelledError:
            job.discard()  # settle() does not run if the loop ends now
            raise

    def score(self, source: str, target: str, **options: "Unpack[TranslateOptions]") -> Score:
        """Computes the log-probability of a target.

        >>> round(translator.score("Merci", "Thanks.").log_probability, 3)
        -1.579
        """
        found = self._score([source], [target], options)
        if found[0].problem is not None:
            raise found[0].problem
        warn(found, 0, 2)
        return found[0]

    def score_batch(self, sources: Iterable[str], targets: Iterable[str],
                    **options: "Unpack[TranslateOptions]") -> List[Score]:
        """Computes the log-probabilities of (n) targets of (n) sources; a LineWarning names a pair with a problem.

        >>> [len(score.ids) for score in translator.score_batch(["Merci", "Merci"], ["Thanks.", "Thank you."])]
        [3, 4]
        """
        first, second = strings(sources, "sources"), strings(targets, "targets")
        if len(first) != len(second):
            raise ArgumentError(f"targets: has {len(second)} strings for {len(first)} sources; give one for each source")
        results = self._score(first, second, options)
        warn(results, 0, 2)
        return results

    def _score(self, sources: List[str], targets: List[str], options: Mapping[str, Any]) -> List[Score]:
        count = len(sources)
        job: "Job[List[Score]]" = Job(self._engine, self._merge(options), lambda job: take_scores(job, count))
        return job.submit(sources, targets=targets).wait()

    def attention(self, source: str, target: Optional[str] = None, **options: "Unpack[TranslateOptions]") -> Attention:
        """Returns the attention weights of every layer and head for a line and its translation.

        target: the translation; None: the model's own.

        >>> maps = translator.attention("Merci", "Thanks.")
        >>> maps.cross.shape == (3, 6, len(maps.target_tokens), len(maps.source_tokens))
        True
        """
        first = lines([source], "source")
        second = None if target is None else lines([target], "target")

        def attend() -> Attention:
            translator = self._engine.enter(self._merge(options))
            out = ctypes.POINTER(_c.clf_attention_maps)()
            try:
                check(lib.clf_attend(ctypes.byref(out), translator.handle, first, second))
                return Attention._copy(out.contents, source, self._about())
            finally:
                lib.clf_attention_maps_free(out)
                self._engine.leave(translator)

        return run(attend)

    def _about(self) -> str:
        info = lib.clf_model_describe(self._engine.model.first).contents
        name = os.path.basename(text(info.folder).rstrip("/"))
        layers = f"{info.encoder_layers} encoder and {info.decoder_layers} decoder layers"
        heads = f"{info.encoder_heads} and {info.decoder_heads} heads"
        return f"{name} ({text(info.architecture)}), {layers} of {heads}, clformer {text(lib.clf_version())}"
