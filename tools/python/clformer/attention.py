"""Attention maps."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any, List

import numpy
from numpy.typing import NDArray

from . import _c
from ._library import text
from ._page import escape, fill, frame, to_json

MARK = "\u2581"  # marks the beginning of a word in SentencePiece tokens


@dataclass(frozen=True)
class Attention:
    """The attention weights of a sentence pair; in a notebook it is shown as the page of `clformer attend`.

    S source tokens, T decoder inputs: the start token, then the target. Each row (last axis) sums to 1.

    encoder: (layers, heads, S, S) float32, self-attention of the encoder.
    decoder: (layers, heads, T, T) float32, self-attention of the decoder.
    cross: (layers, heads, T, S) float32, attention of the decoder to the source.
    source_tokens: (S) readable tokens.
    target_tokens: (T) readable tokens.
    """

    encoder: NDArray[numpy.float32]
    decoder: NDArray[numpy.float32]
    cross: NDArray[numpy.float32]
    source_tokens: List[str]
    target_tokens: List[str]
    source: str
    about: str

    @classmethod
    def _copy(cls, maps: _c.clf_attention_maps, source: str, about: str) -> "Attention":
        sources, targets = maps.source_count, maps.target_count

        def array(pointer: Any, layers: int, heads: int, queries: int, keys: int) -> NDArray[numpy.float32]:
            values: NDArray[numpy.float32] = numpy.ctypeslib.as_array(pointer, (layers, heads, queries, keys)).copy()
            return values

        decoder = (maps.decoder_layers, maps.decoder_heads)
        return cls(
            array(maps.encoder, maps.encoder_layers, maps.encoder_heads, sources, sources),
            array(maps.decoder, *decoder, targets, targets),
            array(maps.cross, *decoder, targets, sources),
            [text(maps.source_tokens[i]) for i in range(sources)],
            [text(maps.target_tokens[i]) for i in range(targets)],
            source,
            about,
        )

    @property
    def target(self) -> str:
        """The target tokens as text."""
        tokens = self.target_tokens[1:]
        if any(token.startswith(MARK) for token in tokens):
            return "".join(tokens).replace(MARK, " ").strip()
        return " ".join(tokens)

    def to_html(self) -> str:
        """Returns the page of `clformer attend` as one HTML document."""
        shape = {
            "encoder_layers": self.encoder.shape[0],
            "decoder_layers": self.decoder.shape[0],
            "encoder_heads": self.encoder.shape[1],
            "decoder_heads": self.decoder.shape[1],
            "source_tokens": self.source_tokens,
            "target_tokens": self.target_tokens,
        }
        weights = numpy.concatenate([part.ravel() for part in (self.encoder, self.decoder, self.cross)])
        fractions = (numpy.clip(numpy.nan_to_num(weights), 0, 1) * 65535 + 0.5).astype("<u2")
        return fill("attend.html", {
            "TITLE": escape(f"Attention: {self.source}"),
            "SOURCE": escape(self.source),
            "TARGET": escape(self.target),
            "ABOUT": escape(self.about),
            "SHAPE": to_json(shape),
            "WEIGHTS": base64.b64encode(fractions.tobytes()).decode(),
        })

    def _repr_html_(self) -> str:
        return frame(self.to_html())
