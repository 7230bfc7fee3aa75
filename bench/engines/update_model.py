"""Predicts the time of a training update on N ranks from measurements of one rank and a link (α–β model).

A message of B bytes takes latency + B / rate. In an update of M micro-batches, each of N ranks processes M / N micro-batches
in sequence, the ranks all-reduce their gradients, and each rank runs the optimizer step.
"""
import dataclasses
import math

# Bytes of a block of clformer's all-reduce, and the minimum size of a rank's part of a block: lib/model/backprop/buckets.c
BLOCK_BYTES, LEAST_SHARE = 1 << 20, 1 << 16


@dataclasses.dataclass
class Link:
    latency: float   # seconds per message, α
    rate: float      # bytes per second that a rank sends while it receives at the same rate, 1 / β
    add_rate: float  # bytes per second that a rank adds or packs


@dataclasses.dataclass
class Work:
    """Work of one rank in seconds, and its message sizes."""
    micro_batch: float
    step: float         # gradient norm and Adam
    bytes: int          # size of the gradients
    late_bytes: int = 0  # gradients that are complete only at the end of the backward pass: embeddings
    buckets: int = 1    # minimum number of gradient buckets; a layer is sent as soon as its gradients are complete
    backward: float = 2 / 3  # share of a micro-batch during which gradients can be sent


def ring(ranks, count, link, buckets=1):  # the number of messages does not depend on buckets
    """Ring all-reduce: each rank sends 2 (N - 1) blocks of count / N bytes and adds half of them."""
    if ranks == 1:
        return 0.0
    steps, share = 2 * (ranks - 1), count / ranks
    return steps * (link.latency + share / link.rate) + steps / 2 * share / link.add_rate


def tree(ranks, count, link, buckets=1):
    """clformer's fixed tree: each block is packed and scattered, each rank adds up its share, and the sums are gathered.

    Sends as many bytes as a ring, in 2 (N - 1) messages per block. Assumes one node of the tree per rank, as if M / N were
    a power of two.
    """
    if ranks == 1:
        return 0.0
    blocks = max(buckets, math.ceil(count / max(BLOCK_BYTES, ranks * LEAST_SHARE)))
    messages = blocks * 2 * (ranks - 1)
    moved = 2 * (ranks - 1) / ranks * count
    return messages * link.latency + moved / link.rate + (1 + (ranks - 1) / ranks) * count / link.add_rate


def update(work, micro_batches, ranks, link, reduce=tree, overlaps=False, cores=0):
    """Returns the seconds of an update. If there are fewer `cores` than ranks, the ranks share them."""
    passes = math.ceil(micro_batches / ranks) * work.micro_batch
    communication = reduce(ranks, work.bytes, link, work.buckets)
    if overlaps:  # the last backward pass overlaps with sending earlier gradients
        hidden = work.backward * work.micro_batch
        communication = max(communication - hidden, reduce(ranks, work.late_bytes, link))
    turns = max(1.0, ranks / cores) if cores else 1.0
    return turns * (passes + work.step + communication)


def stops_paying(seconds, least=1.5):
    """Doubles the number of ranks while this makes updates at least `least` times as fast; returns the last number."""
    last = min(seconds)
    for ranks in sorted(seconds)[1:]:
        if seconds[last] / seconds[ranks] < least:
            break
        last = ranks
    return last
