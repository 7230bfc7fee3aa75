"""The module that stands in for ctranslate2, compared with results of CTranslate2 4.8.5 in tests/fixtures/formats/ctranslate2."""

import itertools
import json
import pickle
import os
import subprocess
import sys

import clformer
import ctranslate2
import numpy
import pytest
from conftest import ROOT, SMALL, long_test, run_python

FOLDERS = ROOT / "tests/fixtures/formats/ctranslate2"
SPEECH = str(ROOT / "tests/fixtures/speech/ctranslate2")
sys.path.insert(0, str(ROOT / "tests/fixtures/speech"))
from windows import make_windows  # noqa: E402

LONGEST = 20


def test_finder():
    """The module is the first of its name, unless CLFORMER_CT2=0."""
    path = subprocess.run([sys.executable, "-m", "clformer.ctranslate2", "--path"], capture_output=True, text=True, check=True)
    assert ctranslate2.__file__ == os.path.join(path.stdout.rstrip("\n"), "ctranslate2", "__init__.py")
    off = run_python("import ctranslate2", env={**os.environ, "CLFORMER_CT2": "0"})
    assert "No module named 'ctranslate2'" in off.stderr
    usage = run_python("import clformer.ctranslate2 as c, sys; sys.exit(c.main())")
    assert usage.returncode == 2 and "--path" in usage.stderr


def load(name, **options):
    return ctranslate2.Translator(str(FOLDERS / name), compute_type="float32", **options)


@pytest.fixture(scope="module")
def model():
    return load("gated")


def records(name, key):
    found = json.loads((FOLDERS / name / "decoding.json").read_text())[key]
    return found[::4] if SMALL else found


def check(result, outputs, wants_scores=True):
    assert result.hypotheses == [output["tokens"] for output in outputs]
    if wants_scores:
        assert result.scores == pytest.approx([output["score"] for output in outputs], abs=1e-4)


@pytest.mark.parametrize("name", ["gated"] if SMALL else ["pre-norm", "embedding-norm", "gated", "version-1"])
def test_recorded(name):
    translator = load(name)
    common = {"max_decoding_length": LONGEST, "return_scores": True}
    for one in records(name, "stopped"):
        check(translator.translate_batch([one["source"]], beam_size=one["beams"], patience=one["patience"],
                                         length_penalty=one["length_penalty"], num_hypotheses=len(one["outputs"]),
                                         **common)[0], one["outputs"])
    for one in records(name, "replaced"):
        check(translator.translate_batch([one["source"]], beam_size=one["beams"], num_hypotheses=one["beams"],
                                         replace_unknowns=True, **common)[0], one["outputs"])
    for one in records(name, "alternatives"):
        check(translator.translate_batch([one["source"]], [one["prefix"]], beam_size=one["beams"], num_hypotheses=4,
                                         return_alternatives=True, **common)[0], one["outputs"])
    for one in records(name, "covered"):
        check(translator.translate_batch([one["source"]], [one["prefix"]], beam_size=one["beams"],
                                         num_hypotheses=len(one["outputs"]), coverage_penalty=one["penalty"],
                                         return_alternatives=one["alternatives"], **common)[0], one["outputs"])


def test_many_ways(model):
    """A batch, an asynchronous call and a stream of lines give the same results."""
    rows = json.loads((FOLDERS / "gated/expected.json").read_text())[:8]
    sources, prefixes = [row["source"] for row in rows], [row.get("prefix") or None for row in rows]
    options = {"beam_size": 4, "num_hypotheses": 4, "max_decoding_length": LONGEST, "return_scores": True}
    found = model.translate_batch(sources, prefixes, **options)
    for result, row in zip(found, rows):
        check(result, row["beam4"])
    later = model.translate_batch(sources, prefixes, asynchronous=True, **options)
    assert [one.result() for one in later] == found and all(one.done() for one in later)
    stream = model.translate_iterable(iter(sources), ([] if x is None else x for x in prefixes), max_batch_size=3, **options)
    assert list(stream) == found
    assert model.translate_batch([]) == []


def test_ends(model):
    source = ["a1", "a2", "a3", "</s>"]
    plain = model.translate_batch([source], beam_size=1, max_decoding_length=LONGEST)[0].hypotheses[0]
    assert len(plain) > 4
    found = model.translate_batch([source], beam_size=1, max_decoding_length=LONGEST, end_token=plain[2])[0]
    assert found.hypotheses == [plain[:2]]
    found = model.translate_batch([source], beam_size=1, end_token=[plain[2]], return_end_token=True)[0]
    assert found.hypotheses == [plain[:3]]
    with pytest.raises(ValueError, match="end_tokens: 'nope' is not a token"):
        model.translate_batch([source], end_token="nope")
    found = model.translate_batch([source], beam_size=1, max_decoding_length=LONGEST,
                                  suppress_sequences=[plain[1:3]])[0].hypotheses[0]
    assert found[:2] == plain[:2] and found[2] != plain[2]
    empty = model.translate_batch([[], ["</s>"]], num_hypotheses=2, return_scores=True)
    assert [one.hypotheses for one in empty] == [[[], []]] * 2 and empty[0].scores == [0.0, 0.0]
    with_end = model.translate_batch([source[:2] + ["</s>"], source], max_input_length=3)
    assert with_end[0] == with_end[1]


def test_attention(model):
    source = ["a1", "a2", "a3"]
    result = model.translate_batch([source], return_attention=True, max_decoding_length=LONGEST)[0]
    weights = numpy.array(result.attention[0])
    assert weights.shape == (len(result.hypotheses[0]), len(source))
    assert weights.sum(1) == pytest.approx(numpy.ones(len(weights)), abs=1e-5)


def test_scores(model):
    sources, targets = [["a1", "a2", "</s>"], ["a3"], []], [["b1"], ["b2", "unheard-of"], ["b3"]]
    found = model.score_batch(sources, targets)
    assert found[0].tokens == ["b1", "</s>"] and found[1].tokens == ["b2", "<unk>", "</s>"]
    assert found[2].log_probs == [0.0, 0.0] and all(x < 0 for x in found[0].log_probs + found[1].log_probs)
    shorter = model.score_batch(sources, targets, offset=1)
    assert shorter[1].log_probs == found[1].log_probs[1:]
    source = records("gated", "stopped")[0]["source"]  # its translations end
    best = model.translate_batch([source], beam_size=5, min_decoding_length=0, return_scores=True, length_penalty=0)[0]
    again = model.score_batch([source], best.hypotheses)[0]
    assert sum(again.log_probs) == pytest.approx(best.scores[0], abs=1e-3)


def test_files_of_lines(model, tmp_path):
    """The lines and counts are those of CTranslate2 4.8.5."""
    source, target, output = (str(tmp_path / name) for name in "sto")
    (tmp_path / "s").write_text("a1 a2 a3\n\na4\n")
    (tmp_path / "t").write_text("b1 b2\nb3\nb5 b6 b7\n")
    stats = model.score_file(source, target, output)
    assert (tmp_path / "o").read_text() == "-3.71387 ||| b1 b2 </s>\n0 ||| b3 </s>\n-4.3947 ||| b5 b6 b7 </s>\n"
    assert (stats.num_tokens, stats.num_examples) == (9, 3)
    model.score_file(source, target, output, with_tokens_score=True, offset=1)
    assert (tmp_path / "o").read_text().splitlines()[::2] == [
        "-4.68621 ||| b2 </s> ||| -4.04766 -5.32476", "-4.33829 ||| b6 b7 </s> ||| -6.78989 -2.70619 -3.51878"]
    assert model.translate_file(source, output, max_decoding_length=4).num_examples == 3


def test_probable_alternatives(model):
    """The alternatives of CTranslate2 4.8.5 for [a1, a2]; it crashes where none is probable enough."""
    options = {"return_alternatives": True, "num_hypotheses": 6, "max_decoding_length": 4, "beam_size": 1, "return_scores": True}
    for least, firsts in ((0, ["b1", "b19", "b20", "b30", "b13", "b7"]), (0.05, ["b1", "b19", "b20", "b30"]), (0.1, ["b1"]), (0.9, ["b1"])):
        found = model.translate_batch([["a1", "a2"]], min_alternative_expansion_prob=least, **options)[0]
        assert [one[0] for one in found.hypotheses] == firsts
        assert found.scores == pytest.approx([-3.235, -4.092, -3.966, -4.318, -4.37, -4.659][: len(firsts)], abs=1e-3)
    found = model.translate_batch([["a1", "a2"]], [["b1"]], min_alternative_expansion_prob=0.05, **options)[0]
    assert [one[1] for one in found.hypotheses] == ["b17", "b7", "b19", "b24"]


@pytest.mark.parametrize("kind, options", [
    (ValueError, {"beam_size": 0}), (ValueError, {"num_hypotheses": 5}), (ValueError, {"patience": 0}),
    (ValueError, {"sampling_topp": 2, "beam_size": 1}), (ValueError, {"min_decoding_length": 9, "max_decoding_length": 3}),
    (ValueError, {"batch_type": "words"}), (ValueError, {"max_decoding_length": 0}), (TypeError, {"beam_size": 1.5}),
    (TypeError, {"beam": 1}), (NotImplementedError, {"prefix_bias_beta": 0.5}),
    (ValueError, {"callback": print}), (NotImplementedError, {"callback": print, "beam_size": 1, "replace_unknowns": True}),
    (NotImplementedError, {"callback": print, "beam_size": 1, "sampling_topk": 0, "num_hypotheses": 2}),
    (NotImplementedError, {"return_alternatives": True, "sampling_topk": 0}),
])
def test_wrong_options(model, kind, options):
    with pytest.raises(kind):
        model.translate_batch([["a1"]], **options)


def test_wrong_inputs(model):
    for value in (["a1 a2"], [[1]], "a1", None):
        with pytest.raises(TypeError):
            model.translate_batch(value)
    with pytest.raises(RuntimeError, match="1 lists for 2 sources"):
        model.translate_batch([["a1"], ["a2"]], [["b1"]])
    with pytest.raises(ValueError, match="different lengths"):
        list(model.translate_iterable([["a1"], ["a2"]], [["b1"]]))
    with pytest.raises(TypeError):
        pickle.dumps(model)
    for name in ("Encoder", "Generator"):
        with pytest.raises(NotImplementedError):
            getattr(ctranslate2, name)("folder")


def test_samples(model):
    options = {"beam_size": 1, "sampling_topk": 0, "num_hypotheses": 3, "max_decoding_length": 8, "return_scores": True}
    ctranslate2.set_random_seed(7)
    first = model.translate_batch([["a1", "a2"]], **options)[0]
    ctranslate2.set_random_seed(7)
    assert model.translate_batch([["a1", "a2"]], **options)[0] == first
    assert first.scores == sorted(first.scores, reverse=True) and len(set(map(tuple, first.hypotheses))) > 1


def test_samples_with_beams(model):
    """Scores of samples do not depend on the temperature: they are the scores of the tokens."""
    options = {"sampling_topk": 5, "sampling_temperature": 2, "max_decoding_length": 8, "min_decoding_length": 0,
               "return_scores": True}
    source = [["a1", "a2"]]
    for beams in (1, 3):
        found = model.translate_batch(source, beam_size=beams, num_hypotheses=2, **options)[0]
        assert len(found.hypotheses) == 2 and found.scores == sorted(found.scores, reverse=True)
        for hypothesis, score in zip(found.hypotheses, found.scores):
            values = model.score_batch(source, [hypothesis])[0].log_probs[:8]  # with the end token, unless it was cut
            assert score == pytest.approx(sum(values) / len(values), abs=1e-3)
    seen = set()
    for seed in range(8):
        ctranslate2.set_random_seed(seed)
        seen.add(tuple(model.translate_batch(source, beam_size=3, **options)[0].hypotheses[0]))
    assert len(seen) > 1


def rows(logits):
    return [[x if x > -1e30 else None for x in numpy.array(step).tolist()] for step in logits]


def test_steps(model):
    """The steps of the callback and the logits are those of CTranslate2."""
    for one in json.loads((FOLDERS / "gated/steps.json").read_text()):
        steps = []
        common = dict(target_prefix=[one["prefix"]], max_decoding_length=8, return_scores=True, **one["options"])
        found = model.translate_batch([one["source"]], beam_size=1, callback=steps.append, return_logits_vocab=True, **common)[0]
        assert found.hypotheses == [one["tokens"]]
        assert [[x.step, x.token, x.token_id, x.is_last] for x in steps] == [x[:3] + x[4:] for x in one["steps"]]
        assert [x.log_prob for x in steps] == pytest.approx([x[3] for x in one["steps"]], abs=1e-3)
        assert [x.batch_id for x in steps] == [x.hypothesis_id for x in steps] == [0] * len(steps)
        assert len(found.logits) == 1 and len(found.logits[0]) == len(one["logits"])
        for step, row, expected in zip(steps, rows(found.logits[0]), one["logits"]):
            compare_rows([row], [expected])
            compare_rows(rows([step.logits]), [expected])


def compare_rows(found, expected):
    for row, values in zip(found, expected):
        assert [x is None for x in row] == [x is None for x in values]
        assert [x or 0 for x in row] == pytest.approx([x or 0 for x in values], abs=2e-3)


def test_logits_of_beams(model):
    """Each hypothesis has a score that agrees with its logits."""
    options = {"beam_size": 3, "num_hypotheses": 3, "max_decoding_length": 8, "return_scores": True, "return_end_token": True}
    found = model.translate_batch([["a1", "a2"], [], ["a3"]], return_logits_vocab=True, **options)
    ids = {token: i for i, token in enumerate(json.loads((FOLDERS / "gated/target_vocabulary.json").read_text()))}
    for result in (found[0], found[2]):
        assert len(result.logits) == 3
        for tokens, score, steps in zip(result.hypotheses, result.scores, result.logits):
            total = 0
            for token, step in zip(tokens, steps, strict=True):
                values = numpy.array(step, numpy.float64)
                total += values[ids[token]] - numpy.log(numpy.exp(values).sum())
            assert total / len(tokens) == pytest.approx(score, abs=1e-4)
    assert found[1].logits == []


def test_callback(model):
    sources = [["a1", "a2", "a3"], [], ["a4", "a5"]]
    plain = model.translate_batch(sources, beam_size=1, max_decoding_length=LONGEST)
    options = {"beam_size": 1, "max_decoding_length": LONGEST, "return_scores": True}
    seen = []
    found = model.translate_batch(sources, callback=lambda step: seen.append(step) or (step.batch_id == 2 and step.step == 1),
                                  **options)
    assert found[0].hypotheses == plain[0].hypotheses and found[2].hypotheses == [plain[2].hypotheses[0][:2]]
    assert {step.batch_id for step in seen} == {0, 2} and sum(step.batch_id == 2 for step in seen) == 2
    assert found[2].scores[0] == pytest.approx(sum(s.log_prob for s in seen if s.batch_id == 2) / 2, abs=1e-5)
    with pytest.raises(ZeroDivisionError):
        model.translate_batch(sources, callback=lambda step: 1 / 0, **options)
    later = model.translate_batch(sources, callback=lambda step: 1 / 0, asynchronous=True, **options)
    for one in later:
        with pytest.raises(ZeroDivisionError):
            one.result()


def test_generate_tokens(model):
    source = ["a1", "a2", "a3"]
    whole = model.translate_batch([source], beam_size=1, max_decoding_length=LONGEST, return_end_token=True)[0].hypotheses[0]
    steps = list(model.generate_tokens(source, max_decoding_length=LONGEST, return_log_prob=True))
    assert [step.token for step in steps] == whole and [step.step for step in steps] == list(range(len(whole)))
    assert [step.is_last for step in steps] == [False] * (len(whole) - 1) + [True]
    assert all(step.log_prob < 0 for step in steps)
    assert [step.token for step in itertools.islice(model.generate_tokens(source), 2)] == whole[:2]
    assert next(model.generate_tokens(source)).log_prob is None
    assert next(model.generate_tokens(source, ["b1", "b2"])).token == "b1"
    assert list(model.generate_tokens([])) == []
    with pytest.raises(ValueError):
        next(model.generate_tokens(source, max_decoding_length=0))


@long_test
def test_loading(tmp_path):
    files = {path.name: path.read_bytes() for path in (FOLDERS / "gated").iterdir() if "json" not in path.suffix}
    files.update({path.name: path.open("rb") for path in (FOLDERS / "gated").glob("*.json")})
    memory = ctranslate2.Translator("memory", files=files, compute_type={"cpu": "float32"})
    plain = load("gated")
    assert memory.translate_batch([["a1"]]) == plain.translate_batch([["a1"]])
    assert (plain.device, plain.device_index, plain.compute_type) == ("cpu", [0], "float32")
    plain.unload_model()
    assert not plain.model_is_loaded
    with pytest.raises(RuntimeError, match="was unloaded"):
        plain.translate_batch([["a1"]])
    plain.load_model()
    assert memory.translate_batch([["a1"]]) == plain.translate_batch([["a1"]])
    for kind, arguments in ((TypeError, {"files": [1]}), (TypeError, {"files": {"model.bin": 1}}), (RuntimeError, {"files": {}}),
                            (ValueError, {"files": {"../x": b""}})):
        with pytest.raises(kind):
            ctranslate2.Translator("memory", **arguments)
    for arguments in ({"device": "cuda:0"}, {"compute_type": "float64"}, {"device_index": 1}):
        with pytest.raises(ValueError):
            ctranslate2.Translator(str(FOLDERS / "gated"), **arguments)
    with pytest.raises(RuntimeError):
        ctranslate2.Translator(str(tmp_path))
    assert ctranslate2.contains_model(str(FOLDERS / "gated")) and not ctranslate2.contains_model(str(tmp_path))


@long_test
@pytest.mark.parametrize("name, runs_as", [
    ("default", "float32"), ("auto", "int8_float32"), ("int8", "int8_float32"), ("int8_float16", "int8_float32"),
    ("float16", "float16"), ("bfloat16", "bfloat16"), ({"cpu": "int8_float32", "cuda": "float16"}, "int8_float32"),
])
def test_compute_types(model, caplog, name, runs_as):
    caplog.set_level("INFO", "ctranslate2")
    translator = ctranslate2.Translator(str(FOLDERS / "gated"), compute_type=name)
    assert translator.compute_type == runs_as
    assert f"compute type {name!r} runs as {runs_as}" in caplog.text
    source, target = [["a1", "a2", "a3"]], [["b1", "b2"]]
    expected = model.score_batch(source, target)[0].log_probs
    found = translator.score_batch(source, target)[0].log_probs
    assert found == pytest.approx(expected, abs=1e-5 if runs_as == "float32" else 0.3)
    if runs_as == "int8_float32":
        assert found != expected
    whisper = ctranslate2.models.Whisper(SPEECH, compute_type=name)  # float16 weights
    assert whisper.compute_type == runs_as
    windows = make_windows(1)
    encoded = whisper.encode(ctranslate2.StorageView.from_array(windows))
    plain = ctranslate2.models.Whisper(SPEECH, compute_type="float32").encode(ctranslate2.StorageView.from_array(windows))
    assert encoded.dtype.name == (runs_as if runs_as in ("float16", "bfloat16") else "float32")
    difference = numpy.array(encoded.to(ctranslate2.DataType.float32)) - numpy.array(plain)
    assert abs(difference).mean() < 0.05
    assert whisper.generate(encoded, [[263, 264, 268]], max_length=16)[0].sequences_ids[0]


def test_default_compute_type():
    """As in CTranslate2, the default is the stored type where the device computes with it."""
    types = ctranslate2.DataType
    choose = ctranslate2._common.choose_precision
    has_fp16 = clformer.devices()[0].has_fp16
    for stored, device, precision in ((types.float16, "cuda", "fp16" if has_fp16 else None), (types.bfloat16, "cuda", "bf16"),
                                      (types.float16, "cpu", None), (types.bfloat16, "cpu", None), (types.int8, "cuda", None),
                                      (None, "cuda", None)):
        assert choose("default", device, None, stored) == precision
    assert choose("float32", "cuda", None, types.float16) == "fp32"
    kind = ctranslate2._model.read_kind
    assert kind(SPEECH) == ("WhisperSpec", types.float16) and kind(str(FOLDERS / "gated"))[1] is types.bfloat16
    assert kind("/missing") == ("unknown", None)


def test_storage():
    values = numpy.arange(6, dtype=numpy.float32).reshape(2, 3)
    view = ctranslate2.StorageView.from_array(values)
    values[0, 0] = 9
    assert view.shape == [2, 3] and numpy.array(view)[0, 0] == 9 and view.dtype == ctranslate2.DataType.float32
    half = view.to(ctranslate2.DataType.bfloat16)
    with pytest.raises(RuntimeError):
        numpy.array(half)
    assert numpy.array_equal(numpy.array(half.to(ctranslate2.DataType.float32)), values)
    frozen = numpy.zeros(3, numpy.float32)
    frozen.flags.writeable = False
    for wrong in (numpy.zeros(2), numpy.zeros(2, numpy.int64), values.T, [1.0], frozen):
        with pytest.raises(ValueError):
            ctranslate2.StorageView.from_array(wrong)
    with pytest.raises(TypeError):
        ctranslate2.StorageView()


def test_surface():
    assert ctranslate2.__version__.startswith("4.")
    assert {"float32", "int8"} <= ctranslate2.get_supported_compute_types("cpu")
    assert isinstance(ctranslate2.get_cuda_device_count(), int)
    with pytest.raises(ValueError):
        ctranslate2.set_log_level(15)
    with pytest.raises(ValueError):
        ctranslate2.get_supported_compute_types("foo")
    assert list(itertools.islice(map(int, ctranslate2.DataType), 3)) == [0, 1, 2]
