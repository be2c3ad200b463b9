"""sojourn run ect1/l4s --load examples/aimd_with_a_twist.py -s flow.prague.cc=myaimd"""

import sojourn


@sojourn.controller("myaimd")
class MyAimd:
    """AIMD that grows faster for as long as its packets do not queue."""

    def __init__(self, beta: float = 0.7, boost: int = 4):
        self.beta, self.boost = beta, boost

    def on_ack(self, now, ack, win):
        if ack.may_raise and ack.path.cwnd_limited:
            left = win.slow_start(ack.delivered)
            queues = ack.rtt_s is None or ack.rtt_s > 1.1 * ack.path.min_rtt_s
            win.additive_increase(win.cwnd, left if queues else left * self.boost)

    def ssthresh(self, now, path, win):
        return max(2, int(win.cwnd * self.beta))
