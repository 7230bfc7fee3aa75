"""Translating, scoring and attention: results equal those of the command; wrong arguments are refused."""

import json
import subprocess
import warnings

import numpy
import pytest

import clformer
from clformer.command import COMMAND
from conftest import MODEL, ROOT, SMALL, flags_of


def command(*words, lines):
    text = "".join(line + "\n" for line in lines)
    done = subprocess.run([COMMAND, *words, "-m", MODEL], input=text, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_equals_the_command(translator, french):
    assert [str(x) for x in translator.translate_batch(french[:20])] == command("translate", lines=french[:20])
    assert translator.translate(french[0]) == command("translate", lines=french[:1])[0]
    assert translator.translate("") == ""
    options = {"beam": 3, "n_best": 2, "length_penalty": 0.6, "alignments": True}
    expected = command("translate", "--beam", "3", "--n-best", "2", "--length-penalty", "0.6", "--alignments", "--json",
                       lines=french[:3])
    for line, found in zip(expected, translator.translate_batch(french[:3], **options)):
        for one, other in zip(json.loads(line)["n_best"], found.hypotheses):
            assert one["text"] == other.text and one["score"] == pytest.approx(other.score, rel=1e-6)
            assert other.tokens[-1] == "</s>" and len(other.tokens) == len(other.ids) == len(other.alignment)


def test_every_option(translator):
    """Every flag of the command that sets an option of the library is a keyword argument."""
    flags = flags_of("translate")
    others = {"help", "model", "device", "variant", "gemm", "attention", "instructions", "precision", "json", "quiet",
              "verbose", "output", "resume", "stream", "no_sample", "batch_tokens", "target_prefix", "target_prefix_file",
              "format", "elements", "inline_elements", "encoding", "all", "do_not_translate", "memory", "subtitle_width",
              "reading_speed", "draft"}
    known = set(clformer.options.TranslateOptions.__annotations__)
    assert flags - others == known - {"priority", "banned_sequences", "end_tokens"}
    base = translator.translate("Je suis étudiant")
    assert translator.translate("Je suis étudiant", suppress=["▁student"], beam=1) != base
    assert translator.translate("Je suis étudiant", forced_first="▁You", beam=1).startswith("You")
    assert translator.translate("Je suis étudiant", sample=True, top_k=1, beam=1, seed=3) == "I'm a student."
    assert translator.translate("Je suis étudiant", early_stopping=True, length_rule="gnmt", priority="bulk")
    assert translator.translate("▁Je ▁suis ▁étudiant", tokens=True) != ""
    assert len(translator.translate_batch(["Merci"], alternatives=3)[0].hypotheses) == 3


def test_glossary(translator, tmp_path):
    """Translations contain the terms of a glossary, in lines, streams and documents."""
    path = tmp_path / "terms.tsv"
    path.write_text("gare\trailway depot\nclés\tpasskeys\n")
    found = translator.translate_batch(["Où est la gare ?", "Merci", "J'ai perdu mes clés."], glossary=path)
    assert "railway depot" in found[0].text and "passkeys" in found[2].text
    assert found[1] == translator.translate_batch(["Merci"])[0]
    assert [line.missing_terms for line in found] == [(), (), ()]
    assert "passkeys" in "".join(translator.stream("J'ai perdu mes clés.", glossary=str(path)))
    assert b"railway depot" in translator.translate_document("La gare.\n".encode(), format="text", glossary=path)
    with pytest.warns(clformer.LineWarning, match="line 0: its translation lacks terms of the glossary: railway depot"):
        assert translator.translate_batch(["La gare."], glossary=path, max_length=2)[0].missing_terms == ("railway depot",)
    path.write_text("gare\n")
    with pytest.raises(clformer.Error, match="terms.tsv:1: has no tab"):
        translator.translate("La gare.", glossary=path, beam=2)
    with pytest.raises(FileNotFoundError):
        translator.translate("La gare.", glossary=tmp_path / "none")
    assert translator.translate("Merci", glossary=None) == translator.translate("Merci")


def test_document(translator):
    """Documents are translated as by `clformer translate FILE`."""
    srt = "1\r\n00:00:01,000 --> 00:00:01,200\r\n- Tu viens <i>demain</i> ?\r\n- Non, je suis malade.\r\n".encode()
    expected = b"1\r\n00:00:01,000 --> 00:00:01,200\r\n- Are you coming <i>tomorrow</i>?\r\n- No, I'm sick.\r\n"
    with pytest.warns(clformer.LineWarning, match="film.srt: 1 subtitle to be read faster than 21 characters"):
        assert translator.translate_document(srt, name="film.srt") == expected
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert translator.translate_document(srt, format="srt", reading_speed=0, subtitle_width=0, beam=4) == expected
    xml = "<r><a>Merci.</a><b>Je suis étudiant.<i>Merci.</i></b></r>".encode()
    assert translator.translate_document(xml, format="xml", elements="b", inline_elements="none") == \
        b"<r><a>Merci.</a><b>I'm a student.<i>Thanks.</i></b></r>"
    text = "Merci\nJe suis étudiant\n"
    memory = b"<tmx><tu><tuv xml:lang='fr'><seg>Merci</seg></tuv><tuv xml:lang='en'><seg>Thank you.</seg></tuv></tu></tmx>"
    assert translator.translate_document(text.encode("latin-1"), format="text", encoding="latin-1", memory=memory) == \
        b"Thank you.\nI'm a student.\n"
    assert translator.translate_document(text.encode(), format="text", do_not_translate=["Merci"]) == \
        b"Merci\nI'm a student.\n"
    po = 'msgid "Merci."\nmsgstr "x"\n'.encode()
    assert translator.translate_document(po, format="po") == po
    assert translator.translate_document(po, format="po", all=True) == b'msgid "Merci."\nmsgstr "Thanks."\n'
    with pytest.raises(TypeError, match="memory: must be bytes"):
        translator.translate_document(po, format="po", memory="<tmx/>")
    with pytest.raises(clformer.Error, match="the formats are text"):
        translator.translate_document(srt, name="film.xyz", format="xyz")
    with pytest.raises(clformer.Error, match="a.srt: line 2: "):
        translator.translate_document(b"1\n00:00:01,000 -> 00:00:02,000\nOui\n", name="a.srt")
    with pytest.raises(TypeError, match="must be bytes"):
        translator.translate_document("Oui", format="text")


def test_languages_of_documents(translator):
    """The languages of TMX and of translation memories are those of the translator, or of a call to a model of one pair."""
    tmx = b"<tmx><header srclang='en'/><body><tu><tuv xml:lang='en'><seg>Hello.</seg></tuv>%s</tu></body></tmx>"
    memory = tmx % b"<tuv xml:lang='de'><seg>Hallo.</seg></tuv><tuv xml:lang='fr'><seg>Bonjour.</seg></tuv>"
    several = clformer.Translator(ROOT / "tests/fixtures/models/m2m100-text", source_language="en", target_language="fr")
    assert several.translate_document(tmx % b"", format="tmx", memory=memory) == \
        tmx % b'<tuv xml:lang="fr"><seg>Bonjour.</seg></tuv>'
    pair = {"source_language": "fr", "target_language": "en"}
    french = b"<tmx><body><tu><tuv xml:lang='fr'><seg>Merci.</seg></tuv>%s</tu></body></tmx>"
    assert translator.translate_document(french % b"", format="tmx", **pair) == \
        french % b'<tuv xml:lang="en"><seg>Thanks.</seg></tuv>'
    memory = french % b"<tuv xml:lang='de'><seg>Danke.</seg></tuv><tuv xml:lang='en'><seg>Cheers.</seg></tuv>"
    assert translator.translate_document(b"Merci.\n", format="text", memory=memory, **pair) == b"Cheers.\n"
    with pytest.raises(clformer.Error, match="language"):
        translator.translate_document(b"Merci.\n", format="text", **pair)


def test_kinds_of_lists(translator, french):
    expected = [str(x) for x in translator.translate_batch(french[:4])]

    class Arrow:
        def to_pylist(self):
            return french[:4]

    for lines in (tuple(french[:4]), iter(french[:4]), numpy.array(french[:4]), numpy.array(french[:4], object), Arrow()):
        assert [str(x) for x in translator.translate_batch(lines)] == expected
    assert [str(x) for x in translator.translate_lines(iter(french[:4]))] == expected
    assert translator.translate_batch([]) == []
    many = (line for _ in range(100) for line in french[:7])
    assert [str(x) for x in translator.translate_lines(many, beam=1)] == [
        str(x) for x in translator.translate_batch(french[:7], beam=1)] * 100


def test_arrow(translator, french):
    pyarrow = pytest.importorskip("pyarrow")
    expected = [str(x) for x in translator.translate_batch(french[:4])]
    assert [str(x) for x in translator.translate_batch(pyarrow.array(french[:4]))] == expected
    assert [str(x) for x in translator.translate_batch(pyarrow.chunked_array([french[:2], french[2:4]]))] == expected


def test_prefixes(translator):
    found = translator.translate_batch(["Je suis étudiant"] * 2, target_prefix=["I am", ""])
    assert [str(x) for x in found] == ["I am a student.", "I'm a student."]
    with pytest.raises(clformer.ArgumentError, match="target_prefix: has 1 strings for 2 lines"):
        translator.translate_batch(["a", "b"], target_prefix=["I am"])


def test_stream(translator, french):
    for line in french[:5]:
        parts = list(translator.stream(line))
        assert "".join(parts) == translator.translate(line, beam=1) and len(parts) > 1
    parts = translator.stream(french[0])
    next(parts)
    parts.close()
    assert translator.translate("Je suis étudiant") == "I'm a student."


def test_score(translator, french):
    english = [str(x) for x in translator.translate_batch(french[:5])]
    found = translator.score_batch(french[:5], english)
    best = [x.hypotheses[0].log_probability for x in translator.translate_batch(french[:5])]
    assert [x.log_probability for x in found] == pytest.approx(best, abs=1e-3)
    for one in found:
        assert one.token_log_probabilities.dtype == numpy.float32
        assert one.token_log_probabilities.sum() == pytest.approx(one.log_probability, abs=1e-4)
    assert translator.score(french[0], english[0]).ids == found[0].ids
    with pytest.raises(ValueError, match="targets: has 1 strings for 2 sources"):
        translator.score_batch(["a", "b"], ["a"])


def test_attention(translator):
    maps = translator.attention("Je suis étudiant")
    sources, targets = len(maps.source_tokens), len(maps.target_tokens)
    assert maps.encoder.shape == (3, 6, sources, sources) and maps.decoder.shape == (3, 6, targets, targets)
    assert maps.cross.shape == (3, 6, targets, sources)
    for part in (maps.encoder, maps.decoder, maps.cross):
        assert part.dtype == numpy.float32 and numpy.allclose(part.sum(-1), 1, atol=1e-4)
    assert maps.target == "I'm a student." and "</s>" in maps.source_tokens
    page = maps.to_html()
    assert "@" not in page.split("<body")[0].replace("@media", "") and "étudiant" in page
    assert maps._repr_html_().startswith("<iframe srcdoc=") and "prefers-color-scheme: dark" in page
    done = subprocess.run([COMMAND, "attend", "-m", MODEL, "-o", "-", "Je suis étudiant"], capture_output=True, text=True,
                          check=True)
    assert page == done.stdout


WRONG = [
    (lambda t: t.translate(3), TypeError, "must be a string, not int"),
    (lambda t: t.translate_batch("Merci"), TypeError, "must be a list of strings, not one str"),
    (lambda t: t.translate_batch(["a", None]), TypeError, r"lines\[1\]: must be a string, not NoneType"),
    (lambda t: t.translate("a", bem=3), TypeError, "unexpected keyword argument 'bem'"),
    (lambda t: t.translate("a", beam=1.5), TypeError, "beam: must be a whole number, not float"),
    (lambda t: t.translate("a", length_penalty="1"), TypeError, "length_penalty: must be a number, not str"),
    (lambda t: t.translate("a", beam=0), clformer.ArgumentError, "beam size: 0 is out of range"),
    (lambda t: t.translate("a", beam=2**40), ValueError, "beam: must be from"),
    (lambda t: t.translate("a", length_rule="x"), ValueError, "length_rule: must be one of huggingface, gnmt"),
    (lambda t: t.translate("a", top_k=3), ValueError, "top_k: requires sampling"),
    (lambda t: t.translate("a", forced_first="zzzz"), ValueError, "forced_first: 'zzzz' is not a token"),
    (lambda t: t.translate("a", alignment_layer=1), ValueError, "alignment_layer: requires alignments"),
    (lambda t: t.translate("a", target_language="de"), ValueError, "language"),
    (lambda t: list(t.stream("a", beam=4)), ValueError, "beam"),
    (lambda t: clformer.Translator("/missing"), FileNotFoundError, "/missing: no such folder"),
    (lambda t: clformer.Translator(str(ROOT / "lib")), clformer.Error, "lib"),
    (lambda t: clformer.Translator(MODEL, device="none such"), clformer.MissingDeviceError, "none such"),
    (lambda t: clformer.Translator(MODEL, precision="fp8"), ValueError, "precision: must be one of auto, fp32"),
    (lambda t: clformer.Translator(MODEL, beam=0), ValueError, "beam"),
]


@pytest.mark.parametrize("call, kind, message", WRONG)
def test_wrong_arguments(translator, call, kind, message):
    with pytest.raises(kind, match=message) as caught:
        call(translator)
    assert isinstance(caught.value, (clformer.Error, TypeError))


def test_warnings(translator):
    with pytest.warns(clformer.LineWarning, match="line 1: is too long for the model"):
        found = translator.translate_batch(["Merci", "Merci " * 600], beam=1, max_length=8)
    assert found[1].cut_from > 600 and found[1].text != "" and found[0].cut_from == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        translator.translate_batch(["Merci", ""], beam=1)


def test_defaults_and_precision(french):
    precision = "fp32" if SMALL else "int8"  # other kernels, which take half a minute to compile
    with clformer.Translator(MODEL, "cpu", precision, beam=1) as translator:
        expected = command("translate", "--precision", precision, "--beam", "1", lines=french[:5])
        assert [str(x) for x in translator.translate_batch(french[:5])] == expected
    with pytest.raises(clformer.ClosedError, match="is closed"):
        translator.translate("Merci")
    translator.close()
    assert clformer.devices()[0].kind in ("cpu", "gpu", "other")
