"""A server between the browser and `clformer serve`: passes requests on, except those that a test answers itself."""
import http.client
import http.server
import json
import threading
import time


class Front(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, port):
        super().__init__(("127.0.0.1", 0), Handler)
        self.behind = port
        self.answers = {}  # path: function that takes the body and returns (status, JSON value or bytes), or None: no answer
        self.requests = []  # "POST /translate"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, request, client_address):
        pass  # the browser cancels requests

    @property
    def address(self):
        return f"http://127.0.0.1:{self.server_port}/"

    def count(self, request):
        return self.requests.count(request)

    def offer(self, languages=None, models=None, source="auto", delay=50, limit=-1):
        """Answers the questions with which the page starts. `languages`: {code: targets}; None: those of the real server."""
        self.answers.clear()
        if languages is not None:
            names = {"en": "English", "fr": "French", "ar": "Arabic", "de": "German"}
            rows = [{"code": code, "name": names[code], "targets": targets} for code, targets in languages.items()]
            settings = {"charLimit": limit, "frontendTimeout": delay, "language": {"source": {"code": source}, "target": {"code": "en"}}}
            self.answers["/languages"] = lambda body: (200, rows)
            self.answers["/frontend/settings"] = lambda body: (200, settings)
            self.answers["/translate"] = translate
        if models is not None:
            self.answers["/v1/models"] = lambda body: (200, {"object": "list", "data": [{"id": name} for name in models]})
            self.answers["/v1/audio/transcriptions"] = transcribe


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.path = self.path.removeprefix("/below")  # as a proxy does
        self.server.requests.append(f"{self.command} {self.path}")
        if self.path in self.server.answers:
            result = self.server.answers[self.path](body)
            if result is None:
                self.close_connection = True
                return
            status, value = result
            headers = {"Content-Type": "application/json"}
            content = value if isinstance(value, bytes) else json.dumps(value).encode()
        else:
            status, headers, content = self.pass_on(body)
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = answer

    def pass_on(self, body):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.behind, timeout=300)
        connection.request(self.command, self.path, body, {"Content-Type": self.headers.get("Content-Type", "")})
        response = connection.getresponse()
        kept = ("Content-Type", "Content-Security-Policy", "X-Content-Type-Options", "Referrer-Policy")
        return response.status, {name: response.headers[name] for name in kept if name in response.headers}, response.read()


def translate(body):
    """Each word in capital letters, after the languages."""
    fields = json.loads(body)
    source = "fr" if fields["source"] == "auto" else fields["source"]
    mark = lambda text: f"{source}>{fields['target']}: {text.upper()}"
    answer = {"translatedText": mark(fields["q"])}
    if fields["source"] == "auto":
        answer["detectedLanguage"] = {"language": "fr", "confidence": 90.0}
    if fields["alternatives"] > 0:
        answer["alternatives"] = [mark(f"{fields['q']} {i}") for i in range(2)]
    return 200, answer


def translate_slowly(body):
    time.sleep(.4)
    return translate(body)


SEGMENTS = [(0, 2.5, " Good morning."), (2.5, 3661.25, " <b>How</b> are you?")]


def transcribe(body):
    assert b'name="response_format"\r\n\r\nverbose_json' in body and b'name="model"\r\n\r\ntiny' in body
    assert b'filename="talk.wav"' in body and b"RIFF" in body
    segments = [{"id": i, "start": start, "end": end, "text": text} for i, (start, end, text) in enumerate(SEGMENTS)]
    return 200, {"task": "transcribe", "language": "english", "duration": 3661.25,
                 "text": "".join(text for _, _, text in SEGMENTS), "segments": segments}
