"""Recordings for benchmarks: WAV, 16 bits, mono, 16 kHz."""
import wave

RATE = 16000


def read_recording(path):
    """Returns the samples as bytes; raises ValueError with the reason for an unsuitable file."""
    try:
        with wave.open(str(path)) as file:
            if (file.getframerate(), file.getnchannels(), file.getsampwidth()) != (RATE, 1, 2):
                raise ValueError(f"{path}: not 16 bits, mono, 16 kHz")
            return file.readframes(file.getnframes())
    except (OSError, EOFError, wave.Error) as error:
        raise ValueError(f"{path}: {error}") from error


def write_recording(path, data):
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, RATE, 0, "NONE", ""))
        file.writeframes(data)
