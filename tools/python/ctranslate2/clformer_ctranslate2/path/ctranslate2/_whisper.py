"""Whisper: encodes windows of speech, generates text, detects languages and aligns text."""

import contextlib
import json
import os
import tempfile

import clformer
from clformer._windows import Speech

from . import _results
from ._common import NAMES, DataType, next_seed, real, string, whole
from ._model import Model
from ._results import WhisperAlignmentResult, WhisperGenerationResult, WhisperGenerationResultAsync
from ._storage import StorageView, is_float

MOST_FRAMES = 3000
FILES = ("model.bin", "config.json", "vocabulary.json", "vocabulary.txt")


def id_list(values, name):
    """Returns a list of ids; NumPy arrays and tuples are accepted."""
    if isinstance(values, (str, bytes)) or not hasattr(values, "__len__"):
        raise TypeError(f"{name}: must be a list of ids, not {type(values).__name__}")
    return [whole(value, name) for value in values]


def read_vocabulary(folder):
    """Returns the tokens of vocabulary.json or vocabulary.txt."""
    path = os.path.join(folder, "vocabulary.json")
    if os.path.isfile(path):
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    path = os.path.join(folder, "vocabulary.txt")
    if not os.path.isfile(path):
        raise RuntimeError(f"{folder}: has no vocabulary.json or vocabulary.txt; convert the model again")
    with open(path, encoding="utf-8", newline="\n") as file:
        tokens = file.read().split("\n")
    return tokens[:-1] if tokens[-1:] == [""] else tokens


class Whisper(Model):
    """A Whisper model. Threads may share it: windows of all calls share batches."""

    kind = "Whisper model"

    def __init__(self, model_path, device="cpu", *, device_index=0, compute_type="default", inter_threads=1, intra_threads=0,
                 max_queued_batches=0, flash_attention=False, tensor_parallel=False, files=None):
        super().__init__(model_path, device, device_index, compute_type, inter_threads, intra_threads, files,
                         tensor_parallel)

    def _open(self):
        if not os.path.isfile(os.path.join(self._path, "model.bin")):
            raise RuntimeError(f"{self._path}: has no model.bin; pass the folder of a model that CTranslate2 converted")
        if self._stored_kind != "WhisperSpec":
            raise ValueError(f"{self._path}: is a model of the kind {self._stored_kind}, not of Whisper; use "
                             "ctranslate2.Translator")
        # CTranslate2 reads only these files; the program loads the tokenizer.
        with tempfile.TemporaryDirectory() as folder:
            for name in FILES:
                if os.path.isfile(os.path.join(self._path, name)):
                    os.symlink(os.path.abspath(os.path.join(self._path, name)), os.path.join(folder, name))
            try:
                loaded = Speech(folder, self._selector, self._precision)
            except (clformer.FileError, clformer.FormatError) as error:
                raise RuntimeError(str(error).replace(folder, self._path)) from error
        try:
            self._tokens = read_vocabulary(self._path)
        except BaseException:
            loaded.close()
            raise
        self._ids = {token: i for i, token in enumerate(self._tokens)}
        return loaded

    # ---- Properties ----

    @property
    def is_multilingual(self):
        """Whether the vocabulary has the empty token, as in multilingual models."""
        with self._use():
            return "" in self._ids

    @property
    def n_mels(self):
        with self._use() as loaded:
            return self._info(loaded).feature_size

    @property
    def num_languages(self):
        with self._use():
            return len(self._languages())

    @property
    def num_workers(self):
        return self._workers

    def _languages(self):
        """Returns the ids between the start token and the task tokens."""
        first = self._ids["<|startoftranscript|>"] + 1
        return list(range(first, self._ids["<|notimestamps|>"] - 5))

    @contextlib.contextmanager
    def _calls(self):
        """Yields the loaded model; raises the types of exceptions that CTranslate2 raises."""
        try:
            with self._use() as loaded:
                yield loaded
        except clformer.ArgumentError as error:
            raise ValueError(str(error)) from error
        except clformer.TextError as error:
            raise RuntimeError(str(error)) from error

    # ---- Windows ----

    def _features(self, view, loaded):
        """Checks windows of features."""
        shape, info = view.shape, self._info(loaded)
        if len(shape) != 3 or shape[1] != info.feature_size or not 1 <= shape[2] <= MOST_FRAMES:
            raise ValueError(f"features: must have the shape [windows, {info.feature_size}, 1 to {MOST_FRAMES} frames], "
                             f"not {shape}")
        if shape[0] == 0:
            raise ValueError("features: have no windows; pass at least one")
        return view._floats()

    @staticmethod
    def _check_view(view):
        if not isinstance(view, StorageView):
            raise TypeError(f"features: must be a StorageView, not {type(view).__name__}")
        if not is_float(view.dtype):
            raise ValueError(f"features: must be floating-point numbers, not {view.dtype.name}")

    def _encoded(self, view, loaded):
        """Returns the encoded windows of a view, which holds features or what encode() returned."""
        self._check_view(view)
        windows, shape, info = view._windows, view.shape, self._info(loaded)
        if windows is not None and windows.speech is loaded and windows.handle is not None:
            return windows
        if len(shape) == 3 and shape[1] == info.feature_size:
            return loaded.encode(self._features(view, loaded))
        if len(shape) != 3 or shape[2] != info.d_model or shape[0] == 0:
            raise ValueError(f"features: must have the shape [windows, {info.feature_size}, frames] or [windows, positions, "
                             f"{info.d_model}], not {shape}")
        return loaded.load(view._floats())

    def encode(self, features, to_cpu=False):
        """Encodes features [windows, n_mels, frames]; returns [windows, positions, d_model]."""
        self._check_view(features)
        with self._calls() as loaded:
            view = StorageView._of_windows(loaded.encode(self._features(features, loaded)), self._type(loaded))
        if to_cpu:
            view._array  # moves the windows to the host
        return view

    def _type(self, loaded):
        """Returns the type of the encoder's output."""
        name = NAMES[self._info(loaded).precision]
        return DataType[name] if name in DataType.__members__ else DataType.float32

    # ---- Generation ----

    def generate(self, features, prompts, *, asynchronous=False, beam_size=5, patience=1, num_hypotheses=1, length_penalty=1,
                 repetition_penalty=1, no_repeat_ngram_size=0, max_length=448, return_scores=False, return_logits_vocab=False,
                 return_no_speech_prob=False, max_initial_timestamp_index=50, suppress_blank=True, suppress_tokens=(-1,),
                 sampling_topk=1, sampling_temperature=1):
        """Generates the text of windows; returns a WhisperGenerationResult for each, or a WhisperGenerationResultAsync."""
        self._check_view(features)
        prompts = self._prompts(prompts)
        if len(prompts) != features.shape[0] or not prompts:
            raise ValueError(f"prompts: there are {len(prompts)} for {features.shape[0]} windows; pass one for each")
        topk, temperature = whole(sampling_topk, "sampling_topk"), real(sampling_temperature, "sampling_temperature")
        if beam_size != 1 and topk != 1:
            raise NotImplementedError("sampling_topk is not available with beams of speech; use beam_size=1")
        if not real(patience, "patience") > 0 or not real(repetition_penalty, "repetition_penalty") > 0:
            raise ValueError("patience and repetition_penalty: must be above 0")
        options = dict(
            beam=whole(beam_size, "beam_size", 1), n_best=whole(num_hypotheses, "num_hypotheses", 1), patience=float(patience),
            length_penalty=real(length_penalty, "length_penalty"), repetition_penalty=float(repetition_penalty),
            no_repeat_ngram_size=whole(no_repeat_ngram_size, "no_repeat_ngram_size", 0),
            max_length=whole(max_length, "max_length", 1),
            max_initial_timestamp=whole(max_initial_timestamp_index, "max_initial_timestamp_index", 0),
            wants_no_speech=int(bool(return_no_speech_prob)), wants_logits=int(bool(return_logits_vocab)))
        if topk != 1 and temperature > 0:
            options.update(top_k=max(topk, 0), temperature=temperature, seed=next_seed())
        suppressed = self._suppressed(suppress_tokens)
        first = self._known(self._config.get("suppress_ids_begin", ())) if suppress_blank else []

        def run():
            return self._generate(features, prompts, suppressed, first, options, bool(return_scores))

        if asynchronous:
            if features._windows is None:
                features = features.to(features.dtype)  # the program may change its array
            return _results.run(run, len(prompts), WhisperGenerationResultAsync)
        return run()

    def _generate(self, features, prompts, suppressed, first, options, wants_scores):
        with self._calls() as loaded:
            found = loaded.generate(self._encoded(features, loaded), prompts, suppressed, first, **options)
        return [WhisperGenerationResult([[self._tokens[i] for i in text.ids] for text in one.texts],
                                        [text.ids for text in one.texts],
                                        [text.score for text in one.texts] if wants_scores else [],
                                        [list(map(StorageView.from_array, text.logits)) for text in one.texts
                                         if options["wants_logits"]],
                                        one.no_speech_probability) for one in found]

    def _prompts(self, prompts):
        """Converts lists of tokens or ids to lists of ids."""
        if isinstance(prompts, (str, bytes)) or not hasattr(prompts, "__len__"):
            raise TypeError(f"prompts: must be a list of lists of tokens or ids, not {type(prompts).__name__}")
        unknown = self._ids.get("<|endoftext|>", 0)
        return [[self._ids.get(string(token, "prompts"), unknown) for token in prompt]
                if len(prompt) > 0 and isinstance(prompt[0], (str, bytes)) else id_list(prompt, "prompts") for prompt in prompts]

    def _known(self, ids):
        return [i for i in ids if 0 <= i < len(self._tokens)]

    def _suppressed(self, tokens):
        found = []
        for i in id_list(() if tokens is None else tokens, "suppress_tokens"):
            found += self._known(self._config.get("suppress_ids", ())) if i == -1 else self._known([i])
        return found

    # ---- Languages and alignments ----

    def detect_language(self, features):
        """Returns for each window the languages and their probabilities, most probable first."""
        with self._calls() as loaded:
            if "" not in self._ids:
                raise RuntimeError("detect_language can only be called on multilingual models")
            ids = self._config.get("lang_ids") or self._languages()
            found = loaded.languages(self._encoded(features, loaded), ids)
        return [sorted(((self._tokens[i], float(p)) for i, p in zip(ids, row)), key=lambda pair: -pair[1]) for row in found]

    def align(self, features, start_sequence, text_tokens, num_frames, *, median_filter_width=7):
        """Aligns the tokens of texts with windows; returns a WhisperAlignmentResult for each."""
        self._check_view(features)
        if not self._config.get("alignment_heads"):
            raise RuntimeError(f"{self._path}: config.json has no alignment_heads; convert the model again")
        count = features.shape[0]
        texts = [id_list(tokens, "text_tokens") for tokens in text_tokens]
        frames = [whole(n, "num_frames", 0) for n in num_frames] if hasattr(num_frames, "__len__") else [
            whole(num_frames, "num_frames", 0)] * count
        if len(texts) != count or len(frames) != count or not texts:
            raise ValueError(f"align: {len(texts)} texts and {len(frames)} numbers of frames were passed for {count} windows; "
                             "pass one for each")
        width = whole(median_filter_width, "median_filter_width", 1)
        start = id_list(start_sequence, "start_sequence")
        with self._calls() as loaded:
            found = loaded.align(self._encoded(features, loaded), start, texts, frames, width)
        return [WhisperAlignmentResult(one.path, one.probabilities) for one in found]
