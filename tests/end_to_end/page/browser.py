"""Headless Chromium, driven through ChromeDriver by the WebDriver protocol; needs only Python's standard library."""
import base64
import json
import re
import subprocess
import time
import urllib.error
import urllib.request

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # the protocol's name of an element's identifier
KEYS = {"tab": "\ue004", "enter": "\ue007", "control": "\ue009", "shift": "\ue008", "space": " ", "end": "\ue000", "arrow_right": "\ue014"}
WAIT_SECONDS = 60


class Browser:
    def __init__(self, downloads):
        self.driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, text=True)
        port = None
        for line in self.driver.stdout:
            port = re.search(r"started successfully on port (\d+)", line)
            if port:
                break
        assert port, "chromedriver did not start"
        self.address = f"http://127.0.0.1:{port[1]}/session"
        options = {"args": ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--lang=en",
                            "--disable-background-networking", "--no-first-run"],
                   "prefs": {"download.default_directory": str(downloads)}}
        wanted = {"browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        try:
            session = self.send("POST", "", {"capabilities": {"alwaysMatch": wanted}})
        except BaseException:
            self.driver.terminate()
            raise
        self.address += f"/{session['sessionId']}"
        self.command("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])

    def close(self):
        try:
            self.send("DELETE", "")
        finally:
            self.driver.terminate()
            self.driver.wait()

    def send(self, method, path, value=None):
        body = json.dumps(value if value is not None else {}).encode() if method == "POST" else None
        request = urllib.request.Request(self.address + path, body, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=WAIT_SECONDS) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{method} {path}: {error.read().decode()}") from None

    def command(self, name, **parameters):
        """A command of the protocol of Chromium's developer tools."""
        return self.send("POST", "/goog/cdp/execute", {"cmd": name, "params": parameters})

    def open(self, address):
        self.send("POST", "/url", {"url": address})

    def run(self, script, *arguments):
        """The value of a script's return statement; a promise is awaited."""
        return self.send("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def find(self, selector):
        return self.send("POST", "/element", {"using": "css selector", "value": selector})[ELEMENT]

    def click(self, selector):
        self.send("POST", f"/element/{self.find(selector)}/click")

    def type(self, selector, text):
        self.send("POST", f"/element/{self.find(selector)}/value", {"text": text})

    def press(self, *names):
        """Presses keys together, such as control and enter, in the focused element."""
        keys = [KEYS[name] for name in names]
        actions = [{"type": "keyDown", "value": key} for key in keys] + [{"type": "keyUp", "value": key} for key in keys[::-1]]
        self.send("POST", "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def choose(self, selector, value):
        self.run("const one = document.querySelector(arguments[0]); one.value = arguments[1];"
                 "one.dispatchEvent(new Event('change', { bubbles: true }))", selector, value)

    def drop(self, name, kind, content):
        self.run("""const data = new DataTransfer(), bytes = Uint8Array.from(atob(arguments[2]), c => c.charCodeAt(0));
            data.items.add(new File([bytes], arguments[0], { type: arguments[1] }));
            for (const type of ["dragover", "drop"])
              document.body.dispatchEvent(new DragEvent(type, { dataTransfer: data, bubbles: true, cancelable: true }));""",
                 name, kind, base64.b64encode(content).decode())

    def text(self, selector):
        """The text that an element shows; an empty text if it is hidden."""
        return self.run("return document.querySelector(arguments[0])?.innerText ?? ''", selector)

    def is_shown(self, selector):
        return self.run("return document.querySelector(arguments[0])?.checkVisibility() ?? false", selector)

    def wait(self, what, condition):
        end = time.monotonic() + WAIT_SECONDS
        while not (found := condition()):
            assert time.monotonic() < end, f"not within {WAIT_SECONDS} s: {what}\nthe page shows: {self.text('body')}"
            time.sleep(.03)
        return found

    def wait_text(self, selector, expected):
        self.wait(f"{selector} shows {expected!r}", lambda: expected in self.text(selector))

    def errors(self):
        """The messages of the console since the last call: failed requests, violations of the policy, exceptions."""
        return [entry["message"] for entry in self.send("POST", "/se/log", {"type": "browser"})]

    def set_screen(self, width, scheme):
        """The width of the window in pixels, of a phone below 600, and the colour scheme: light or dark."""
        self.command("Emulation.setDeviceMetricsOverride", width=width, height=844 if width < 600 else 900,
                     deviceScaleFactor=2 if width < 600 else 1, mobile=width < 600)
        self.command("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def save_picture(self, path):
        picture = self.command("Page.captureScreenshot", captureBeyondViewport=True, format="png")
        path.write_bytes(base64.b64decode(picture["data"]))
