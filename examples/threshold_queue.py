"""sojourn run scenarios/prague-vs-cubic.toml --load examples/threshold_queue.py -s link.bneck.qdisc=threshold"""

from collections import deque

import sojourn


@sojourn.qdisc("threshold")
class Threshold:
    """FIFO that marks the packets that waited longer than a threshold."""

    def __init__(self, limit: int = 1000, at: sojourn.Seconds = 0.001):
        self.limit, self.at, self.packets = limit, at, deque()

    def enqueue(self, now, packet):
        if len(self.packets) < self.limit:
            self.packets.append(packet)
        else:
            packet.drop("tail_limit")

    def dequeue(self, now):
        packet = self.packets.popleft() if self.packets else None
        if packet and now - packet.arrived_s > self.at:
            packet.mark("step")
        return packet
