#!/usr/bin/env python3
"""check_page.py PORT FOLDER: tests the page of `clformer serve` in headless Chromium. The server at PORT has the model
fr-en-small. FOLDER receives screenshots; with CLFORMER_TEST_SMALL, only some. Prints the names of the tests that passed;
a failure ends the program."""
import json
import os
import pathlib
import sys
import tempfile
import time

from browser import Browser
from front import Front, translate, translate_slowly

THREE = {"en": ["ar", "en", "fr"], "fr": ["ar", "en", "fr"], "ar": ["ar", "en"]}


class Page:
    def __init__(self, port, folder, downloads):
        self.browser, self.front = Browser(downloads), Front(port)
        self.folder, self.downloads = folder, downloads

    def open(self, **offer):
        """Opens the page anew, with what the server offers; waits until it has started."""
        self.front.offer(**offer)
        self.front.requests.clear()
        self.browser.open(self.front.address)
        self.browser.run("localStorage.clear()")
        self.browser.open(self.front.address)
        started = "return !message.hidden || !files.hidden"
        self.browser.wait("the page has started", lambda: self.browser.run(started))
        self.browser.errors()

    def is_quiet(self, below=""):
        """Nothing in the console, and no other address than that of the server."""
        errors = [error for error in self.browser.errors() if "/v1/models - " not in error]  # 404 without speech
        assert errors == [], errors
        names = self.browser.run("return performance.getEntriesByType('resource').map(entry => entry.name)")
        assert len(names) > 5 and all(name.startswith(self.front.address + below) for name in names), names

    def download(self, name):
        """Clicks a link of the first job; the content of the file that arrives."""
        self.browser.click(f".job:first-child a[download='{name}']")
        path = self.downloads / name
        self.browser.wait(f"the download of {name}", path.exists)
        content = path.read_bytes().decode()
        path.unlink()
        return content

    def click_job(self, label):
        self.browser.run("[...document.querySelectorAll('.job:first-child button')].find(one => one.textContent === arguments[0]).click()", label)

    def save(self, name):
        """Pictures of a phone and of a desk, light and dark. Nothing is wider than the screen."""
        is_small = "CLFORMER_TEST_SMALL" in os.environ
        for width in 390, 1400:
            for scheme in ["dark" if width == 390 else "light"] if is_small else ["light", "dark"]:
                self.browser.set_screen(width, scheme)
                time.sleep(.2)  # for transitions of colours
                wide = self.browser.run("return document.scrollingElement.scrollWidth")
                assert wide <= width, f"{name} takes {wide} pixels of {width}"
                self.browser.save_picture(self.folder / f"{name}-{width}-{scheme}.png")
        self.browser.set_screen(1400, "light")


def test_real_server(page):
    browser = page.browser
    page.open()
    assert browser.text("h1") == "Translate"
    browser.type("#text", "Merci beaucoup.")
    browser.wait_text("#translation", "Thank you very much.")
    browser.wait("alternatives", lambda: browser.is_shown("#alternatives button"))
    assert "French" in browser.text("#detected")
    assert browser.text("#count") == "15 characters"
    assert browser.run("return swap.disabled && swap.title.includes('from English to French')")
    other = browser.text("#alternatives button")
    browser.click("#alternatives button")
    assert browser.text("#translation") == other and browser.text("#alternatives button") == "Thank you very much."
    browser.click("#copy")
    browser.wait_text("#copy", "Copied")
    assert browser.run("return navigator.clipboard.readText()") == other
    page.is_quiet()
    page.save("translation")
    browser.click("#clear")
    browser.wait("an empty translation", lambda: browser.text("#translation") == "")
    assert browser.run("return text.value === '' && text === document.activeElement && others.hidden")


def test_attention(page):
    browser = page.browser
    page.open()
    assert browser.run("return attend.disabled")
    browser.type("#text", "Je suis étudiant.")
    browser.wait_text("#translation", "I'm a student.")
    browser.click("#attend")
    browser.wait("the attention", lambda: browser.is_shown("#attention"))
    tokens = lambda row: browser.run(f"return [...document.querySelectorAll('#{row}-tokens > *')].map(token => token.textContent)")
    source, target = tokens("source"), tokens("target")
    assert "".join(source[:-1]) == "Jesuisétudiant." and "".join(target) == "I'mastudent.", (source, target)
    assert not browser.is_shown("#sentences") and browser.run("return layer.options.length === 3 && layer.value === '2'")
    assert browser.text("#weights").startswith(target[0] + ": ")
    browser.run("document.querySelector('#target-tokens input').focus()")
    for token in target[1:]:  # the arrow keys choose tokens
        browser.press("arrow_right")
        assert browser.text("#weights").startswith(token + ": "), browser.text("#weights")
        assert browser.text("#map .chosen th") == token
    chosen = target.index("student")
    browser.click(f"#target-tokens > :nth-child({chosen + 1})")
    weights = browser.text("#weights")
    assert "étudiant" in "".join(source) and weights.startswith("student: ") and weights.count("%") == 4, weights
    largest = browser.run("return [...document.querySelectorAll('#source-tokens > *')].map(t => Number(t.style.getPropertyValue('--weight')))")
    assert 0 < max(largest) <= 1 and weights.split()[1] == source[largest.index(max(largest))], (largest, weights)
    page.save("attention")
    browser.choose("#layer", "1")
    browser.wait("another layer", lambda: browser.text("#weights") != weights)
    assert browser.text("#weights").startswith("student: ") and browser.run("return layer.value === '1'")
    browser.click("#attention-hide")
    assert not browser.is_shown("#attention") and browser.run("return document.activeElement === attend")
    browser.run("text.value = ''")
    browser.type("#text", "Merci. Je suis malade.")
    browser.wait_text("#translation", "Thanks.")
    browser.click("#attend")
    browser.wait("the sentences", lambda: browser.is_shown("#sentences"))
    assert browser.run("return [...sentence.options].map(option => option.text)") == ["Merci.", "Je suis malade."]
    assert tokens("target") == ["Thanks", "."]
    browser.choose("#sentence", "1")
    browser.wait("the second sentence", lambda: "sick" in tokens("target"))
    browser.type("#text", " Oui.")
    browser.wait("no attention", lambda: not browser.is_shown("#attention"))
    page.is_quiet()


def test_real_file(page):
    browser = page.browser
    page.open()
    text = "Merci.\r\n\r\nOui. Merci.\nEst-il malade ?\n"
    path = page.downloads / "lettre.txt"
    path.write_bytes(text.encode())
    browser.type("#file", str(path))
    browser.wait_text(".job .state", "Translated into English")
    assert page.download("lettre.en.txt") == "Thanks.\r\n\r\nYes. Thanks.\nIs he sick?\n"
    page.is_quiet()
    browser.drop("image.png", "image/png", b"\x89PNG")
    browser.wait_text("#message", "image.png: is not a document that this server translates (.txt, ")
    browser.drop("messages.JSON", "application/json", b'{"a": "Merci."}')
    browser.wait_text(".job .state", "Translated into English")
    assert page.download("messages.en.json") == '{"a": "Thanks."}'
    browser.drop("talk.wav", "audio/wav", b"RIFF")
    browser.wait_text("#message", "talk.wav: this server does not transcribe recordings.")
    browser.drop("letter.txt", "text/plain", b"\xff\xfe\xfd")
    browser.wait_text(".job .state", "The file is not UTF-8 text")


def test_path_of_proxy(page):
    browser = page.browser
    browser.open(page.front.address + "below/")
    browser.wait("the page has started", lambda: browser.is_shown("#text"))
    browser.type("#text", "Oui.")
    browser.wait_text("#translation", "Yes.")
    page.is_quiet(below="below/")


def test_typing(page):
    """A pause starts a request; the next letter cancels it."""
    browser = page.browser
    page.open(languages=THREE, delay=300)
    page.front.answers["/translate"] = translate_slowly
    browser.type("#text", "un deux trois")
    browser.wait_text("#translation", "fr>en: UN DEUX TROIS")
    assert page.front.count("POST /translate") < 6
    browser.type("#text", " quatre")
    browser.wait("a request", lambda: browser.is_shown("#state"))
    browser.type("#text", " cinq <b>&amp;")
    browser.wait_text("#translation", "fr>en: UN DEUX TROIS QUATRE CINQ <B>&AMP;")  # not as HTML
    page.is_quiet()
    page.open(languages=THREE, delay=600000)
    browser.type("#text", "vite")
    time.sleep(.2)
    assert browser.text("#translation") == "" and page.front.count("POST /translate") == 0
    browser.press("control", "enter")
    browser.wait_text("#translation", "fr>en: VITE")


def test_languages(page):
    browser = page.browser
    page.open(languages=THREE)
    assert browser.run("return [...source.options].map(o => o.text)") == ["Detect language", "English", "French", "Arabic"]
    browser.choose("#source", "ar")
    assert browser.run("return [...target.options].map(o => o.value)") == ["en"]
    assert browser.run("return [text.dir, text.lang, translation.dir]") == ["rtl", "ar", "ltr"]
    browser.choose("#source", "auto")
    browser.type("#text", "bonjour")
    browser.wait_text("#translation", "fr>en: BONJOUR")
    browser.click("#swap")
    browser.wait_text("#translation", "en>fr: FR>EN: BONJOUR")
    assert browser.run("return [source.value, target.value, text.value]") == ["en", "fr", "fr>en: BONJOUR"]
    browser.choose("#target", "ar")
    browser.wait_text("#translation", "en>ar: FR>EN: BONJOUR")
    assert browser.run("return [translation.dir, translation.lang]") == ["rtl", "ar"]
    page.front.answers["/translate"] = lambda body: (200, {"translatedText": "صباح الخير، كيف حالك اليوم؟"})
    browser.press("control", "enter")
    browser.wait_text("#translation", "صباح")
    page.save("arabic")
    browser.open(page.front.address)  # remembers the languages
    browser.wait("the languages", lambda: browser.run("return source.value === 'en' && target.value === 'ar'"))
    page.is_quiet()
    page.open(languages=THREE, source="fr")
    assert browser.run("return source.options[0].value !== 'auto' && source.value === 'fr'")


def test_errors(page):
    browser = page.browser
    page.open(languages=THREE, limit=40)
    for answer, message in ((503, {"error": "The server is stopping"}), "The server is stopping."), \
            ((502, b"<html>"), "The server answered with status 502."), \
            ((413, {"error": "The request body exceeds 9 bytes"}), "too long for this server. The request body exceeds 9 bytes."), \
            ((429, {"error": {"message": "Slowly"}}), "Slowly."), \
            ((200, b"<html>"), "The server's answer is not JSON"), \
            (None, "The server does not answer"):
        page.front.answers["/translate"] = lambda body: answer
        browser.type("#text", "a")
        browser.wait_text("#message", message)
    page.front.answers["/translate"] = translate
    browser.click("#again")
    browser.wait_text("#translation", "fr>en: AAAAAA")
    assert not browser.is_shown("#message")
    browser.type("#text", 40 * "b")
    browser.wait_text("#message", "The text is 6 characters longer than this server accepts.")
    assert browser.text("#count") == "46 of 40 characters"
    page.save("error")
    page.front.answers["/languages"] = lambda body: None
    browser.open(page.front.address)
    browser.wait_text("#message", "The server does not answer")
    page.front.offer(languages=THREE)
    browser.click("#again")
    browser.wait("the page has started", lambda: browser.is_shown("#text"))


def test_long_file(page):
    """A file of several parts: progress, an error, its continuation, and cancellation."""
    browser, sentence = page.browser, "Une phrase assez longue pour remplir une ligne. "
    page.open(languages=THREE)
    calls = []

    def fail_once(body):
        calls.append(json.loads(body)["q"])
        time.sleep(.2)
        return (503, {"error": "The server is stopping"}) if len(calls) == 3 else translate(body)
    page.front.answers["/translate"] = fail_once
    text = 200 * sentence + "\n\n" + 100 * sentence
    browser.drop("book.txt", "text/plain", text.encode())
    browser.wait_text(".job .state", "The server is stopping.")
    assert browser.is_shown(".job.failed")
    page.click_job("Try again")
    browser.wait_text(".job .state", "Translated into English")
    assert all(len(call) <= 4000 and call.endswith("ligne.") for call in calls), calls
    assert "\n" not in "".join(calls) and len(calls) == 1 + 5  # the third is repeated
    assert page.download("book.en.txt").replace("fr>en: ", "") == text.upper()
    browser.run("document.dispatchEvent(new DragEvent('dragover', { dataTransfer: (data => (data.items.add(new File([], 'a')), data))"
                "(new DataTransfer()) }))")
    page.save("drop")
    browser.run("document.dispatchEvent(new DragEvent('dragleave'))")
    assert not browser.is_shown("#cover")
    browser.drop("long.txt", "text/plain", (3000 * sentence).encode())
    browser.wait("progress", lambda: browser.run("return document.querySelector('.job progress').value > 0"))
    page.save("progress")
    browser.click(".job .remove")
    count = len(calls)
    time.sleep(.6)
    assert len(calls) <= count + 1 and browser.run("return jobs.children.length") == 1
    assert browser.run("return document.activeElement.classList.contains('remove')")


def test_speech(page):
    browser = page.browser
    page.open(languages=THREE, models=["tiny", "large"])
    assert browser.text("h1") == "Translate and transcribe" and browser.is_shown("#model")
    browser.drop("talk.wav", "audio/wav", b"RIFF0000WAVE")
    browser.wait_text(".job .state", "Transcribed; language: English")
    assert browser.run("return [...document.querySelectorAll('.segment')].map(s => [...s.children].map(c => c.textContent))") == \
        [["0:00", "Good morning."], ["0:02", "<b>How</b> are you?"]]
    assert page.download("talk.txt") == "Good morning.\n<b>How</b> are you?\n"
    assert page.download("talk.srt") == "1\n00:00:00,000 --> 00:00:02,500\nGood morning.\n\n" \
        "2\n00:00:02,500 --> 01:01:01,250\n<b>How</b> are you?\n"
    assert page.download("talk.vtt").startswith("WEBVTT\n\n00:00:00.000 --> 00:00:02.500\nGood morning.\n\n")
    page.save("speech")
    page.click_job("Translate")
    browser.wait_text("#translation", "GOOD MORNING. <B>HOW</B> ARE YOU?")
    page.is_quiet()
    page.front.answers["/v1/audio/transcriptions"] = lambda body: (400, {"error": {"message": "Invalid file format."}})
    browser.drop("talk.wav", "", b"RIFF")
    browser.wait_text(".job .state", "Invalid file format.")
    page.open(languages={}, models=["tiny"])
    assert browser.text("h1") == "Transcribe" and not browser.is_shown("#text") and not browser.is_shown("#model")
    browser.drop("talk.wav", "", b"RIFF")
    browser.wait_text(".job .state", "Transcribed")
    assert "Translate" not in browser.text(".job .actions")
    page.save("speech-only")
    page.open(languages={}, models=[])
    assert "neither translates nor transcribes" in browser.text("#message")


def test_keyboard(page):
    """Tab reaches every control, and the focus is visible."""
    browser = page.browser
    page.open(languages=THREE, models=["tiny", "large"])
    browser.type("#text", "oui")
    browser.wait("alternatives", lambda: browser.is_shown("#alternatives button"))
    browser.run("source.focus()")
    seen = []
    for _ in range(12):
        one, outline = browser.run("const e = document.activeElement, s = getComputedStyle(/^(file|text)$/.test(e.id) ? e.parentNode : e);"
                                   "return [e.id || e.textContent, s.outlineStyle + s.outlineWidth]")
        seen.append(one)
        assert outline in ("solid2px", "solid3px"), (one, outline)
        browser.press("tab")
    assert seen == ["source", "swap", "target", "text", "clear", "translation", "fr>en: OUI 0", "fr>en: OUI 1", "attend", "copy", "model", "file"], seen
    labels = browser.run("return [...document.querySelectorAll('button, select, textarea, input, a')].filter(e => e.checkVisibility())"
                         ".filter(e => !(e.labels?.length || e.getAttribute('aria-label') || e.textContent.trim())).map(e => e.outerHTML)")
    assert labels == [], labels
    browser.click("#alternatives button")
    assert browser.run("return document.activeElement.textContent") == "fr>en: OUI"


def main():
    port, folder = int(sys.argv[1]), pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as downloads:
        page = Page(port, folder, pathlib.Path(downloads))
        try:
            page.browser.set_screen(1400, "light")
            for name, test in list(globals().items()):
                if name.startswith("test_") and (len(sys.argv) == 3 or name in sys.argv[3:]):
                    start = time.monotonic()
                    print(name, end="", flush=True)
                    test(page)
                    print(f": {time.monotonic() - start:.1f} s", flush=True)
        finally:
            page.browser.close()


main()
