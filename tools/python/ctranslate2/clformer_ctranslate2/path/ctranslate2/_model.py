"""What Translator and Whisper share: the model, its device, and its loading and unloading."""

import contextlib
import json
import os
import struct
import threading

import clformer
from clformer._library import lib

from ._common import NAMES, DataType, Files, choose_device, choose_precision, device_indices, logger, string, whole


def read_kind(folder):
    """Returns the kind of model in model.bin, and the DataType of its first matrix, or None if it is not known."""
    def text():
        size, = struct.unpack("<H", file.read(2))
        return file.read(size)[:-1].decode("utf-8", "replace")  # without its NUL

    kind = "unknown"
    try:
        with open(os.path.join(folder, "model.bin"), "rb") as file:
            version, = struct.unpack("<I", file.read(4))
            kind = text()
            _, count = struct.unpack("<II", file.read(8))
            for _ in range(count if version >= 4 else 0):  # older versions store no types
                text()
                rank, = file.read(1)
                file.seek(4 * rank, os.SEEK_CUR)
                number, size = struct.unpack("<BI", file.read(5))
                if rank == 2:
                    return kind, DataType(number)
                file.seek(size, os.SEEK_CUR)
    except (OSError, ValueError, struct.error):  # loading the model reports what is wrong
        pass
    return kind, None


class Model:
    """A model that is loaded at construction, and can be unloaded while no call runs."""

    kind = "model"  # in messages

    def __init__(self, model_path, device, device_index, compute_type, inter_threads, intra_threads, files,
                 tensor_parallel):
        self._path = string(model_path, "model_path")
        if tensor_parallel:
            raise NotImplementedError("tensor_parallel is not available; the lines of a call share the devices")
        self._device_index = device_indices(device_index)
        chosen = [choose_device(device, index) for index in self._device_index]
        self._selector = None if None in [name for name, _ in chosen] else ",".join(dict.fromkeys(n for n, _ in chosen))
        self._device = chosen[0][1]
        self._workers = whole(inter_threads, "inter_threads", 1) * len(self._device_index)
        whole(intra_threads, "intra_threads")
        self._files = None if files is None else Files(files)
        if self._files is not None:
            self._path = self._files.folder.name
        if not os.path.isfile(os.path.join(self._path, "model.bin")) and files is not None:
            raise RuntimeError("files: has no model.bin; pass the files of a converted model")
        self._config = self._read_config()
        self._stored_kind, stored = read_kind(self._path)
        self._precision = choose_precision(compute_type, self._device, self._selector, stored)
        self._asked = compute_type
        self._lock = threading.Lock()
        self._active = 0
        self._loaded = None
        self.load_model()

    def _read_config(self):
        try:
            with open(os.path.join(self._path, "config.json"), encoding="utf-8") as file:
                return json.load(file)
        except (OSError, ValueError):
            return {}

    def _open(self):
        raise NotImplementedError

    @staticmethod
    def _info(loaded):
        """Returns the clf_model_info of a loaded model."""
        return lib.clf_model_describe(loaded._engine.model.first).contents

    @contextlib.contextmanager
    def _use(self):
        """Counts a call as active, and yields the loaded model."""
        with self._lock:
            if self._loaded is None:
                raise RuntimeError(f"The model for this {self.kind} was unloaded")
            self._active += 1
            loaded = self._loaded
        try:
            yield loaded
        except clformer.ArgumentError as error:
            raise ValueError(str(error)) from error  # programs may compare types
        finally:
            with self._lock:
                self._active -= 1

    def load_model(self, keep_cache=False):
        """Loads the model again after unload_model()."""
        with self._lock:
            if self._loaded is None:
                self._loaded = self._open()
                logger.info("%s: compute type %r runs as %s", self._path, self._asked,
                            NAMES[self._info(self._loaded).precision])

    def unload_model(self, to_cpu=False):
        """Frees the model, unless a call is active or `to_cpu` is set on a CPU."""
        with self._lock:
            if self._active > 0 or self._loaded is None or (to_cpu and self._device == "cpu"):
                return
            self._loaded.close()
            self._loaded = None

    def __reduce__(self):
        raise TypeError(f"a {type(self).__name__} cannot be pickled")

    @property
    def device(self):
        return self._device

    @property
    def device_index(self):
        return list(self._device_index)

    @property
    def compute_type(self):
        with self._use() as loaded:
            return NAMES[self._info(loaded).precision]

    @property
    def tensor_parallel(self):
        return False

    @property
    def model_is_loaded(self):
        return self._loaded is not None

    @property
    def num_queued_batches(self):
        return 0

    @property
    def num_active_batches(self):
        return self._active
