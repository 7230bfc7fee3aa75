"""ctranslate2.models.Whisper, compared with results of CTranslate2 4.8.5 in tests/fixtures/speech/ctranslate2."""

import gc
import itertools
import json
import sys
import threading

import ctranslate2
import numpy
import pytest
from conftest import ROOT, SMALL

FIXTURES = ROOT / "tests/fixtures/speech"
sys.path.insert(0, str(FIXTURES))
from windows import make_windows  # noqa: E402

FOLDER = str(FIXTURES / "ctranslate2")
RECORDED = json.loads((FIXTURES / "ctranslate2/recorded.json").read_text())
EN = [263, 264, 268]
SHORT = {"max_length": 64, "beam_size": 1}


def load(**options):
    return ctranslate2.models.Whisper(FOLDER, compute_type="float32", **options)


def view_of(array):
    return ctranslate2.StorageView.from_array(numpy.ascontiguousarray(array))


@pytest.fixture(scope="module")
def model():
    return load()


@pytest.fixture(scope="module")
def features():
    return make_windows(3)


@pytest.fixture(scope="module")
def encoded(model, features):
    """Encoded windows by their number."""
    return {count: model.encode(view_of(features[:count])) for count in (1, 2, 3)}


def test_properties(model):
    assert (model.is_multilingual, model.num_languages, model.n_mels) == (
        RECORDED["multilingual"], RECORDED["languages"], RECORDED["n_mels"])
    assert (model.device, model.device_index, model.compute_type, model.num_workers) == ("cpu", [0], "float32", 1)
    assert model.model_is_loaded and model.num_active_batches == 0 and not model.tensor_parallel


def test_encode(model, features):
    shape, values, short = RECORDED["encoded"]
    view = model.encode(view_of(features))
    assert view.shape == shape and view.dtype is ctranslate2.DataType.float32
    assert numpy.allclose(numpy.array(view)[:, ::500], values, atol=1e-4)
    view = model.encode(view_of(features[:1, :, :1100]), to_cpu=True)
    assert view.shape == [1, 550, 8]
    assert numpy.allclose(numpy.array(view)[:, ::250], short, atol=1e-4)
    half = model.encode(view_of(features[:1].astype(numpy.float16)))
    assert numpy.allclose(numpy.array(half), numpy.array(model.encode(view_of(features[:1]))), atol=2e-2)


def test_generate(model, encoded):
    for one in RECORDED["generated"]:
        found = model.generate(encoded[len(one["prompts"])], one["prompts"], return_scores=True, return_no_speech_prob=True,
                               **one["options"])
        for result, expected in zip(found, one["results"]):
            assert result.sequences_ids == expected["ids"], one["options"]
            assert result.scores == pytest.approx(expected["scores"], abs=1e-4), one["options"]
            assert result.no_speech_prob == pytest.approx(expected["no_speech"], abs=1e-5)


def test_features(model, encoded, features):
    """Features, encoded windows on the device and on the host, of any length, give the same results."""
    expected = RECORDED["short"]
    for view in (view_of(features[:1, :, :1100]), model.encode(view_of(features[:1, :, :1100]))):
        result = model.generate(view, [EN], beam_size=2, return_scores=True, max_length=64)[0]
        assert result.sequences_ids == expected["ids"] and result.scores == pytest.approx(expected["scores"], abs=1e-4)
    first = model.generate(encoded[2], [EN, EN], return_scores=True, **SHORT)
    host = view_of(numpy.array(model.encode(view_of(features[:2]))))
    assert first == model.generate(host, [EN, EN], return_scores=True, **SHORT)
    assert first == model.generate(view_of(features[:2]), numpy.array([EN, EN]), return_scores=True, **SHORT)


def test_results(model, encoded):
    result = model.generate(encoded[1], [["<|startoftranscript|>", "<|en|>", "<|transcribe|>"]], **SHORT)[0]
    assert result.sequences == RECORDED["words"] and result.scores == [] and result.no_speech_prob == 0.0 and result.logits == []
    assert isinstance(result, ctranslate2.models.WhisperGenerationResult)
    later = model.generate(encoded[1], [EN], asynchronous=True, **SHORT)[0]
    assert later.result() == result and later.done()
    assert isinstance(later, ctranslate2.models.WhisperGenerationResultAsync)


def describe(step):
    """Returns what make_ctranslate2_logits.py records of the logits of a step."""
    values = numpy.array(step).reshape(-1)
    allowed = numpy.nonzero(values > -1e30)[0]
    return [len(allowed), allowed[0], allowed[-1], values.max(), values[allowed].mean()]


def test_logits(model, encoded):
    for one in json.loads((FIXTURES / "ctranslate2/logits.json").read_text()):
        found = model.generate(encoded[len(one["prompts"])], one["prompts"], return_logits_vocab=True, **one["options"])
        assert [result.sequences_ids for result in found] == one["ids"]
        for result, expected in zip(found, one["logits"]):
            assert list(map(len, result.logits)) == list(map(len, expected))
            for step, values in zip(itertools.chain(*result.logits), itertools.chain(*expected)):
                assert describe(step) == pytest.approx(values, abs=2e-3), one["options"]


def test_languages(model, encoded):
    for found, expected in zip(model.detect_language(encoded[3]), RECORDED["detected"]):
        assert [code for code, _ in found] == [code for code, _ in expected]
        assert [p for _, p in found] == pytest.approx([p for _, p in expected], abs=1e-5)


def test_align(model, encoded):
    for one in RECORDED["aligned"]:
        found = model.align(encoded[len(one["texts"])], EN, one["texts"], one["frames"], median_filter_width=one["width"])
        for result, expected in zip(found, one["results"]):
            assert result.text_token_probs == pytest.approx(expected["probabilities"], abs=1e-6)
            if isinstance(expected["pairs"], int):
                assert abs(len(result.alignments) - expected["pairs"]) <= 1
            else:
                assert result.alignments == [tuple(pair) for pair in expected["pairs"]], one


def test_samples(model, encoded):
    """Samples depend on the seed, and are sorted by score; the most probable token alone is greedy search."""
    options = dict(beam_size=1, max_length=64, num_hypotheses=5, sampling_temperature=0.9, return_scores=True)
    found = []
    for seed in (3, 3, 4):
        ctranslate2.set_random_seed(seed)
        found.append(model.generate(encoded[1], [EN], sampling_topk=0, **options)[0])
    assert found[0] == found[1] and found[0].sequences_ids != found[2].sequences_ids
    assert len(found[0].scores) == 5 and found[0].scores == sorted(found[0].scores, reverse=True)
    few = model.generate(encoded[1], [EN], sampling_topk=3, repetition_penalty=1.3, **options)[0]
    assert len(few.scores) == 5 and few.scores == sorted(few.scores, reverse=True)
    greedy = model.generate(encoded[1], [EN], **SHORT)[0]
    # An even share of two ids that are equally probable is the only other possibility.
    best = model.generate(encoded[1], [EN], beam_size=1, max_length=64, sampling_topk=2, sampling_temperature=0.001)[0]
    assert best.sequences_ids == greedy.sequences_ids


def test_errors(model, encoded, features):
    """Programs get exceptions, also where CTranslate2 crashes."""
    one = encoded[1]
    for call in (
        lambda: model.generate(one, []), lambda: model.generate(one, [EN, EN]), lambda: model.generate(one, [[264]]),
        lambda: model.generate(one, [[263, 99999]]), lambda: model.generate(one, [EN], max_length=1),
        lambda: model.generate(one, [EN], beam_size=0), lambda: model.generate(one, [EN], beam_size=2, num_hypotheses=3),
        lambda: model.generate(one, [EN], patience=0), lambda: model.generate(one, [EN], repetition_penalty=0),
        lambda: model.generate(encoded[2], [EN, [263, 264]]), lambda: model.generate(encoded[2], [EN, [40] + EN]),
        lambda: model.align(one, EN, [], 100), lambda: model.align(one, EN, [[40]], 100, median_filter_width=0),
        lambda: model.align(one, EN, [[40]], [100, 100]), lambda: model.align(one, EN, [[99999]], 100),
        lambda: model.encode(view_of(features[0])), lambda: model.encode(view_of(features[:, :40])),
        lambda: model.encode(view_of(numpy.zeros((0, 80, 3000), numpy.float32))),
        lambda: model.encode(view_of(numpy.zeros((1, 80, 3001), numpy.float32))),
        lambda: model.encode(view_of(features[:1].astype(numpy.int32))),
        lambda: model.generate(view_of(numpy.zeros((1, 20, 9), numpy.float32)), [EN]),
        lambda: ctranslate2.models.Whisper(str(ROOT / "tests/fixtures/formats/ctranslate2/gated")),
    ):
        with pytest.raises(ValueError):
            call()
    for call in (lambda: model.encode(features), lambda: model.generate(one, "text"), lambda: model.generate(one, [EN], beam_size=1.5)):
        with pytest.raises(TypeError):
            call()
    for call in (lambda: model.generate(one, [EN + [40] * 500]), lambda: ctranslate2.models.Whisper("missing"),
                 lambda: model.align(one, EN, [[40] * 500], 100), lambda: ctranslate2.Translator(FOLDER)):
        with pytest.raises(RuntimeError):
            call()
    with pytest.raises(NotImplementedError):
        model.generate(one, [EN], beam_size=2, sampling_topk=0)


def test_unload(features):
    """Encoded windows outlive the model, and are used by the next one."""
    model = load()
    view = model.encode(view_of(features[:1]))
    first = model.generate(view, [EN], **SHORT)
    model.unload_model()
    for call in (lambda: model.generate(view, [EN]), lambda: model.n_mels, lambda: model.encode(view_of(features))):
        with pytest.raises(RuntimeError, match="unloaded"):
            call()
    assert view.shape == [1, 1500, 8]
    model.load_model()
    assert model.generate(view, [EN], **SHORT) == first
    other = load()
    assert other.generate(view, [EN], **SHORT) == first
    del model, other
    gc.collect()
    assert numpy.isfinite(numpy.array(view)).all()


def test_files(features):
    """A model in memory, without a tokenizer."""
    names = ("model.bin", "config.json", "vocabulary.json")
    files = {name: (FIXTURES / "ctranslate2" / name).read_bytes() for name in names}
    model = ctranslate2.models.Whisper("any", compute_type="float32", files=files)
    assert model.generate(view_of(features[:1]), [EN], **SHORT)[0].sequences_ids == RECORDED["generated"][0]["results"][0]["ids"]


def test_threads(model, features):
    """Threads share a model; all kinds of calls share its batches."""
    expected = model.generate(view_of(features), [EN] * 3, **SHORT)
    languages = model.detect_language(view_of(features))
    errors = []

    def work(number):
        try:
            for turn in range(2 if SMALL else 20):
                view = model.encode(view_of(features))
                kind = (number + turn) % 3
                if kind == 0:
                    assert model.generate(view, [EN] * 3, **SHORT) == expected
                elif kind == 1:
                    assert model.detect_language(view) == languages
                else:
                    found = model.align(view, EN, [[40, 41]] * 3, 500)
                    assert all(one.alignments[-1] == (2, 249) for one in found)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
