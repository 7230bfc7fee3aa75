"""The loaded library: calls, errors, log messages, interruption and the check of forked processes."""

from __future__ import annotations

import atexit
import ctypes
import errno
import logging
import os
import sys
import threading
from ctypes.util import find_library
from pathlib import Path
from typing import Any, Callable, List, Optional, TypeVar, Union

from . import __path__, _c, _drivers
from .errors import BY_STATUS, ArgumentError, Error, FileError, ForkError, MissingFileError

PathLike = Union[str, "os.PathLike[str]"]
T = TypeVar("T")

# An editable installation has two folders: the sources, and the folder of the built files.
FOLDER: Path = next((path for path in map(Path, __path__) if (path / "lib").exists()), Path(__file__).parent)
# Debian's python3-clformer contains no library and no command; it uses the installed ones.
IS_BUNDLED: bool = (FOLDER / "bin" / "clformer").exists()
COMMAND: str = str(FOLDER / "bin" / "clformer") if IS_BUNDLED else os.path.join(sys.base_prefix, "bin", "clformer")
_drivers.find()
os.environ.setdefault("CLFORMER_PROBE", COMMAND)  # tries matrix instructions in a child process
lib = _c.load(str(FOLDER / "lib" / "libclformer.so") if IS_BUNDLED else find_library("clformer") or "libclformer.so")
logger = logging.getLogger("clformer")
_NAMES = {value: name for name, value in _c.clf_status.items()}


def check(status: int, path: Optional[PathLike] = None) -> None:
    """Raises the exception of a status. `path` is the file or folder that a missing file would be."""
    if status != 0:
        raise error(status, text(lib.clf_last_error()), path)


def error(status: int, message: str, path: Optional[PathLike] = None) -> Error:
    """Returns the exception of a status and its message."""
    kind = BY_STATUS.get(_NAMES.get(status, ""), Error)
    if kind is FileError:
        is_missing = path is not None and not os.path.exists(path)
        if is_missing or os.strerror(errno.ENOENT) in message:
            kind = MissingFileError
    return kind(message)


def text(value: Optional[bytes]) -> str:
    """Returns UTF-8 text of the library; bytes that are not UTF-8, such as parts of file names, are escaped."""
    return "" if value is None else value.decode("utf-8", "surrogateescape")


def encode(value: str, name: str) -> bytes:
    """Returns the UTF-8 bytes of an argument."""
    if not isinstance(value, str):
        raise TypeError(f"{name}: must be a string, not {type(value).__name__}")
    return value.encode("utf-8", "surrogateescape")


def encode_path(value: PathLike, name: str) -> bytes:
    """Returns the bytes of a path."""
    if not isinstance(value, (str, os.PathLike)):
        raise TypeError(f"{name}: must be a path, not {type(value).__name__}")
    return os.fsencode(value)


def words(enum: "dict[str, int]") -> "dict[str, int]":
    """Returns the words of an enum as the command names them: {"huggingface": 0, "including-start": 3}."""
    prefix = os.path.commonprefix(list(enum))
    prefix = prefix[: prefix.rindex("_") + 1]
    return {name[len(prefix) :].lower().replace("_", "-"): value for name, value in enum.items()}


def choose(enum: "dict[str, int]", value: object, name: str) -> int:
    """Returns the enumerator of a word."""
    known = words(enum)
    word = str(value).lower().replace("_", "-")
    if word not in known:
        raise ArgumentError(f"{name}: must be one of {', '.join(known)}, not {value!r}")
    return known[word]


# ---- Interruption ----
#
# The library polls hooks of the type int (*)(void *). atoi() on a buffer with "0" or "1" is such a function that needs
# neither the GIL nor a Python frame, in which Python would raise KeyboardInterrupt and then lose it.


class Flag:
    """A flag that the library polls."""

    def __init__(self) -> None:
        self.buffer = ctypes.create_string_buffer(b"0")
        self.payload = ctypes.cast(self.buffer, ctypes.c_void_p).value

    def set(self, value: bool = True) -> None:
        self.buffer.value = b"1" if value else b"0"


_atoi = ctypes.cast(ctypes.CDLL(None).atoi, ctypes.c_void_p).value


def field_type(struct: Any, name: str) -> Any:
    """Returns the ctypes type of a field."""
    return dict(struct._fields_)[name]


def poll_hook(kind: Any) -> Any:
    """Returns the hook of a function pointer type that polls the Flag in its payload."""
    return kind(_atoi)


_loading = Flag()


def run(call: Callable[[], T], flag: Flag = _loading) -> T:
    """Calls a function that blocks in the library. On the main thread the function runs on another thread, so that
    Ctrl-C raises KeyboardInterrupt at once: the flag is set, and the call ends early."""
    if threading.current_thread() is not threading.main_thread():
        return call()
    results: List[T] = []
    errors: List[BaseException] = []
    lock, over = threading.Lock(), threading.Event()
    state = {"begun": False, "abandoned": False}

    def target() -> None:
        with lock:
            state["begun"] = not state["abandoned"]
        try:
            if state["begun"]:
                results.append(call())
        except BaseException as exception:  # raised again below
            errors.append(exception)
        over.set()

    try:
        threading.Thread(target=target, name="clformer", daemon=True).start()
        over.wait()
    except BaseException:  # KeyboardInterrupt, which may also come before the thread began
        with lock:
            state["abandoned"] = True
        if state["begun"]:
            flag.set()
            _loading.set()
            over.wait()
            flag.set(False)
            _loading.set(False)
        raise
    if errors:
        raise errors[0]
    return results[0]


# ---- fork() ----

_process: Optional[int] = None


def use_opencl() -> int:
    """Returns the id of this process, which is the only one that may use OpenCL from now on."""
    global _process
    if _process is None:
        _process = os.getpid()
    if _process != os.getpid():
        raise ForkError(
            "OpenCL was used before this process was forked; use it only in the child processes, or start them with "
            'multiprocessing.get_context("spawn")'
        )
    return _process


def check_process(process: int) -> None:
    """Raises ForkError in a process that was forked from `process`."""
    if process != os.getpid():
        raise ForkError(
            f"this object belongs to process {process}; create it in the forked process before OpenCL is used, or "
            'start the process with multiprocessing.get_context("spawn")'
        )


# ---- Log messages ----

_LEVELS = {"warning": logging.WARNING, "notice": logging.INFO, "info": logging.INFO, "debug": logging.DEBUG}
_LOG_LEVELS = {value: _LEVELS[word] for word, value in words(_c.clf_log_level).items()}
_log_type: Any = _c.FUNCTIONS["clf_log_set"][1][0]


def _log(level: int, message: Optional[bytes], payload: Optional[int]) -> None:
    try:
        logger.log(_LOG_LEVELS.get(level, logging.WARNING), "%s", text(message))
    except Exception:  # a handler of the program; the library cannot continue with a Python exception
        pass


_log_hook = _log_type(_log)
lib.clf_log_set(_log_hook, None)
lib.clf_interrupt_set(poll_hook(_c.FUNCTIONS["clf_interrupt_set"][1][0]), _loading.payload)
atexit.register(lib.clf_log_set, _log_type(), None)
