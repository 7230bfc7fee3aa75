"""The command `clformer`, which the package contains."""

from __future__ import annotations

import json
import os
import subprocess
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

from ._library import FOLDER, PathLike
from .errors import CommandError

COMMAND = str(FOLDER / "bin" / "clformer")
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


def bench(model: Optional[PathLike] = None, *, stage: Optional[str] = None,
          **flags: Union[Value, Sequence[Value]]) -> List[Dict[str, Any]]:
    """Measures the speed of a device with `clformer bench --json` and returns the reported objects.

    model: folder of a model; the stages translate, score, serve, encode, step and train need one.
    stage: one stage, or None for all, which takes minutes.
    flags: flags of `clformer bench`, such as device="gpu", batch=[1, 8], quick=True.
    """
    words = [COMMAND, "bench", "--json", "--quiet", *flags_of({"model": model, "stage": stage, **flags})]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
        raise CommandError(last_line(done.stderr))
    return [json.loads(line) for line in done.stdout.splitlines()]


def last_line(errors: str) -> str:
    lines = errors.strip().splitlines() or ["clformer: failed without a message"]
    return lines[-1].removeprefix("clformer: ")


class Server:
    """A running `clformer serve`. url: its address, such as http://127.0.0.1:5000."""

    def __init__(self, words: List[str]) -> None:
        self._process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        seen: List[str] = []
        self.url = ""
        assert self._process.stderr is not None
        for line in self._process.stderr:
            seen.append(line)
            if line.startswith("clformer: serving ") and " at " in line:
                self.url = line.rsplit(" at ", 1)[1].strip()
                break
        if not self.url:
            self._process.wait()
            raise CommandError(last_line("".join(seen)))

    @property
    def pid(self) -> int:
        """Id of the process."""
        return self._process.pid

    def wait(self) -> int:
        """Waits until the server ends; returns its exit status."""
        return self._process.wait()

    def close(self) -> None:
        """Stops the server after its running requests."""
        self._process.terminate()
        self._process.wait()

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
