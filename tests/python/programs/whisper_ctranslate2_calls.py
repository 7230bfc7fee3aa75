"""The command whisper-ctranslate2: whisper_ctranslate2_calls.py FOLDER."""

import json
import os
import sys
import tempfile

from shared import put, write_audio
from whisper_ctranslate2.whisper_ctranslate2 import main as run


def main():
    model, found = sys.argv[1], {}
    with tempfile.TemporaryDirectory() as folder:
        recording, output = os.path.join(folder, "a.wav"), os.path.join(folder, "out")
        write_audio(recording, 35)
        sys.argv = [
            "whisper-ctranslate2", recording, "--model_directory", model, "--device", "cpu", "--compute_type", "float32",
            "--threads", "1", "--temperature_increment_on_fallback", "None", "--beam_size", "2", "--output_dir", output,
            "--output_format", "all", "--word_timestamps", "True", "--language", "pt", "--verbose", "False",
            "--no_speech_threshold", "None", "--logprob_threshold", "None", "--compression_ratio_threshold", "None"]
        try:
            run()
        except SystemExit as end:
            found["exit"] = end.code or 0
        for name in sorted(os.listdir(output)):
            with open(os.path.join(output, name), encoding="utf-8") as file:
                text = file.read()
            found[name] = [one["text"] for one in json.loads(text)["segments"]] if name.endswith(".json") else text
    put(found)


main()
