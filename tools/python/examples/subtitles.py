"""Writes subtitles next to each recording: subtitles.py MODEL RECORDING..."""

import sys
from pathlib import Path

import clformer

with clformer.Transcriber(sys.argv[1]) as transcriber:
    for name in sys.argv[2:]:
        recording = Path(name)
        recording.with_suffix(".srt").write_text(transcriber.transcribe(recording).write("srt"))
