//! The counters of AccECN (RFC 9768 3.2) in one end's packets: what they say of the other end's data.

use sojourn_wire::options::AccEcn;

use crate::report::AccEcnFeedback;

/// What the counter of CE packets begins with, and the ACE field with it (RFC 9768 3.2.1).
const INITIAL_CEP: u8 = 5;
/// What the byte counters of ECT(0), CE and ECT(1) begin with (RFC 9768 3.2.1).
const INITIAL_BYTES: [u32; 3] = [1, 0, 1];
/// The ACE field counts modulo 8.
const MODULUS: u32 = 8;
/// Bits of a byte counter.
const BYTES_MASK: u32 = (1 << 24) - 1;
/// Weights of Linux's average of packets per acknowledgement (7.0, `tcp_accecn_process`): its fraction and the share
/// of a sample, as powers of two, and the average above which acknowledgements are taken to be compressed.
const EWMA_FRACTION: u32 = 6;
const EWMA_WEIGHT: u32 = 6;
const COMPRESSED: u32 = 4;

/// A packet of the receiver.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Feedback {
    /// AE, CWR and ECE.
    pub(crate) ace: u8,
    /// Packets and bytes that it acknowledges or SACKs for the first time.
    pub(crate) packets: u32,
    pub(crate) bytes: u64,
    /// The largest segment.
    pub(crate) mss: u32,
}

/// The sender's view.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counters {
    /// ACE of the last packet.
    ace: Option<u8>,
    /// Byte counters of the last options that had them.
    bytes: [Option<u32>; 3],
    /// Their growth.
    totals: [u64; 3],
    has: [bool; 3],
    least: u64,
    safe: u64,
    linux: u64,
    packets: u64,
    options: u64,
    ambiguous: u64,
    contradictions: u64,
    /// Packets per acknowledgement, averaged.
    ewma: u32,
    /// CE packets, least, since the last option.
    since_option: u64,
}

impl Counters {
    /// The connection's handshake was captured, so that the counters' initial values are known.
    pub(crate) fn begin(&mut self) {
        self.ace = Some(INITIAL_CEP);
        self.bytes = INITIAL_BYTES.map(Some);
    }

    /// Takes the counters of a packet that is not older than those before. Gives the packets with CE that it
    /// reports for the first time.
    pub(crate) fn packet(&mut self, feedback: &Feedback, option: Option<&AccEcn>) -> u32 {
        let Some(last) = self.ace.replace(feedback.ace) else {
            if let Some(option) = option {
                self.option(option);
            }
            return 0;
        };
        let step = u32::from(feedback.ace.wrapping_sub(last) & 7);
        let packets = feedback.packets;
        self.average(packets);
        // RFC 9768 A.2.1: the largest number of marks with this step, among the packets acknowledged.
        let safe = if packets < MODULUS { step } else { packets - (packets - step) % MODULUS };
        let ce_bytes = option.and_then(|option| self.option(option));
        let compressed = self.ewma > COMPRESSED << EWMA_FRACTION;
        let guess = if packets < MODULUS || compressed { step } else { safe };
        let resolved = match ce_bytes {
            Some(bytes) => resolve(step, safe, bytes, feedback),
            None => guess,
        };
        self.since_option += u64::from(step);
        if let Some(bytes) = ce_bytes {
            let none_of_some = bytes > 0 && self.since_option == 0 && safe == 0;
            self.contradictions += u64::from(none_of_some);
            self.since_option = 0;
        }
        self.ambiguous += u64::from(safe != step && ce_bytes.is_none());
        self.least += u64::from(step);
        self.safe += u64::from(safe);
        self.linux += u64::from(guess);
        self.packets += u64::from(resolved);
        resolved
    }

    /// Linux 7.0 `tcp_accecn_process`: a mean with the weight of a sample 1/64.
    fn average(&mut self, packets: u32) {
        if packets == 0 {
            return;
        }
        let sample = packets.min(0xffff >> EWMA_FRACTION) << EWMA_FRACTION;
        self.ewma = match self.ewma {
            0 => sample,
            mean => ((mean << EWMA_WEIGHT) - mean + sample) >> EWMA_WEIGHT,
        };
    }

    /// Takes the byte counters; gives the bytes with CE since the last ones.
    fn option(&mut self, option: &AccEcn) -> Option<u64> {
        self.options += 1;
        let mut grown = [None; 3];
        for (at, counter) in option.counters().into_iter().enumerate() {
            let Some(counter) = counter else { continue };
            self.has[at] = true;
            if let Some(last) = self.bytes[at].replace(counter) {
                let growth = u64::from(counter.wrapping_sub(last) & BYTES_MASK);
                self.totals[at] += growth;
                grown[at] = Some(growth);
            }
        }
        grown[1]
    }

    /// The option has been seen: the connection speaks AccECN.
    pub(crate) fn has_options(&self) -> bool {
        self.options > 0
    }

    /// `captured` are the packets with CE that this capture has of the data's sender.
    pub(crate) fn report(&self, captured: u64) -> AccEcnFeedback {
        let total = |at: usize| self.has[at].then_some(self.totals[at]);
        AccEcnFeedback {
            ce_packets_ace: self.linux,
            ce_packets: self.packets,
            ce_packets_least: self.least,
            ce_packets_safe: self.safe,
            ect0_bytes: total(0),
            ce_bytes: total(1),
            ect1_bytes: total(2),
            options: self.options,
            ambiguous: self.ambiguous,
            contradictions: self.contradictions,
            excess_over_capture: self.packets as i64 - captured as i64,
        }
    }
}

/// RFC 9768 A.2.2, with the rules by which Linux 7.0 (`__tcp_accecn_process`) estimates packets from bytes.
fn resolve(step: u32, safe: u32, ce_bytes: u64, feedback: &Feedback) -> u32 {
    let &Feedback { packets, bytes, mss, .. } = feedback;
    if packets < MODULUS || ce_bytes == 0 {
        return step;
    }
    if packets >= 2 * MODULUS && bytes > 0 {
        let estimate =
            (ce_bytes * u64::from(packets)).div_ceil(bytes).min(u64::from(u32::MAX / 2)) as u32;
        return safe.min(step + estimate / MODULUS * MODULUS);
    }
    if ce_bytes > u64::from(step) * u64::from(mss) {
        safe
    } else if ce_bytes < u64::from(safe) * u64::from(mss) / 2 {
        step
    } else {
        safe
    }
}

#[cfg(test)]
mod tests;
