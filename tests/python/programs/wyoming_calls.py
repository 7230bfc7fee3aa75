"""The transcriber of wyoming-faster-whisper: wyoming_calls.py FOLDER."""

import os
import sys
import tempfile

from shared import put, write_audio
from wyoming_faster_whisper.faster_whisper_handler import FasterWhisperTranscriber


def main():
    transcriber = FasterWhisperTranscriber(sys.argv[1], "/tmp", local_files_only=True, device="cpu", compute_type="float32",
                                           cpu_threads=1)
    with tempfile.TemporaryDirectory() as folder:
        recording = os.path.join(folder, "a.wav")
        write_audio(recording, 12)
        put({
            "greedy": transcriber.transcribe(recording, "pt", beam_size=1),
            "prompt": transcriber.transcribe(recording, "pt", beam_size=2, initial_prompt="the heath"),
            "tokens": transcriber.count_prompt_tokens("a few words"),
        })


main()
