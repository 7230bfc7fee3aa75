"""Predicts the time of a training update on N ranks from measurements of one rank and a link (α–β model).

A message of B bytes takes latency + B / rate. An update of M micro-batches gives each of N ranks M / N of them, one after
the other; then the ranks all-reduce their gradients, and each rank runs the optimizer step.
"""
import dataclasses
import math

# Bytes per all-reduce block of clformer, and the minimum size of a rank's part of it: lib/model/backprop/buckets.c
STRETCH, LEAST_SHARE = 1 << 20, 1 << 16


@dataclasses.dataclass
class Link:
    latency: float   # seconds of a message, α
    rate: float      # bytes per second that a rank sends while it receives as many, 1 / β
    add_rate: float  # bytes per second that a rank adds or packs


@dataclasses.dataclass
class Work:
    """Work of one rank in seconds, and its message sizes."""
    micro_batch: float
    step: float         # norm and Adam
    bytes: int          # of gradients
    late_bytes: int = 0  # complete only at the end of the backward pass: embeddings
    loans: int = 1      # minimum number of gradient buckets: a layer is sent as soon as it is complete
    backward: float = 2 / 3  # share of a micro-batch during which gradients can be sent


def ring(ranks, count, link, loans=1):  # the number of messages does not depend on loans
    """Ring all-reduce: each rank sends 2 (N - 1) blocks of count / N bytes and adds half of them."""
    if ranks == 1:
        return 0.0
    steps, piece = 2 * (ranks - 1), count / ranks
    return steps * (link.latency + piece / link.rate) + steps / 2 * piece / link.add_rate


def tree(ranks, count, link, loans=1):
    """clformer's fixed tree: each stretch is packed, dealt out, added up by the ranks, a share each, and gathered.

    As many bytes as a ring's, in 2 (N - 1) messages of a stretch. One node of the tree a rank, as where M / N is a power of
    two.
    """
    if ranks == 1:
        return 0.0
    stretches = max(loans, math.ceil(count / max(STRETCH, ranks * LEAST_SHARE)))
    messages = stretches * 2 * (ranks - 1)
    moved = 2 * (ranks - 1) / ranks * count
    return messages * link.latency + moved / link.rate + (1 + (ranks - 1) / ranks) * count / link.add_rate


def update(work, micro_batches, ranks, link, reduce=tree, overlaps=False, cores=0):
    """Returns the seconds of an update. If there are fewer `cores` than ranks, the ranks share them."""
    passes = math.ceil(micro_batches / ranks) * work.micro_batch
    spoken = reduce(ranks, work.bytes, link, work.loans)
    if overlaps:  # the last backward pass overlaps with sending earlier gradients
        hidden = work.backward * work.micro_batch
        spoken = max(spoken - hidden, reduce(ranks, work.late_bytes, link))
    turns = max(1.0, ranks / cores) if cores else 1.0
    return turns * (passes + work.step + spoken)


def stops_paying(seconds, least=1.5):
    """Returns the largest number of ranks, doubling, that is at least `least` times as fast as half of them."""
    last = min(seconds)
    for ranks in sorted(seconds)[1:]:
        if seconds[last] / seconds[ranks] < least:
            break
        last = ranks
    return last
