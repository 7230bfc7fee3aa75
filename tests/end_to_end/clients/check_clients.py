"""Programs that use LibreTranslate, OpenAI, DeepL, whisper-asr-webservice or Wyoming get the answers that they expect from
`clformer serve`.

  check_clients.py PORT WYOMING_PORT CLFORMER TEXT_MODEL SPEECH_MODEL [TEST...]

The server has both models: one from French to English, and one for speech. WYOMING_PORT is that of --wyoming. The Python packages are those of requirements.txt.
Programs that are no packages are represented by their requests.
"""
import array
import asyncio
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import wave

import deepl
import libretranslatepy
import openai
import requests
from deep_translator import LibreTranslator
from deep_translator.exceptions import ServerException
from wyoming.asr import Transcribe, Transcript
from wyoming.audio import AudioStart, AudioStop, wav_to_chunks
from wyoming.client import AsyncClient
from wyoming.info import Describe, Info
from wyoming.ping import Ping, Pong

PORT, WYOMING_PORT, CLFORMER, TEXT_MODEL, SPEECH_MODEL = sys.argv[1:6]
ADDRESS = f"http://127.0.0.1:{PORT}"
LINES = (pathlib.Path(TEXT_MODEL) / "work.txt").read_text(encoding="utf8").splitlines()
TRANSLATIONS = []  # of LINES, by the command
RATE = 16000


def command(*words, text=None):
    return subprocess.run([CLFORMER, *map(str, words)], input=text, capture_output=True, text=True, check=True).stdout


def translate_lines():
    return command("translate", "-m", TEXT_MODEL, "-q", "--split-sentences", text="".join(f"{line}\n" for line in LINES)).splitlines()


def equal(found, expected):
    assert found == expected, f"{found!r} instead of {expected!r}"


# ---- translation ----

def test_curl():
    def curl(path, *words):
        words = ["curl", "--silent", "--show-error", "--fail-with-body", "--max-time", "60", ADDRESS + path, *words]
        return json.loads(subprocess.run(words, capture_output=True, text=True, check=False).stdout)
    fields = ["-d", "source=fr", "-d", "target=en"]
    expected = {"translatedText": TRANSLATIONS[0]}
    equal(curl("/translate", "--data-urlencode", f"q={LINES[0]}", *fields), expected)
    equal(curl("/translate", "-F", f"q={LINES[0]}", "-F", "source=fr", "-F", "target=en"), expected)
    body = json.dumps({"q": LINES[0], "source": "fr", "target": "en"})
    equal(curl("/translate", "-H", "Content-Type: application/json", "-d", body), expected)
    equal(curl("/translate", "-H", "Content-Type: application/json", "-H", "Expect: 100-continue", "-H", "Transfer-Encoding: chunked",
               "-d", body), expected)
    equal(curl("/translate", "-d", "q=a", "-d", "source=xx", "-d", "target=en"), {"error": "xx is not supported"})
    equal(curl("/health"), {"status": "ok"})


def test_libretranslatepy():
    api = libretranslatepy.LibreTranslateAPI(ADDRESS)
    equal(api.languages(), [{"code": "en", "name": "English", "targets": ["en"]},
                            {"code": "fr", "name": "French", "targets": ["en", "fr"]}])
    equal([api.translate(line, "fr", "en") for line in LINES[:3]], TRANSLATIONS[:3])
    try:
        equal(api.detect("Bonjour tout le monde, comment allez-vous ?")[0]["language"], "fr")
    except libretranslatepy.api.request.HTTPError as error:
        equal(error.code, 501)  # built without language detection


def test_deep_translator():
    """Sends everything in the query, and an empty body."""
    api = LibreTranslator(source="fr", target="en", api_key="any", custom_url=ADDRESS + "/")
    equal(api.translate(LINES[0]), TRANSLATIONS[0])
    equal(api.translate_batch(LINES[:3]), TRANSLATIONS[:3])
    try:
        LibreTranslator(source="en", target="fr", api_key="any", custom_url=ADDRESS + "/").translate("Yes.")
        raise AssertionError("an error was expected")
    except ServerException:
        pass


def test_weblate():
    """Both languages must be listed; up to 20 texts give as many translations. It shows `error`."""
    session = requests.Session()
    languages = session.get(ADDRESS + "/languages", timeout=20).json()
    assert {"fr", "en"} <= {one["code"] for one in languages}
    lines = (LINES * 20)[:20]
    fields = {"api_key": "", "q": lines, "source": "fr", "target": "en"}
    answer = session.post(ADDRESS + "/translate", json=fields, timeout=20)
    equal(answer.status_code, 200)
    equal(answer.json()["translatedText"], (TRANSLATIONS * 20)[:20])
    answer = session.post(ADDRESS + "/translate", json={**fields, "target": "de"}, timeout=20)
    assert answer.status_code not in (401, 403, 429, 456, 503)  # they make Weblate ignore the server
    equal((answer.status_code, answer.json()["error"]), (400, "de is not supported"))


def test_mastodon():
    """Sends HTML with protected emoji, and empty texts; `targets` is required."""
    session = requests.Session()
    session.headers["User-Agent"] = "Mastodon/4.5"
    assert "en" in {one["code"]: one["targets"] for one in session.get(ADDRESS + "/languages", timeout=20).json()}["fr"]
    smile = '<span translate="no">:smile:</span>'
    fields = {"q": [f"<p>Merci beaucoup. {smile}</p>", "", "<p>Merci. <code>a &amp;&lt; b</code></p>"], "source": "fr",
              "target": "en", "format": "html", "api_key": None}
    answer = session.post(ADDRESS + "/translate", json=fields, timeout=20)
    if answer.status_code == 400 and answer.json() == {"error": "html format is not supported"}:
        print(" (built without HTML)", end="")
        return
    equal(answer.status_code, 200)
    texts = answer.json()["translatedText"]
    equal([len(texts), texts[1]], [3, ""])
    assert texts[0].startswith("<p>") and texts[0].endswith("</p>") and smile in texts[0] and "Thank you very much." in texts[0], texts
    equal(texts[2], "<p>Thanks. <code>a &amp;&lt; b</code></p>")


def test_deepl():
    api = deepl.Translator("any:fx", server_url=ADDRESS)
    results = api.translate_text(LINES[:3], source_lang="FR", target_lang="EN-US")
    equal([one.text for one in results], TRANSLATIONS[:3])


# ---- speech ----

def write_sound(path):
    """Writes two seconds of a tone that becomes higher, and returns its samples."""
    tone = array.array("h", (int(8000 * math.sin(0.1 * i * (1 + i / 20000))) for i in range(2 * RATE)))
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, RATE, 0, "NONE", ""))
        file.writeframes(tone.tobytes())
    return tone.tobytes()


def transcribe(sound, *words):
    """Returns the folder with the command's transcripts."""
    out = sound.parent / f"out{len(list(sound.parent.iterdir()))}"
    command("transcribe", "-m", SPEECH_MODEL, "-q", "--format", "all", "-o", out, *words, sound)
    return out


def test_openai():
    """Temperature 1 has no other temperature to fall back to, which saves time."""
    client = openai.OpenAI(api_key="any", base_url=f"{ADDRESS}/v1", max_retries=0)
    with tempfile.TemporaryDirectory() as folder:
        sound = pathlib.Path(folder) / "sound.wav"
        write_sound(sound)
        out = transcribe(sound, "--temperature", "1")
        expected = json.loads((out / "sound.json").read_text(encoding="utf8"))

        def create(**options):
            return client.audio.transcriptions.create(file=sound, model="whisper-1", temperature=1, **options)

        equal(create().text, expected["text"].strip())
        equal(create(response_format="srt"), (out / "sound.srt").read_text(encoding="utf8"))
        verbose = create(response_format="verbose_json", timestamp_granularities=["segment"])
        equal([one.text for one in verbose.segments], [one["text"] for one in expected["segments"]])
        equal(verbose.duration, 2)
        events = list(create(stream=True))
        equal({one.type for one in events[:-1]}, {"transcript.text.delta"})
        equal(events[-1].type, "transcript.text.done")
        equal("".join(one.delta for one in events[:-1]), events[-1].text)
        english = client.audio.translations.create(file=sound, model="whisper-1", temperature=1)
        assert isinstance(english.text, str)
    equal([one.id for one in client.models.list()], [pathlib.Path(SPEECH_MODEL).name])
    try:
        client.audio.transcriptions.create(file=("a.wav", b"no sound"), model="whisper-1")
        raise AssertionError("an error was expected")
    except openai.BadRequestError as error:
        equal(error.type, "invalid_request_error")


def test_bazarr():
    """Raw samples in a part without a type; any body would be saved as a subtitle."""
    with tempfile.TemporaryDirectory() as folder:
        sound = pathlib.Path(folder) / "sound.wav"
        samples = write_sound(sound)
        out = transcribe(sound, "--language", "en")
        files = {"audio_file": samples}
        answer = requests.post(f"{ADDRESS}/asr", params={"task": "transcribe", "language": "en", "output": "srt", "encode": "false",
                                                         "video_file": "/tv/a b.mkv"}, files=files, timeout=(5, 3600))
        equal(answer.text, (out / "sound.srt").read_text(encoding="utf8"))
        answer = requests.post(f"{ADDRESS}/detect-language", params={"encode": "false"}, files=files, timeout=(5, 3600)).json()
        assert answer["language_code"] and answer["detected_language"], answer


async def ask_wyoming(*events):
    """Sends events, and returns the next event of the server."""
    async with AsyncClient.from_uri(f"tcp://127.0.0.1:{WYOMING_PORT}", read_timeout=600) as client:
        for event in events:
            await client.write_event(event.event())
        return await client.read_event()


def test_wyoming():
    """The dialogue of Home Assistant: it asks for the models, then opens a connection for each utterance."""
    info = asyncio.run(ask_wyoming(Describe()))
    assert Info.is_type(info.type), info
    program = Info.from_event(info).asr[0]
    assert program.installed and program.attribution.name and not program.supports_transcript_streaming, program
    equal([(model.name, model.installed) for model in program.models], [(pathlib.Path(SPEECH_MODEL).name, True)])
    assert {"de", "en"} <= set(program.models[0].languages), program
    equal(Pong.from_event(asyncio.run(ask_wyoming(Ping(text="here")))).text, "here")
    with tempfile.TemporaryDirectory() as folder:
        sound = pathlib.Path(folder) / "sound.wav"
        write_sound(sound)
        expected = json.loads((transcribe(sound, "--language", "de") / "sound.json").read_text(encoding="utf8"))
        with wave.open(str(sound), "rb") as file:
            chunks = list(wav_to_chunks(file, samples_per_chunk=1024))
        answer = asyncio.run(ask_wyoming(Transcribe(language="de"), AudioStart(RATE, 2, 1), *chunks, AudioStop()))
    assert Transcript.is_type(answer.type), answer
    equal(Transcript.from_event(answer), Transcript(text=expected["text"].strip(), language="de"))


def main():
    os.environ["NO_PROXY"] = "*"
    TRANSLATIONS.extend(translate_lines())
    for name, test in list(globals().items()):
        if name.startswith("test_") and (len(sys.argv) == 6 or name in sys.argv[6:]):
            start = time.monotonic()
            print(name, end="", flush=True)
            test()
            print(f": {time.monotonic() - start:.1f} s", flush=True)


main()
