"""Translator: tokens in, tokens out."""

import itertools
import queue
import time
from collections import deque

import clformer
import numpy
from clformer.results import tokens_of

from . import _results
from ._common import ExecutionStats, next_seed, real, string, token_lists, whole
from ._model import Model
from ._results import (
    AsyncScoringResult, AsyncTranslationResult, GenerationStepResult, ScoringResult, TranslationResult,
)
from ._storage import StorageView

AHEAD = 16  # batches that translate_iterable() reads ahead
TYPES_OF_BATCHES = ("examples", "tokens")


def refuse(name, value, default, instead):
    if value != default:
        raise NotImplementedError(f"{name} is not available; {instead}")


def batches_of(iterables, size, batch_type):
    """Yields lists of tuples of at most `size` examples, or of tokens by the longest example."""
    batch, longest = [], 0
    for items in itertools.zip_longest(*iterables, fillvalue=batches_of):
        if batches_of in items:
            raise ValueError("the iterables have different lengths")
        longest = max(longest, len(items[0]))
        count = len(batch) + 1
        if batch and (count if batch_type == "examples" else count * longest) > size:
            yield batch
            batch, longest = [], len(items[0])
        batch.append(items)
    if batch:
        yield batch


class Translator(Model):
    """A text model. Threads may share it: lines of all calls share batches, so max_batch_size changes no result and is
    only checked."""

    kind = "translator"

    def __init__(self, model_path, device="cpu", *, device_index=0, compute_type="default", inter_threads=1,
                 intra_threads=0, max_queued_batches=0, flash_attention=False, tensor_parallel=False, files=None):
        super().__init__(model_path, device, device_index, compute_type, inter_threads, intra_threads, files,
                         tensor_parallel)

    def _open(self):
        try:
            loaded = clformer.Translator(self._path, self._selector, self._precision, tokens=True, exact_tokens=True)
        except (clformer.FileError, clformer.FormatError) as error:
            raise RuntimeError(str(error)) from error
        if self._info(loaded).feature_size > 0:
            loaded.close()
            raise RuntimeError(f"{self._path}: is a speech model; use ctranslate2.models.Whisper")
        return loaded

    @property
    def num_translators(self):
        return self._workers

    # ---- Sources ----

    def _added(self):
        """Returns the tokens that the model's config.json adds before and after a source."""
        return ([self._config["bos_token"]] if self._config.get("add_source_bos") else [],
                [self._config["eos_token"]] if self._config.get("add_source_eos") else [])

    def _cut(self, tokens, most):
        """Returns a source truncated so that it has at most `most` tokens with the added ones; 0: any number. An end token
        at its end is kept."""
        most = max(most - sum(map(len, self._added())), 1) if most > 0 else len(tokens)
        if len(tokens) > most and tokens[-1] == self._config.get("eos_token"):
            return tokens[: most - 1] + tokens[-1:]
        return tokens[:most]

    def _frame(self, tokens, most):
        before, behind = self._added()
        return before + self._cut(tokens, most) + behind

    def _is_empty(self, tokens):
        marks = (self._config.get("bos_token", "<s>"), self._config.get("eos_token", "</s>"))
        return all(token in marks for token in tokens)

    @staticmethod
    def _join(tokens):
        """Returns tokens as a line; a token with white space cannot be one of the vocabulary."""
        return " ".join("<unk>" if not token or token.split() != [token] else token for token in tokens)

    # ---- Translation ----

    def translate_batch(self, source, target_prefix=None, *, max_batch_size=0, batch_type="examples", asynchronous=False,
                        beam_size=2, patience=1, num_hypotheses=1, length_penalty=1, coverage_penalty=0,
                        repetition_penalty=1, no_repeat_ngram_size=0, disable_unk=False, suppress_sequences=None,
                        end_token=None, return_end_token=False, prefix_bias_beta=0, max_input_length=1024,
                        max_decoding_length=256, min_decoding_length=1, use_vmap=False, return_scores=False,
                        return_logits_vocab=False, return_attention=False, return_alternatives=False,
                        min_alternative_expansion_prob=0, sampling_topk=1, sampling_topp=1, sampling_temperature=1,
                        replace_unknowns=False, callback=None):
        """Translates lists of tokens; returns a TranslationResult for each, or an AsyncTranslationResult."""
        sources = token_lists(source, "source")
        prefixes = None if target_prefix is None else token_lists(target_prefix, "target_prefix", optional=True)
        if prefixes is not None and len(prefixes) < len(sources):
            raise RuntimeError(f"target_prefix: has {len(prefixes)} lists for {len(sources)} sources")
        if batch_type not in TYPES_OF_BATCHES:
            raise ValueError(f"batch_type: must be examples or tokens, not {batch_type!r}")
        whole(max_batch_size, "max_batch_size", 0)
        refuse("prefix_bias_beta", prefix_bias_beta, 0, "use target_prefix, which is forced")
        if callback is not None:
            if beam_size != 1:
                raise ValueError(f"callback: requires beam_size 1, not {beam_size}")
            refuse("callback with several samples", num_hypotheses, 1, "use num_hypotheses=1")
            refuse("callback with replace_unknowns", bool(replace_unknowns), False, "use one of them")
            refuse("callback with return_alternatives", bool(return_alternatives), False, "use one of them")
        options = self._options(beam_size, patience, num_hypotheses, length_penalty, coverage_penalty, repetition_penalty,
                                no_repeat_ngram_size, max_decoding_length, min_decoding_length, return_alternatives,
                                sampling_topk, sampling_topp, sampling_temperature)
        options["replace_unknown"] = bool(replace_unknowns)
        options["shortlist"] = None if use_vmap else "none"
        options["suppress"] = [self._config.get("unk_token", "<unk>")] if disable_unk else []
        if suppress_sequences:
            options["banned_sequences"] = tuple(map(tuple, token_lists(suppress_sequences, "suppress_sequences")))
        ends = self._ends(end_token)
        if ends:
            options["end_tokens"] = ends
        request = _Request(options, whole(max_input_length, "max_input_length", 0), num_hypotheses,
                           real(length_penalty, "length_penalty"), bool(return_scores), bool(return_end_token),
                           bool(return_attention), bool(return_logits_vocab), callback,
                           real(min_alternative_expansion_prob, "min_alternative_expansion_prob") if return_alternatives else 0)
        if asynchronous:
            return _results.run(lambda: self._translate(sources, prefixes, request), len(sources), AsyncTranslationResult)
        return self._translate(sources, prefixes, request)

    @staticmethod
    def _ends(end_token):
        """Returns a tuple of the end tokens, as text or ids; () for the model's."""
        if end_token is None or isinstance(end_token, (str, bytes)):
            return () if not end_token else (string(end_token, "end_token"),)
        return tuple(token if isinstance(token, (str, bytes)) else whole(token, "end_token", 0) for token in end_token)

    def _options(self, beam_size, patience, count, length_penalty, coverage_penalty, repetition_penalty, ngram, longest,
                 shortest, alternatives, top_k, top_p, temperature):
        """Returns clformer's options."""
        beam = whole(beam_size, "beam_size", 1)
        count = whole(count, "num_hypotheses", 1)
        longest = whole(longest, "max_decoding_length", 1)
        shortest = whole(shortest, "min_decoding_length", 0)
        patience = real(patience, "patience")
        is_sampled = whole(top_k, "sampling_topk") != 1
        if not patience > 0:
            raise ValueError(f"patience: must be above 0, not {patience}")
        if not real(repetition_penalty, "repetition_penalty") > 0:
            raise ValueError(f"repetition_penalty: must be above 0, not {repetition_penalty}")
        if not 0 <= real(top_p, "sampling_topp") <= 1:
            raise ValueError(f"sampling_topp: must be from 0 to 1, not {top_p}")
        if shortest > longest:
            raise ValueError(f"min_decoding_length: {shortest} is more than max_decoding_length, {longest}")
        if not (is_sampled and beam == 1) and not alternatives and count > int(beam * patience + 0.5):
            raise ValueError(f"num_hypotheses: {count} is more than beam_size {beam} times patience {patience}")
        with self._use() as loaded:
            longest = min(longest, self._info(loaded).max_target_length)
        options = dict(
            beam=beam, n_best=1 if alternatives else min(count, beam), length_penalty=real(length_penalty, "length_penalty"),
            coverage_penalty=real(coverage_penalty, "coverage_penalty"), repetition_penalty=float(repetition_penalty),
            no_repeat_ngram_size=whole(ngram, "no_repeat_ngram_size", 0), max_length=longest,
            min_length=min(shortest + 1, longest), length_rule="huggingface", early_stopping="ctranslate2",
            patience=patience, renormalize=True, forced_first=None)
        if alternatives:
            refuse("sampling_topk with return_alternatives", is_sampled, False, "use one of them")
            options["alternatives"] = count
        if is_sampled:
            options.update(sample=True, top_k=max(top_k, 0), top_p=float(top_p), seed=next_seed(),
                           temperature=real(temperature, "sampling_temperature"))
            options["n_best"] = count if beam == 1 else options["n_best"]
        return options

    def _translate(self, sources, prefixes, request):
        chosen = [i for i, tokens in enumerate(sources) if not self._is_empty(tokens)]
        if request.options["replace_unknown"] and any(self._added()):
            # The library adds the tokens, so that no unknown token is replaced by one of them.
            request.options["exact_tokens"] = False
            texts = [self._join(self._cut(sources[i], request.most_input)) for i in chosen]
        else:
            texts = [self._join(self._frame(sources[i], request.most_input)) for i in chosen]
        begins = None if prefixes is None else [self._join(prefixes[i]) for i in chosen]
        empty = TranslationResult([[] for _ in range(request.count)],
                                  [0.0] * request.count if request.wants_scores else [])
        results = [empty] * len(sources)
        with self._use() as loaded:
            generated = self._step_hook(request, chosen) if request.callback is not None else None
            found = loaded._submit(texts, request.options, begins, generated=generated,
                                   wants_logits=request.wants_logits and generated is not None).wait() if texts else []
            for i, text, prefix, translation in zip(chosen, texts, begins or [""] * len(texts), found):
                if translation.problem is not None:
                    raise RuntimeError(f"source {i}: {translation.problem}") from translation.problem
                results[i] = self._result(loaded, text, prefix, translation, request)
        return results

    def _result(self, loaded, text, prefix, translation, request):
        ends = request.options.get("end_tokens", (self._config.get("eos_token", "</s>"),))
        hypotheses = list(translation.hypotheses)
        if request.least_probability > 0:
            hypotheses = self._expanded(loaded, text, prefix, hypotheses, request)
        if request.options.get("sample"):
            scores = self._sample_scores(loaded, text, hypotheses, request)
            order = sorted(range(len(scores)), key=lambda k: -scores[k])
            hypotheses, scores = [hypotheses[k] for k in order], [scores[k] for k in order]
        else:
            scores = [one.score for one in hypotheses]
        tokens = []
        for one in hypotheses:
            # `text` has replaced unknown tokens, and omits the end token.
            found = one.text.split(" ") if request.options["replace_unknown"] and one.text else one.tokens
            last = next((token for token in one.tokens[-1:] if token in ends), None)
            found = found[:-1] if last is not None and found[-1:] == [last] else found
            tokens.append(found + [last] if request.wants_end and last is not None else found)
        attention = [self._attention(loaded, text, one, found) for one, found in zip(hypotheses, tokens)
                     ] if request.wants_attention else []
        logits = [list(map(StorageView.from_array, steps)) for steps in
                  self._logits(loaded, text, hypotheses, request.options)] if request.wants_logits else []
        return TranslationResult(tokens, scores if request.wants_scores else [], attention, logits)

    def _attention(self, loaded, text, hypothesis, tokens):
        """Returns a row for each token: the attention to the source, averaged over the heads that align."""
        maps = loaded.attention(text, self._join(hypothesis.tokens))
        layer = self._config.get("alignment_layer", -1)
        heads = self._config.get("alignment_heads", 1)
        heads = heads if isinstance(heads, int) and heads > 0 else maps.cross.shape[1]
        return maps.cross[layer, :heads].mean(0)[: len(tokens)].tolist()

    # ---- Steps ----

    def _step_hook(self, request, numbers):
        """Returns the hook that calls the program's callback with each step; `numbers` are the indices of the lines."""
        with self._use() as loaded:
            model = loaded._engine.model.first

        def generated(token):
            logits = StorageView.from_array(token.logits) if token.logits is not None else None
            return bool(request.callback(GenerationStepResult(
                token.step, numbers[token.line], token.id, 0, tokens_of(model, [token.id])[0],
                token.log_probability if request.wants_scores else None, logits, token.is_last)))

        return generated

    def _sample_scores(self, loaded, text, hypotheses, request):
        """Returns the scores of samples, which do not depend on the temperature and on the tokens that may be drawn."""
        if len(hypotheses) == 1 and not request.wants_scores:
            return [0.0]
        scores = []
        for one, steps in zip(hypotheses, self._logits(loaded, text, hypotheses, request.options)):
            logits = numpy.array(steps, numpy.float64)
            largest = logits.max(1)
            chosen = logits[numpy.arange(len(one.ids)), one.ids]
            total = (chosen - largest - numpy.log(numpy.exp(logits - largest[:, None]).sum(1))).sum()
            scores.append(float(total) / max(len(one.ids), 1) ** request.length_penalty)
        return scores

    def _logits(self, loaded, text, hypotheses, options):
        """Returns for each hypothesis the logits (V) of its steps: the hypotheses are generated again as target
        prefixes."""
        prefixes = [self._join(one.tokens[:-1]) for one in hypotheses]  # the last token has no step after it
        return self._steps(loaded, text, prefixes, [len(one.ids) for one in hypotheses], options)

    @staticmethod
    def _steps(loaded, text, prefixes, counts, options):
        """Returns for each prefix the logits (V) of the first steps, as many as its count."""
        found = [[] for _ in prefixes]
        left_out = ("alternatives", "replace_unknown", "sample", "top_k", "top_p", "seed", "temperature", "coverage_penalty")
        options = {name: value for name, value in options.items() if name not in left_out}
        options.update(beam=1, n_best=1)

        def generated(token):
            found[token.line].append(token.logits)
            return len(found[token.line]) == counts[token.line]

        job = loaded._submit([text] * len(prefixes), options, prefixes, generated=generated, wants_logits=True)
        problem = next((one.problem for one in job.wait() if one.problem is not None), None)
        if problem is not None:
            raise RuntimeError(str(problem)) from problem
        return found

    def _expanded(self, loaded, text, prefix, hypotheses, request):
        """Returns the alternatives whose first token is probable enough, or else the first one."""
        count = len(prefix.split())
        logits = self._steps(loaded, text, [prefix], [count + 1], request.options)[0][count].astype(numpy.float64)
        probabilities = numpy.exp(logits - logits.max())
        probabilities /= probabilities.sum()
        kept = [one for one in hypotheses if probabilities[one.ids[count]] >= request.least_probability]
        return kept or hypotheses[:1]

    def generate_tokens(self, source, target_prefix=None, *, max_decoding_length=256, min_decoding_length=1, sampling_topk=1,
                        sampling_topp=1, sampling_temperature=1, return_log_prob=False, repetition_penalty=1,
                        no_repeat_ngram_size=0, disable_unk=False, suppress_sequences=None, end_token=None,
                        max_input_length=1024, use_vmap=False):
        """Yields a GenerationStepResult for each token of the translation of one list of tokens, while it is generated.
        Closing the generator ends the translation."""
        steps, is_closed = queue.SimpleQueue(), []

        def callback(step):
            steps.put(step)
            return bool(is_closed)

        def translate():
            try:
                return self.translate_batch([source], None if target_prefix is None else [target_prefix], **options)
            finally:
                steps.put(None)

        options = dict(
            beam_size=1, max_decoding_length=max_decoding_length, min_decoding_length=min_decoding_length, sampling_topk=sampling_topk,
            sampling_topp=sampling_topp, sampling_temperature=sampling_temperature, return_scores=return_log_prob,
            repetition_penalty=repetition_penalty, no_repeat_ngram_size=no_repeat_ngram_size, disable_unk=disable_unk,
            suppress_sequences=suppress_sequences, end_token=end_token, max_input_length=max_input_length, use_vmap=use_vmap,
            callback=callback)
        future = _results.run(translate, 1, AsyncTranslationResult)[0]
        try:
            yield from iter(steps.get, None)
            future.result()
        finally:
            is_closed.append(True)
            future._wait()

    # ---- Scores ----

    def score_batch(self, source, target, *, max_batch_size=0, batch_type="examples", max_input_length=1024, offset=0,
                    asynchronous=False):
        """Computes the log-probabilities of the tokens of targets, and of the end token after them."""
        sources, targets = token_lists(source, "source"), token_lists(target, "target")
        if len(targets) < len(sources):
            raise RuntimeError(f"target: has {len(targets)} lists for {len(sources)} sources")
        most, offset = whole(max_input_length, "max_input_length", 0), whole(offset, "offset", 0)

        def score():
            return self._score(sources, targets, most, offset)

        return _results.run(score, len(sources), AsyncScoringResult) if asynchronous else score()

    def _score(self, sources, targets, most, offset):
        end = self._config.get("eos_token", "</s>")
        framed = [self._frame(tokens, most) for tokens in sources]
        wanted = [(tokens[:most] if most > 0 else tokens) + [end] for tokens in targets]
        chosen = [i for i, tokens in enumerate(framed) if not self._is_empty(tokens)]
        results = [ScoringResult(tokens[offset:], [0.0] * len(tokens[offset:])) for tokens in wanted[: len(sources)]]
        with self._use() as loaded:
            found = loaded._score([self._join(framed[i]) for i in chosen], [self._join(wanted[i]) for i in chosen],
                                  {"forced_first": None}) if chosen else []
            for i, score in zip(chosen, found):
                if score.problem is not None:
                    raise RuntimeError(f"source {i}: {score.problem}") from score.problem
                results[i] = ScoringResult(score.tokens[offset:], score.token_log_probabilities[offset:].tolist())
        return results

    # ---- Streams of lines ----

    def translate_iterable(self, source, target_prefix=None, max_batch_size=32, batch_type="examples", **options):
        """Translates an iterable of token lists; yields TranslationResults in order."""
        iterables = [source] if target_prefix is None else [source, target_prefix]
        return self._iterate(self.translate_batch, iterables, max_batch_size, batch_type, options)

    def score_iterable(self, source, target, max_batch_size=64, batch_type="examples", **options):
        """Scores iterables of token lists; yields ScoringResults in order."""
        return self._iterate(self.score_batch, [source, target], max_batch_size, batch_type, options)

    @staticmethod
    def _iterate(call, iterables, size, batch_type, options):
        if whole(size, "max_batch_size") < 1:
            raise ValueError(f"max_batch_size: must be 1 or more, not {size}")
        if batch_type not in TYPES_OF_BATCHES:
            raise ValueError(f"batch_type: must be examples or tokens, not {batch_type!r}")
        waiting = deque()
        for batch in batches_of(iterables, size, batch_type):
            waiting.extend(call(*map(list, zip(*batch)), asynchronous=True, **options))
            while len(waiting) > AHEAD * size:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()

    def translate_file(self, source_path, output_path, target_path=None, *, max_batch_size=32, read_batch_size=0,
                       batch_type="examples", with_scores=False, source_tokenize_fn=None, target_tokenize_fn=None,
                       target_detokenize_fn=None, **options):
        """Translates a file of lines; writes "score ||| text" with `with_scores`."""
        split, join = source_tokenize_fn or str.split, target_detokenize_fn or " ".join
        start, tokens, lines = time.monotonic(), 0, 0
        with open(string(source_path, "source_path"), encoding="utf-8") as source, \
                open(string(output_path, "output_path"), "w", encoding="utf-8") as output:
            sources = (split(line.rstrip("\n")) for line in source)
            prefixes = None
            if target_path is not None:
                with open(string(target_path, "target_path"), encoding="utf-8") as file:
                    prefixes = [(target_tokenize_fn or str.split)(line.rstrip("\n")) for line in file]
            for result in self.translate_iterable(sources, prefixes, max_batch_size, batch_type,
                                                  return_scores=with_scores, **options):
                for k, hypothesis in enumerate(result.hypotheses):
                    score = f"{result.scores[k]:g} ||| " if with_scores else ""
                    output.write(f"{score}{join(hypothesis)}\n")
                    tokens += len(hypothesis)
                lines += 1
        return ExecutionStats(tokens, lines, 1000 * (time.monotonic() - start))

    def score_file(self, source_path, target_path, output_path, *, max_batch_size=32, read_batch_size=0, batch_type="examples",
                   max_input_length=1024, offset=0, with_tokens_score=False, source_tokenize_fn=None, target_tokenize_fn=None,
                   target_detokenize_fn=None):
        """Scores two files of lines; writes "score ||| text", and with `with_tokens_score` the scores of the tokens."""
        split, split_target = source_tokenize_fn or str.split, target_tokenize_fn or str.split
        join, start, tokens, lines = target_detokenize_fn or " ".join, time.monotonic(), 0, 0
        with open(string(source_path, "source_path"), encoding="utf-8") as source, \
                open(string(target_path, "target_path"), encoding="utf-8") as target, \
                open(string(output_path, "output_path"), "w", encoding="utf-8") as output:
            found = self.score_iterable((split(line.rstrip("\n")) for line in source),
                                        (split_target(line.rstrip("\n")) for line in target), max_batch_size, batch_type,
                                        max_input_length=max_input_length, offset=offset)
            for result in found:
                values = result.log_probs
                mean = sum(values) / max(len(values), 1)
                each = " ||| " + " ".join(f"{value:g}" for value in values) if with_tokens_score else ""
                output.write(f"{mean:g} ||| {join(result.tokens)}{each}\n")
                tokens += len(values)
                lines += 1
        return ExecutionStats(tokens, lines, 1000 * (time.monotonic() - start))


class _Request:
    """What a call of translate_batch() asks for."""

    def __init__(self, options, most_input, count, length_penalty, wants_scores, wants_end, wants_attention, wants_logits,
                 callback, least_probability):
        self.options = options
        self.most_input = most_input
        self.count = count
        self.length_penalty = length_penalty
        self.wants_scores = wants_scores
        self.wants_end = wants_end
        self.wants_attention = wants_attention
        self.wants_logits = wants_logits
        self.callback = callback
        self.least_probability = least_probability
