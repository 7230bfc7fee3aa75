"""The command `clformer`, which the package contains."""

from __future__ import annotations

import json
import os
import subprocess
import threading
import weakref
from typing import IO, Any, Dict, List, Mapping, Optional, Sequence, Union

from ._library import COMMAND, PathLike, logger
from .errors import CommandError

Value = Union[str, int, float, bool, "os.PathLike[str]", None]


def flags_of(flags: Mapping[str, Any]) -> List[str]:
    """Returns keyword arguments as flags: True is a switch, a list is separated by commas, None and False are left out."""
    words = []
    for name, value in flags.items():
        if value is None or value is False:
            continue
        words.append("--" + name.replace("_", "-"))
        if isinstance(value, (list, tuple)):
            words.append(",".join(str(x) for x in value))
        elif value is not True:
            words.append(os.fspath(value) if isinstance(value, os.PathLike) else str(value))
    return words


def run_command(*words: str) -> str:
    """Runs the command and returns its output."""
    done = subprocess.run([COMMAND, *words], stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8")
    if done.returncode != 0:
        raise CommandError(error_of(done.stderr))
    return done.stdout


def bench(model: Optional[PathLike] = None, *, stage: Optional[str] = None,
          **flags: Union[Value, Sequence[Value]]) -> List[Dict[str, Any]]:
    """Measures the speed of a device with `clformer bench --json` and returns the reported objects.

    model: folder of a model; the stages translate, score, serve, encode, step and train need one.
    stage: one stage, or None for all, which takes minutes.
    flags: flags of `clformer bench`, such as device="gpu", batch=[1, 8], quick=True.
    """
    output = run_command("bench", "--json", "--quiet", *flags_of({"model": model, "stage": stage, **flags}))
    return [json.loads(line) for line in output.splitlines()]


# Messages that the command may print after the one that says why it failed, when it closes a device.
CLOSING = ("writing compiled kernels to ", "program cache: ")


def error_of(errors: str) -> str:
    """Returns the message that says why the command failed, from all that it has printed."""
    lines = [line.removeprefix("clformer: ").removeprefix("warning: ") for line in errors.strip().splitlines()]
    found = [line for line in lines if not line.startswith(CLOSING)]
    return found[-1] if found else "failed without a message"


def read_address(errors: IO[str]) -> str:
    """Reads the first messages of a server. Returns its address; raises CommandError if it ends before."""
    seen = ""
    for line in errors:
        seen += line
        if line.startswith("clformer: serving ") and " at " in line:
            return line.rsplit(" at ", 1)[1].strip()
    raise CommandError(error_of(seen))


def log_lines(errors: IO[str]) -> None:
    with errors:
        for line in errors:
            logger.info("%s", line.rstrip().removeprefix("clformer: "))


def stop(process: "subprocess.Popen[str]") -> None:
    process.terminate()
    process.wait()


class Server:
    """A running `clformer serve`, which ends with this object. Its messages go to the logger "clformer".

    url: its address, such as http://127.0.0.1:5000.
    """

    def __init__(self, words: List[str]) -> None:
        self._process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self._finalizer = weakref.finalize(self, stop, self._process)
        errors = self._process.stderr
        assert errors is not None
        try:
            self.url = read_address(errors)
        except BaseException:
            self.close()
            raise
        threading.Thread(target=log_lines, args=(errors,), name="clformer", daemon=True).start()

    @property
    def pid(self) -> int:
        """Id of the process."""
        return self._process.pid

    def wait(self) -> int:
        """Waits until the server ends; returns its exit status."""
        return self._process.wait()

    def close(self) -> None:
        """Stops the server after its running requests."""
        self._finalizer()

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *args: object) -> None:
        self.close()


def serve(*models: PathLike, **flags: Union[Value, Sequence[Value]]) -> Server:
    """Starts `clformer serve` in another process and returns when it accepts connections.

    models: [NAME=][SRC-TGT:]FOLDER, one or several.
    flags: flags of `clformer serve`, such as port=0 for any free port, host="0.0.0.0".
    """
    words = [COMMAND, "serve", *flags_of(flags)]
    for model in models:
        words += ["-m", os.fspath(model)]
    return Server(words)
