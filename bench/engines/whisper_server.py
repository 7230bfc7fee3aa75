"""Serves faster-whisper with OpenAI's endpoint, in the way of small servers: whisper_server.py FOLDER PRECISION THREADS PORT

A thread per request; the defaults of faster-whisper. THREADS are those of the model, 0 for all cores.
"""
import os
import sys

import uvicorn
from faster_whisper import WhisperModel
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse
from starlette.routing import Route

folder, precision, threads, port = sys.argv[1:]
model = WhisperModel(folder, device="cpu", compute_type={"fp32": "float32"}.get(precision, precision),
                     cpu_threads=int(threads) or os.cpu_count())


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
