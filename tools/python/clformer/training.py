"""Training."""

from __future__ import annotations

import ctypes
import json
import math
import os
import tempfile
from dataclasses import asdict, dataclass, field
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Union

from . import _c
from ._engine import acquire_devices
from ._library import Flag, PathLike, check, encode, encode_path, field_type, lib, poll_hook, run, text
from ._page import frame
from .command import run_command
from .errors import ArgumentError, CancelledError

Value = Union[str, int, float, bool, "os.PathLike[str]"]


@dataclass(frozen=True)
class TrainStart:
    """Properties of a run, known before the first update. pairs: sentence pairs used; lines: lines read; device_bytes: peak
    memory on the device."""

    parameters: int
    pairs: int
    lines: int
    left_out_empty: int
    left_out_long: int
    left_out_broken: int
    validation_pairs: int
    first_update: int
    max_updates: int
    device_bytes: int


@dataclass(frozen=True)
class TrainUpdate:
    """One update. loss, nll: per counted label, natural logarithm; gradient_norm: before clipping; seconds: duration."""

    update: int
    epoch: int
    loss: float
    nll: float
    learning_rate: float
    gradient_norm: float
    source_tokens: int
    target_tokens: int
    seconds: float
    skipped: int


@dataclass(frozen=True)
class TrainSample:
    """A translation of a validation."""

    source: str
    reference: str
    translation: str


@dataclass(frozen=True)
class TrainValidation:
    """One validation. loss, nll, perplexity: per counted label; bleu: 0 to 100, or None; checkpoint: its folder."""

    update: int
    epoch: int
    loss: float
    nll: float
    perplexity: float
    bleu: Optional[float]
    is_best: bool
    checkpoint: str
    samples: List[TrainSample] = field(default_factory=list)


TrainEvent = Union[TrainStart, TrainUpdate, TrainValidation]


def event_of(kind: Any, struct: Any) -> Any:
    """Returns the fields of a struct that a dataclass has."""
    values: Dict[str, Any] = {}
    for name in kind.__annotations__:
        if name == "samples":
            found = (struct.samples[i] for i in range(struct.sample_count))
            values[name] = [TrainSample(text(x.source), text(x.reference), text(x.translation)) for x in found]
            continue
        value = getattr(struct, name)
        values[name] = text(value) if isinstance(value, bytes) or value is None else value
    if kind is TrainValidation:
        values["is_best"] = bool(struct.is_best)
        values["bleu"] = struct.bleu if struct.bleu >= 0 else None
    return kind(**values)


@dataclass
class TrainRun:
    """A finished run; in a notebook it is shown as the page of `clformer curves`.

    output: folder of the model, for Translator.
    """

    output: str
    start: Optional[TrainStart] = None
    updates: List[TrainUpdate] = field(default_factory=list)
    validations: List[TrainValidation] = field(default_factory=list)

    def write_log(self, path: PathLike) -> None:
        """Writes the log that `clformer train --log` would write, for `clformer curves`."""
        validations = {x.update: x for x in self.validations}
        with open(path, "w", encoding="utf-8") as file:
            for update in self.updates:
                line = finite(asdict(update))
                if update is self.updates[0] and self.start is not None:
                    line["start"] = {**asdict(self.start), "output": self.output, "clformer": text(lib.clf_version())}
                    line["start"].update(recipe=self._read("recipe.json"), config=self._read("config.json"))
                file.write(json.dumps(line) + "\n")
                validation = validations.get(update.update)
                if validation is not None:
                    values = finite(asdict(validation))
                    values["best"] = values.pop("is_best")
                    file.write(json.dumps({**finite(asdict(update)), "validation": values}) + "\n")

    def to_html(self) -> str:
        """Returns the page of `clformer curves` as one HTML document."""
        with tempfile.TemporaryDirectory() as folder:
            log = os.path.join(folder, os.path.basename(self.output))
            self.write_log(log)
            return run_command("curves", log, "-o", "-")

    def _read(self, name: str) -> Any:
        """Returns the content of a JSON file of the model, or None if the run has not written it."""
        try:
            with open(os.path.join(self.output, name), encoding="utf-8") as file:
                return json.load(file)
        except FileNotFoundError:
            return None

    def _repr_html_(self) -> str:
        return frame(self.to_html())


def finite(values: Dict[str, Any]) -> Dict[str, Any]:
    """Returns the values without NaN and infinity, which JSON does not have."""
    return {name: None if isinstance(x, float) and not math.isfinite(x) else x for name, x in values.items()}


def words_of(name: str, value: Any) -> List[List[str]]:
    """Returns the words of each setting of an option: an option has one or several words, and `config` several settings."""
    if isinstance(value, Mapping):
        return [[f"{key}={json.dumps(x) if isinstance(x, (bool, type(None))) else x}"] for key, x in value.items()]
    if isinstance(value, bool):
        return [["true" if value else "false"]]
    if isinstance(value, (str, int, float, os.PathLike)):
        return [[os.fspath(value) if isinstance(value, os.PathLike) else str(value)]]
    if isinstance(value, (list, tuple)):
        return [[word for x in value for word in words_of(name, x)[0]]]
    raise TypeError(f"{name}: must be a string, a number, a list or a dictionary, not {type(value).__name__}")


def set_options(recipe: ctypes.c_void_p, options: Mapping[str, Any]) -> None:
    count = ctypes.c_int()
    keys = lib.clf_recipe_keys(ctypes.byref(count))
    names = {text(keys[i].name).replace("-", "_"): keys[i].name for i in range(count.value)}
    for name, value in options.items():
        if name not in names:
            raise TypeError(f"train() got an unexpected keyword argument {name!r}; `clformer train --help` lists the options")
        for setting in words_of(name, value):
            words = (ctypes.c_char_p * len(setting))(*(encode(word, name) for word in setting))
            check(lib.clf_recipe_set(recipe, names[name], words, len(setting)))


def train(output: PathLike, *, device: Optional[str] = None, recipe: Optional[PathLike] = None,
          callback: Optional[Callable[[TrainEvent], None]] = None,
          **options: Union[Value, Sequence[Value], Mapping[str, Value]]) -> TrainRun:
    """Trains a model, or resumes an interrupted run with the same output folder. Ctrl-C saves a checkpoint.

    output: folder of the model to write.
    device: as for Translator; one device.
    recipe: JSON file with options, such as the recipe.json of another run.
    callback: called with a TrainStart, then with each TrainUpdate and TrainValidation, on another thread; an exception
        ends the run with a checkpoint and is raised again.
    options: the options of `clformer train`, with underscores: train=["a.en", "a.de"], batch_tokens=4096,
        config={"dropout": 0.3}.

    >>> run = train("model", train=["a.txt", "b.txt"], valid=["a.txt", "b.txt"], tokens=True, batch_tokens=60,
    ...             max_updates=2, config=small)
    >>> len(run.updates)
    2
    """
    handle, hooks, flag = ctypes.c_void_p(), _c.clf_train_hooks(), Flag()
    result, errors = TrainRun(os.path.abspath(os.fspath(output))), []
    path = encode_path(output, "output")

    def report(kind: Any) -> Callable[[Any, Optional[int]], None]:
        def hook(struct: Any, payload: Optional[int]) -> None:
            try:
                event = event_of(kind, struct.contents)
                add(result, event)
                if callback is not None:
                    callback(event)
            except BaseException as error:  # ends the run; raised again below
                errors.append(error)
                flag.set()

        return hook

    lib.clf_train_hooks_init_sized(hooks, ctypes.sizeof(hooks))
    for name, kind in (("started", TrainStart), ("updated", TrainUpdate), ("validated", TrainValidation)):
        setattr(hooks, name, field_type(hooks, name)(report(kind)))
    hooks.interrupted = poll_hook(field_type(hooks, "interrupted"))
    hooks.payload = flag.payload

    def work() -> None:
        devices = None
        try:
            check(lib.clf_recipe_create(ctypes.byref(handle)))
            if recipe is not None:
                check(lib.clf_recipe_load(handle, encode_path(recipe, "recipe")), recipe)
            set_options(handle, options)
            devices = acquire_devices(device)
            if devices.count != 1:
                raise ArgumentError(f"device: names {devices.count} devices; training uses one")
            check(lib.clf_train(devices.array[0], handle, path, hooks))
        finally:
            if devices is not None:
                devices.release()
            lib.clf_recipe_free(handle)

    try:
        run(work, flag)
    except CancelledError:
        if not errors:
            raise
    if errors:
        raise errors[0]
    return result


def add(result: TrainRun, event: TrainEvent) -> None:
    if isinstance(event, TrainStart):
        result.start = event
    elif isinstance(event, TrainUpdate):
        result.updates.append(event)
    else:
        result.validations.append(event)
