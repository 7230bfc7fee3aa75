"""A model on its devices, and the jobs that run on it. Threads may share all objects."""

from __future__ import annotations

import ctypes
import itertools
import os
import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, Callable, Dict, Generic, Mapping, Optional, Sequence, Tuple, TypeVar

import numpy
from numpy.typing import NDArray

from . import _c
from ._library import (
    PathLike, check, check_process, choose, encode, encode_path, field_type, lib, logger, run, use_opencl,
)
from .errors import ClosedError, CancelledError
from .options import key_of, translate_options

T = TypeVar("T")
MOST_SECONDS = 60  # time for calls to end after close()
MOST_TRANSLATORS = 32  # sets of options that are kept for their next call


class Devices:
    """The open devices that a selector matches. Objects with the same selector share them, and their compiled kernels."""

    def __init__(self, selector: Optional[bytes]) -> None:
        self.selector = selector
        self.users = 0
        self.array, count = ctypes.POINTER(ctypes.c_void_p)(), ctypes.c_int()
        run(lambda: check(lib.clf_devices_open(ctypes.byref(self.array), ctypes.byref(count), selector, None)))
        self.count = count.value

    def release(self) -> None:
        """Closes the devices when their last user releases them."""
        with _devices_lock:
            self.users -= 1
            if self.users == 0:
                del _devices[self.selector]
                lib.clf_devices_close(self.array, self.count)


_devices: Dict[Optional[bytes], Devices] = {}
_devices_lock = threading.Lock()


def acquire_devices(selector: Optional[str]) -> Devices:
    """Returns open devices; release() must follow."""
    use_opencl()
    name = None if selector is None else encode(selector, "device")
    with _devices_lock:
        devices = _devices.get(name) or Devices(name)
        _devices[name] = devices
        devices.users += 1
    return devices


class Model:
    """A model folder, loaded on one or several devices."""

    def __init__(self, folder: PathLike, device: Optional[str], precision: Optional[str]) -> None:
        path = encode_path(folder, "model")
        options = _c.clf_model_options()
        lib.clf_model_options_init_sized(options, ctypes.sizeof(options))
        if precision is not None:
            options.precision = choose(_c.clf_precision, precision, "precision")
        self.process = use_opencl()
        self.devices = acquire_devices(device)
        self.count = self.devices.count
        self.models = (ctypes.c_void_p * self.count)()
        try:
            run(lambda: check(lib.clf_models_load(self.models, self.devices.array, self.count, path, options), folder))
        except BaseException:
            self.devices.release()
            raise
        self.first = next(int(model) for model in self.models if model)

    def free(self) -> None:
        for model in self.models:
            lib.clf_model_free(model)
        self.devices.release()


@dataclass(frozen=True)
class Hooks:
    """The hooks of a set of options: whether `streamed` and `generated` are called, the latter with logits."""

    streams: bool = False
    generates: bool = False
    wants_logits: bool = False


class Translator:
    """A set of options for an engine."""

    def __init__(self, engine: "Engine", options: Mapping[str, Any], hooks: Hooks) -> None:
        struct = translate_options(engine.model.first, options)
        if hooks.streams:
            struct.streamed = _streamed_hook
        if hooks.generates:
            struct.generated = _generated_hook
        struct.wants_logits = int(hooks.wants_logits)
        handle = ctypes.c_void_p()
        check(lib.clf_translator_create_shared(ctypes.byref(handle), engine.handle, struct))
        self.handle = handle
        self.users = 0


class Engine:
    """The engine of a model: translators for sets of options, and jobs."""

    def __init__(self, model: PathLike, device: Optional[str], precision: Optional[str], batch_tokens: int) -> None:
        self.model = Model(model, device, precision)
        self.process = self.model.process
        self.handle = ctypes.c_void_p()
        options = _c.clf_engine_options()
        lib.clf_engine_options_init_sized(options, ctypes.sizeof(options))
        options.batch_tokens = batch_tokens
        try:
            check(lib.clf_engine_create(ctypes.byref(self.handle), self.model.models, self.model.count, options))
        except BaseException:
            self.model.free()
            raise
        self.translators: "OrderedDict[Any, Translator]" = OrderedDict()
        self.jobs: "set[Job[Any]]" = set()
        self.users = 0
        self.is_closed = False
        self.changed = threading.Condition()

    def enter(self, options: Mapping[str, Any], hooks: Hooks = Hooks()) -> Translator:
        """Returns a translator for these options; leave() must follow."""
        key = (hooks, key_of(options))
        self.hold()
        try:
            with self.changed:
                translator = self.translators.get(key)
                if translator is None:
                    translator = Translator(self, options, hooks)
                    self.translators[key] = translator
                    self.free_translators(MOST_TRANSLATORS)
                self.translators.move_to_end(key)
                translator.users += 1
        except BaseException:
            self.release()
            raise
        return translator

    def leave(self, translator: Translator) -> None:
        with self.changed:
            translator.users -= 1
            self.release()

    def hold(self) -> None:
        """Keeps the engine open; release() must follow."""
        check_process(self.process)
        with self.changed:
            if self.is_closed:
                raise ClosedError("the translator is closed; create a new one")
            self.users += 1

    def release(self) -> None:
        with self.changed:
            self.users -= 1
            self.changed.notify_all()

    def free_translators(self, most: int) -> None:
        """Frees the translators that were not used for the longest time, except those in use."""
        for key in list(self.translators):
            if len(self.translators) > most and self.translators[key].users == 0:
                lib.clf_translator_free(self.translators.pop(key).handle)

    def close(self) -> None:
        """Cancels all jobs and frees everything. In a forked process nothing is freed."""
        if self.process != os.getpid():
            return
        with self.changed:
            if self.is_closed:
                return
            self.is_closed = True
            for job in self.jobs:
                job.cancel()
            jobs = [job for job in self.jobs if not job.is_waited]
        for job in jobs:
            job.close()
        with self.changed:
            if not self.changed.wait_for(lambda: self.users == 0, MOST_SECONDS):
                logger.warning("a call did not end after its translator was closed; the translator's memory is not freed")
                return
            self.free_translators(0)
        lib.clf_engine_free(self.handle)
        self.model.free()


def is_library_thread() -> bool:
    """Returns whether this is a thread of the library, such as the callback thread, which must not wait for jobs."""
    return isinstance(threading.current_thread(), threading._DummyThread)


def lines(texts: Sequence[str], name: str) -> Any:
    """Returns texts as an array of clf_line, which refers to their bytes."""
    array = (_c.clf_line * max(len(texts), 1))()
    for i, text in enumerate(texts):
        if not isinstance(text, str):
            raise TypeError(f"{name}[{i}]: must be a string, not {type(text).__name__}")
        value = text.encode("utf-8", "surrogateescape")
        array[i].text = value
        array[i].size = len(value)
    return array


@dataclass(frozen=True)
class Token:
    """A token of a growing translation.

    line: index of the line.
    step: index of the token, from 0; tokens of a prefix count.
    is_last: whether it is the end token, or the last one at the maximum length.
    logits: (V) float32, the logits from which the token was chosen, or None.
    """

    line: int
    step: int
    id: int
    log_probability: float
    is_last: bool
    logits: "Optional[NDArray[numpy.float32]]"


class Job(Generic[T]):
    """Lines that are translated or scored in the background.

    `take` converts the results of the C job on the callback thread if there is `finished`, which is then called with the
    job, else in wait(). `generated` returns whether its line ends; wait() raises what it raises."""

    def __init__(self, engine: Engine, options: Mapping[str, Any], take: "Callable[[Job[T]], T]",
                 finished: "Optional[Callable[[Job[T]], None]]" = None,
                 streamed: Optional[Callable[[str], None]] = None, generated: Optional[Callable[[Token], bool]] = None,
                 wants_logits: bool = False) -> None:
        self.engine = engine
        self.take = take
        self.finished = finished
        self.streamed = streamed
        self.generated = generated
        self.hooks = Hooks(streamed is not None, generated is not None, wants_logits)
        self.handle = ctypes.c_void_p()
        self.key = next(_keys) if finished is not None or self.hooks != Hooks() else 0
        self.result: Optional[T] = None
        self.error: Optional[BaseException] = None
        self.options = options
        self.is_waited = False  # the thread in wait() frees the job
        self.is_settled = False

    def submit(self, sources: Sequence[str], prefixes: Optional[Sequence[str]] = None,
               targets: Optional[Sequence[str]] = None) -> "Job[T]":
        options = _c.clf_job_options()
        lib.clf_job_options_init_sized(options, ctypes.sizeof(options))
        self.translator = self.engine.enter(self.options, self.hooks)
        try:
            with self.engine.changed:
                self.engine.jobs.add(self)
            array = lines(sources, "lines")
            if prefixes is not None:
                options.prefixes = lines(prefixes, "target_prefix")
            if self.key:
                _jobs[self.key] = self
                options.payload = self.key
                if self.finished is not None:
                    options.finished = _finished_hook
            with self.engine.changed:
                if self not in self.engine.jobs:
                    raise ClosedError("the translator was closed during the call")
                if targets is not None:
                    status = lib.clf_score_submit(ctypes.byref(self.handle), self.translator.handle, array,
                                                  lines(targets, "targets"), len(sources), options)
                else:
                    status = lib.clf_translate_submit(ctypes.byref(self.handle), self.translator.handle, array,
                                                      len(sources), options)
                check(status)
        except BaseException:
            self.free()
            raise
        return self

    def wait(self) -> T:
        """Waits for the results of a job without `finished`, and frees it; Ctrl-C cancels it."""
        is_over = ctypes.c_int()
        with self.engine.changed:
            if self not in self.engine.jobs:
                self.raise_closed()
            self.is_waited = True
        try:
            while not is_over.value:
                check(lib.clf_job_wait(ctypes.byref(is_over), self.handle, 200))
            result = self.take(self)
            if self.error is not None:
                raise self.error
            return result
        except CancelledError:
            self.raise_closed()
            raise
        finally:
            self.free()

    def raise_closed(self) -> None:
        if self.engine.is_closed:
            raise ClosedError("the translator was closed during the call") from None

    def cancel(self) -> None:
        with self.engine.changed:  # free() cannot begin
            if self in self.engine.jobs and self.handle:
                lib.clf_job_cancel(self.handle)

    def settle(self) -> None:
        """Takes the results on the callback thread, and reports them."""
        self.is_settled = True
        try:
            self.result = self.take(self)
        except BaseException as error:
            self.error = error
        if self.finished is not None:
            self.finished(self)

    def outcome(self) -> T:
        if isinstance(self.error, CancelledError):
            self.raise_closed()
        if self.error is not None:
            raise self.error
        return self.result  # type: ignore[return-value]

    def close(self) -> None:
        """Frees the job of an engine that closes. A freed job does not call `finished`, so this function does."""
        if self.free() and self.finished is not None and not self.is_settled:
            self.error = CancelledError()
            self.finished(self)

    def free(self) -> bool:
        """Frees the job once; cancels it if it is not over. Returns when its callbacks have returned: True, or False for a
        job that was freed before."""
        with self.engine.changed:
            if self not in self.engine.jobs:
                return False
            self.engine.jobs.remove(self)
        lib.clf_job_free(self.handle)
        _jobs.pop(self.key, None)
        self.engine.leave(self.translator)
        return True

    def discard(self) -> None:
        """Cancels and frees the job on another thread if free() would wait for its last step, and for its callbacks."""
        if self.is_settled and not is_library_thread():
            self.free()
            return
        self.cancel()
        threading.Thread(target=self.free, name="clformer").start()


# ---- Hooks of jobs: their payload is the key of the job ----

_keys = itertools.count(1)
_jobs: Dict[int, "Job[Any]"] = {}


def _on_finished(handle: int, key: int) -> None:
    job = _jobs.pop(key, None)
    try:
        if job is not None:
            job.handle = ctypes.c_void_p(handle)  # submit() may not have returned yet
            job.settle()
    except BaseException:
        logger.exception("a callback of a job failed")


def _on_streamed(line: int, data: int, size: int, key: int) -> None:
    job = _jobs.get(key)
    try:
        if job is not None and job.streamed is not None:
            job.streamed(ctypes.string_at(data, size).decode("utf-8", "replace"))
    except BaseException:
        logger.exception("a callback of a stream failed")


def _on_generated(line: int, pointer: Any, key: int) -> int:
    job = _jobs.get(key)
    if job is None or job.generated is None or job.error is not None:
        return 1
    try:
        token = pointer.contents
        logits = numpy.ctypeslib.as_array(token.logits, (token.logit_count,)).copy() if token.logits else None
        return int(job.generated(Token(line, token.step, token.id, token.log_probability, bool(token.is_last), logits)))
    except BaseException as error:
        job.error = error
        return 1


_finished_hook = field_type(_c.clf_job_options, "finished")(_on_finished)
_streamed_hook = field_type(_c.clf_translate_options, "streamed")(_on_streamed)
_generated_hook = field_type(_c.clf_translate_options, "generated")(_on_generated)
