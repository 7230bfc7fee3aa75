"""Serves faster-whisper with OpenAI's endpoint, in the way of small servers: whisper_server.py FOLDER PRECISION PORT

One model that uses all cores; a thread per request; the defaults of faster-whisper.
"""
import os
import sys

import uvicorn
from faster_whisper import WhisperModel
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse
from starlette.routing import Route

folder, precision, port = sys.argv[1:]
model = WhisperModel(folder, device="cpu", compute_type={"fp32": "float32"}.get(precision, precision), cpu_threads=os.cpu_count())


def transcribe(file, language):
    segments, _ = model.transcribe(file, language=language)
    return "".join(segment.text for segment in segments).strip()


async def transcriptions(request):
    async with request.form() as form:
        text = await run_in_threadpool(transcribe, form["file"].file, form.get("language"))
    return JSONResponse({"text": text})


async def health(request):
    return JSONResponse({"status": "ok"})


routes = [Route("/v1/audio/transcriptions", transcriptions, methods=["POST"]), Route("/health", health)]
uvicorn.run(Starlette(routes=routes), host="127.0.0.1", port=int(port), log_level="error")
