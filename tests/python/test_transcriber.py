"""Transcribing: results equal those of the command."""

import io
import json
import subprocess
from concurrent.futures import ThreadPoolExecutor

import numpy
import pytest

import clformer
from clformer.command import COMMAND
from conftest import MODEL, ROOT, WHISPER, flags_of, write_wave

OPTIONS = {"beam": 1, "temperature": [0], "no_speech_threshold": None}


@pytest.fixture(scope="module")
def transcriber():
    with clformer.Transcriber(WHISPER, **OPTIONS) as transcriber:
        yield transcriber


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    path = tmp_path_factory.mktemp("recording") / "talk.wav"
    write_wave(path, 32)
    return path


def test_equals_the_command(transcriber, recording):
    flags = ["--beam", "1", "--temperature", "0", "--temperature-increment-on-fallback", "0", "--no-speech-threshold", "none",
             "--word-timestamps"]
    words = [COMMAND, "transcribe", "-m", WHISPER, "--format", "json", *flags, recording]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    expected = json.loads(done.stdout)
    found = transcriber.transcribe(recording, word_timestamps=True)
    assert found.duration == 32 and found.language is None
    segments = list(found)
    assert found.language == expected["language"]
    assert len(segments) == len(expected["segments"]) > 0
    for one, other in zip(segments, expected["segments"]):
        assert (one.seek, one.text, one.tokens) == (other["seek"], other["text"], other["tokens"])
        assert (one.start, one.end) == pytest.approx((other["start"], other["end"]))
        assert [word.word for word in one.words] == [word["word"] for word in other["words"]]
    assert json.loads(found.write("json")) == expected
    assert [segment.id for segment in segments] == list(range(1, len(segments) + 1))


def test_language_of_segments(transcriber, recording):
    assert {segment.language for segment in transcriber.transcribe(recording)} == {None}
    flags = ["--beam", "1", "--temperature", "0", "--temperature-increment-on-fallback", "0", "--no-speech-threshold", "none",
             "--multilingual"]
    words = [COMMAND, "transcribe", "-m", WHISPER, "--format", "json", *flags, recording]
    expected = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)["segments"]
    found = list(transcriber.transcribe(recording, multilingual=True))
    assert [segment.language for segment in found] == [segment["language"] for segment in expected]
    assert all(segment.language for segment in found)


def test_every_option():
    """Every flag of the command that sets an option of the library is a keyword argument."""
    others = {"help", "model", "device", "variant", "gemm", "attention", "instructions", "precision", "quiet", "verbose",
              "output", "format", "raw", "follow", "step", "unstable", "batch", "highlight_words", "max_line_width", "max_line_count", "max_words_per_line"}
    assert flags_of("transcribe") - others == set(clformer.TranscribeOptions.__annotations__)


def test_kinds_of_audio(transcriber, recording):
    expected = list(transcriber.transcribe(str(recording)))
    assert expected and expected[0].words is None
    data = recording.read_bytes()
    samples = numpy.frombuffer(data[44:], numpy.int16)
    raw = recording.parent / "talk.raw"
    raw.write_bytes(data[44:])
    for audio in (data, bytearray(data), io.BytesIO(data), samples, samples.astype(numpy.float32) / 32768,
                  samples.astype(numpy.float64)[:: 1] / 32768):
        assert list(transcriber.transcribe(audio)) == expected
    assert list(transcriber.transcribe(raw, raw=16000)) == expected


def test_threads(transcriber, recording):
    clips = [[0, 1], [1, 2], [2, 4]]
    expected = [list(transcriber.transcribe(recording, clip=clip)) for clip in clips]
    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(lambda clip: list(transcriber.transcribe(recording, clip=clip)), clips)) == expected
    parts = [transcriber.transcribe(recording, clip=clip) for clip in clips]
    assert [list(part) for part in parts] == expected


def test_ends_early(transcriber, recording):
    parts = transcriber.transcribe(recording)
    next(parts)
    parts.close()
    assert list(parts) == []
    assert len(list(transcriber.transcribe(recording, clip=[0, 1]))) > 0
    with pytest.raises(clformer.ClosedError, match="is closed"):
        parts.write("srt")
    del parts


@pytest.mark.parametrize("call, kind, message", [
    (lambda t: t.transcribe("/missing.wav"), FileNotFoundError, "/missing.wav: "),
    (lambda t: t.transcribe(b"not a recording"), clformer.FormatError, "^audio: not a supported recording"),
    (lambda t: t.transcribe(numpy.zeros((2, 3))), ValueError, "must have one axis"),
    (lambda t: t.transcribe(numpy.zeros(3, int)), TypeError, "float or int16 samples"),
    (lambda t: t.transcribe(numpy.zeros(16000), lang="en"), TypeError, "unexpected keyword argument 'lang'"),
    (lambda t: t.transcribe(numpy.zeros(16000), task="x"), ValueError, "task: must be one of transcribe, translate"),
    (lambda t: list(t.transcribe(numpy.zeros(16000), language="xx")), ValueError, "xx"),
    (lambda t: list(t.transcribe(numpy.full(16000, numpy.nan))), clformer.FormatError, "NaN"),
    (lambda t: clformer.Transcriber(MODEL), NotImplementedError, "text model"),
    (lambda t: clformer.Transcriber(WHISPER, beam=0), ValueError, "beam"),
])
def test_wrong_arguments(transcriber, call, kind, message):
    with pytest.raises(kind, match=message):
        call(transcriber)


@pytest.mark.parametrize("name", ["tone.m4a", "tone.webm", "tone.wma", "tone.aac", "film.mp4"])
def test_pyav(name):
    """clformer[audio] decodes what the ffmpeg command decodes: samples 8000 to 9600 are in the file .f32."""
    pytest.importorskip("av")
    path = ROOT / "tests/fixtures/audio" / name
    samples = clformer.transcriber.decode_by_pyav(str(path), clformer.FormatError("x"))
    expected = numpy.fromfile(f"{path}.f32", numpy.float32)
    assert numpy.abs(samples[8000:9600] - expected).max() < 0.01


def test_not_audio():
    pytest.importorskip("av")
    for path in (ROOT / "README.md", ROOT / "tests/fixtures/audio/silent.mp4"):
        with pytest.raises(clformer.FormatError, match="^x$"):
            clformer.transcriber.decode_by_pyav(str(path), clformer.FormatError("x"))


def test_closed(recording):
    transcriber = clformer.Transcriber(WHISPER, **OPTIONS)
    parts = transcriber.transcribe(numpy.random.default_rng(1).standard_normal(16000 * 600))
    next(parts)
    transcriber.close()
    with pytest.raises(clformer.ClosedError, match="was closed during the call"):
        list(parts)
    with pytest.raises(clformer.ClosedError, match="is closed"):
        transcriber.transcribe(recording)
