"""Speech models."""

from ._others import Unavailable
from ._results import WhisperAlignmentResult, WhisperGenerationResult, WhisperGenerationResultAsync
from ._whisper import Whisper

__all__ = ["Wav2Vec2", "Wav2Vec2Bert", "Whisper", "WhisperAlignmentResult", "WhisperGenerationResult",
           "WhisperGenerationResultAsync"]


class Wav2Vec2(Unavailable):
    pass


class Wav2Vec2Bert(Unavailable):
    pass
