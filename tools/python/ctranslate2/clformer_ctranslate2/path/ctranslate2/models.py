"""Speech models."""

from ._others import Unavailable


class Whisper(Unavailable):
    message = "models.Whisper is not available; use clformer.Transcriber"


class Wav2Vec2(Unavailable):
    pass


class Wav2Vec2Bert(Unavailable):
    pass
