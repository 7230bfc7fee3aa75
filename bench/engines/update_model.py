"""How long an update of a training takes on N ranks, from what one rank and a link were measured to do (α–β).

A message of B bytes takes latency + B / rate. An update of M micro-batches gives each of N ranks M / N of them, one after
the other; then the ranks add up their gradients, and each takes the step for itself.
"""
import dataclasses
import math

# Bytes that clformer's tree adds up at a time, and a rank's share of them at least: lib/backprop/buckets.c
STRETCH, LEAST_SHARE = 1 << 20, 1 << 16


@dataclasses.dataclass
class Link:
    latency: float   # seconds of a message, α
    rate: float      # bytes a second that a rank sends while it receives as many, 1 / β
    add_rate: float  # bytes a second of sums that a rank adds up, or packs


@dataclasses.dataclass
class Work:
    """What one rank does, in seconds, and what it sends."""
    micro_batch: float
    step: float         # norm and Adam
    bytes: int          # of gradients
    late_bytes: int = 0  # of those that are known only when the backward pass ends: the embeddings
    loans: int = 1      # they are sent in so many parts at least: a layer's as soon as it is complete
    backward: float = 2 / 3  # of a micro-batch, the share behind which gradients can travel


def ring(ranks, count, link, loans=1):  # as many messages in any case
    """A ring's all-reduce: each rank sends 2 (N - 1) pieces of count / N bytes, and adds up half of them."""
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
    """Seconds of an update. Where ranks share `cores` cores, fewer than there are ranks, they take turns."""
    passes = math.ceil(micro_batches / ranks) * work.micro_batch
    spoken = reduce(ranks, work.bytes, link, work.loans)
    if overlaps:  # the last micro-batch's backward pass hides what is known before its end
        hidden = work.backward * work.micro_batch
        spoken = max(spoken - hidden, reduce(ranks, work.late_bytes, link))
    turns = max(1.0, ranks / cores) if cores else 1.0
    return turns * (passes + work.step + spoken)


def stops_paying(seconds, least=1.5):
    """Of {ranks: seconds}, ranks doubling: the last number that still brought `least` times the one before."""
    last = min(seconds)
    for ranks in sorted(seconds)[1:]:
        if seconds[last] / seconds[ranks] < least:
            break
        last = ranks
    return last
