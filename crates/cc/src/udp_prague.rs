//! UDP Prague: L4STeam/udp_prague at e8e3435, bulk mode (prague_cc.cpp).
//!
//! It reads three running totals of its receiver (packets received, marked, missing) and acts on
//! what moved since the last acknowledgement. There is no slow start: the rate starts at
//! 100 kbit/s and grows by a packet per virtual RTT of 25 ms, faster once it had no mark for long.
//!
//! Integers are those of the original: microseconds in a wrapping `i32`, the window in millionths
//! of a byte (so that it is bytes per second times microseconds), probabilities in 2^-20.

use super::algorithm::{Algorithm, Entry, entry};
use super::{Ack, Controller, Feedback, Kernel, Needs, Output, Path, State, StateChange, Window};
use sojourn_core::ecn::Ecn;
use sojourn_core::grammar::Given;
use sojourn_core::grammar::forms::whole;
use sojourn_core::parameters;
use sojourn_core::probe::Probe;
use sojourn_core::units::{Bytes, Dur, Rate, Time};

pub(super) const ENTRY: Entry = entry::<Params>(
    "udp-prague",
    "Prague over UDP: a rate that needs no slow start, feedback by three counters.",
    "L4STeam/udp_prague e8e3435; draft-briscoe-iccrg-prague-congestion-control-04",
    Kernel::Nowhere,
);

parameters! {
    /// Parameters of `udp-prague`.
    #[derive(Copy)]
    struct Params {
        /// Largest UDP payload.
        max_packet: u64 = 1400 => whole("BYTES", MIN_PACKET..=65_507, "");
        /// First rate.
        init_rate: Rate = Rate(8 * MIN_RATE);
        /// Least rate.
        min_rate: Rate = Rate(8 * MIN_RATE);
        /// Greatest rate.
        max_rate: Rate = Rate(8 * MAX_RATE);
    }
    settle rates_in_order;
}

impl Params {
    fn rates_in_order(&self, _: &Given) -> Result<(), String> {
        let rates = [self.min_rate, self.init_rate, self.max_rate].map(Rate::bytes_per_sec);
        if rates.iter().any(|rate| !(MIN_RATE..=MAX_RATE).contains(rate)) {
            return Err("rates are from 100Kbit to 100Gbit".to_owned());
        }
        if !rates.is_sorted() {
            return Err("expected min_rate <= init_rate <= max_rate".to_owned());
        }
        Ok(())
    }
}

impl Algorithm for Params {
    fn build(&self) -> Box<dyn Controller> {
        Box::new(UdpPrague::new(*self))
    }
}

/// Least payload, bytes.
const MIN_PACKET: u64 = 150;
/// Packets of the largest size in the window before the first acknowledgement.
const INITIAL_WINDOW: u64 = 10;
/// Bytes per second: 100 kbit/s and 100 Gbit/s.
const MIN_RATE: u64 = 12_500;
const MAX_RATE: u64 = 12_500_000_000;
/// Least virtual RTT.
const REF_RTT: i32 = 25_000;
/// Paths up to this RTT work on the rate, us.
const RATE_MODE_RTT: i32 = 2_000;
/// Longer RTTs than this are forged, and their microseconds need not fit.
const MOST_RTT: u64 = 60_000_000;
/// What the rate may add to the queue per virtual RTT once growth is fast, us.
const QUEUE_GROWTH: u64 = 1_000;
const BURST_TIME: u64 = 250;
/// Virtual RTTs without a mark before growth is fast: this many, and one per `RATE_STEP` bytes per
/// second.
const MIN_STEP: u64 = 7;
const RATE_STEP: u64 = 1_920_000;
const PROB_BITS: u32 = 20;
/// Divisor of alpha's average.
const ALPHA_DIVISOR: i32 = 16;
/// Percent that pacing is above the rate in the first half of a virtual RTT, and about as much
/// below in the second.
const RATE_OFFSET: u64 = 3;
const MIN_PACKET_WINDOW: u64 = 2;
const US_PER_S: u64 = 1_000_000;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Init,
    Avoidance,
    InLoss,
    InCwr,
}

/// Where a round began: a packet count to be passed and a time.
#[derive(Clone, Copy, Debug, Default)]
struct Mark {
    at: i32,
    sent: i32,
}

/// A loss reduction that late packets may take back.
#[derive(Clone, Copy, Debug)]
struct LossCut {
    /// Packets missing before it.
    lost: i32,
    window: u64,
    rate: u64,
    rtts_to_growth: u64,
}

/// Running totals as an acknowledgement carries them.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    sent: i32,
    received: i32,
    ce: i32,
    lost: i32,
}

#[derive(Debug, Default)]
struct UdpPrague {
    params: Params,
    phase: Phase,
    rate_mode: bool,
    srtt: i32,
    virtual_rtt: i32,
    /// 2^-20.
    alpha: i32,
    alpha_mark: Mark,
    alpha_received: i32,
    alpha_ce: i32,
    loss_mark: Mark,
    cwr_mark: Mark,
    loss_cut: Option<LossCut>,
    rtts_to_growth: u64,
    last: Counts,
    /// Bytes per second.
    rate: u64,
    /// Millionths of a byte.
    window: u64,
    packet_size: u64,
    packet_burst: u64,
    packet_window: u64,
    /// When the pacing rate falls to its lower value, [`Time::NEVER`] after that.
    offset_until: Time,
}

/// Microseconds that wrap; 0 means never.
fn micros(now: Time) -> i32 {
    let us = (now.0 / 1000) as i32;
    if us == 0 { 1 } else { us }
}

fn elapsed(now: i32, since: i32) -> i32 {
    now.wrapping_sub(since)
}

impl UdpPrague {
    fn new(params: Params) -> Self {
        let mut cc = Self {
            params,
            phase: Phase::Init,
            virtual_rtt: REF_RTT,
            rtts_to_growth: params.init_rate.bytes_per_sec() / RATE_STEP + MIN_STEP,
            rate: params.init_rate.bytes_per_sec(),
            window: params.max_packet * US_PER_S,
            packet_burst: 1,
            offset_until: Time::NEVER,
            ..Self::default()
        };
        cc.packet_size = cc.fitting_packet();
        cc.packet_window = (INITIAL_WINDOW * params.max_packet).div_ceil(cc.packet_size);
        cc
    }

    /// The application found the path dead: everything but the counters starts again.
    fn reset(&mut self) {
        let last = self.last;
        let (received, ce, mark) = (self.alpha_received, self.alpha_ce, self.alpha_mark);
        *self = Self { srtt: self.srtt, last, ..Self::new(self.params) };
        (self.alpha_received, self.alpha_ce, self.alpha_mark) = (received, ce, mark);
    }

    /// Bytes at which two packets fill a virtual RTT.
    fn fitting_packet(&self) -> u64 {
        let bytes = self.rate * self.virtual_rtt as u64 / US_PER_S / 2;
        bytes.clamp(MIN_PACKET, self.params.max_packet)
    }

    /// A round since `mark`: its packets are accounted for and a virtual RTT has passed.
    fn passed(&self, now: i32, mark: Mark, seen: Counts) -> bool {
        let accounted = seen.received.wrapping_add(seen.lost);
        accounted.wrapping_sub(mark.sent) > 0 && elapsed(now, mark.at) >= self.virtual_rtt
    }

    /// PragueCC::ACKReceived() of udp_prague e8e3435, in its order, which the steps number.
    fn on_counts(&mut self, time: Time, seen: Counts) {
        let now = micros(time);
        let before = self.last;
        if seen.received.wrapping_sub(before.received) < 0 || seen.ce.wrapping_sub(before.ce) < 0 {
            return;
        }
        let mark = Mark { at: now, sent: seen.sent };
        self.virtual_rtt = self.srtt.max(REF_RTT);
        self.choose_mode();
        if self.phase == Phase::Init {
            self.window = self.srtt as u64 * self.rate;
            self.phase = Phase::Avoidance;
        }
        self.update_alpha(time, now, seen, mark);
        self.undo_loss(seen);
        if self.phase == Phase::InLoss && self.passed(now, self.loss_mark, seen) {
            self.phase = Phase::Avoidance;
        }
        if seen.lost.wrapping_sub(before.lost) > 0 && self.phase != Phase::InLoss {
            self.cut_for_loss(before.lost);
            self.phase = Phase::InLoss;
            self.loss_mark = mark;
        }
        let delivered = seen.received.wrapping_sub(before.received);
        let unmarked = delivered.wrapping_sub(seen.ce.wrapping_sub(before.ce));
        if self.phase != Phase::InLoss && unmarked > 0 {
            self.grow(unmarked as u64);
        }
        if self.phase == Phase::InCwr && self.passed(now, self.cwr_mark, seen) {
            self.phase = Phase::Avoidance;
        }
        if seen.ce.wrapping_sub(before.ce) > 0 && self.phase == Phase::Avoidance {
            self.cut_for_mark();
            self.phase = Phase::InCwr;
            self.cwr_mark = mark;
        }
        self.derive();
        self.last = seen;
    }

    /// Step 1: very short paths, and rates below a packet per RTT, have no window to speak of.
    fn choose_mode(&mut self) {
        let packet_time = self.packet_size * US_PER_S / self.rate;
        if self.srtt <= RATE_MODE_RTT || self.srtt as u64 <= packet_time {
            self.rate_mode = true;
        } else if std::mem::replace(&mut self.rate_mode, false) {
            self.window = self.srtt as u64 * self.rate;
        }
    }

    /// Step 2. The division truncates, so alpha stalls within 15 units of what it follows.
    /// L4STeam/udp_prague e8e3435, prague_cc.cpp.
    fn update_alpha(&mut self, time: Time, now: i32, seen: Counts, mark: Mark) {
        if !self.passed(now, self.alpha_mark, seen) {
            return;
        }
        let received = seen.received.wrapping_sub(self.alpha_received);
        let ce = seen.ce.wrapping_sub(self.alpha_ce);
        if received > 0 {
            let share = ((i64::from(ce) << PROB_BITS) / i64::from(received)) as i32;
            self.alpha += (share - self.alpha) / ALPHA_DIVISOR;
        }
        self.alpha_received = seen.received;
        self.alpha_ce = seen.ce;
        self.alpha_mark = mark;
        self.offset_until = time + Dur::from_micros(self.virtual_rtt as u64 / 2);
        self.rtts_to_growth = self.rtts_to_growth.saturating_sub(1);
    }

    /// Step 3: the missing packets were only late.
    fn undo_loss(&mut self, seen: Counts) {
        if let Some(cut) = self.loss_cut
            && seen.lost.wrapping_sub(cut.lost) <= 0
        {
            self.window += cut.window;
            self.rate += cut.rate;
            self.rtts_to_growth = cut.rtts_to_growth;
            self.loss_cut = None;
            self.phase = Phase::Avoidance;
        }
    }

    /// Step 5. Growth stays slow for as long as it takes to win the half back.
    fn cut_for_loss(&mut self, lost_before: i32) {
        let (window, rate) = if self.rate_mode { (0, self.rate / 2) } else { (self.window / 2, 0) };
        self.loss_cut =
            Some(LossCut { lost: lost_before, window, rate, rtts_to_growth: self.rtts_to_growth });
        let (reference, virtual_rtt) = (REF_RTT as u64, self.virtual_rtt as u64);
        let packets_per_s = self.rate / 2 / self.params.max_packet;
        self.rtts_to_growth = packets_per_s * reference / virtual_rtt * reference / US_PER_S;
        self.window -= window;
        self.rate -= rate;
    }

    /// Step 6: additive increase by a packet per virtual RTT, or by a millisecond of the rate where no
    /// mark has come for long. L4STeam/udp_prague e8e3435, prague_cc.cpp.
    fn grow(&mut self, unmarked: u64) {
        let mut increase = self.params.max_packet;
        if self.rtts_to_growth == 0 {
            increase = increase.max(self.rate * QUEUE_GROWTH / US_PER_S);
        }
        let virtual_rtt = self.virtual_rtt as u64;
        if self.rate_mode {
            let unit = self.packet_size * US_PER_S;
            let packets = ((self.rate * virtual_rtt + unit / 2) / unit).max(1);
            self.rate += unmarked * increase * US_PER_S / virtual_rtt / packets;
        } else {
            // Above 25 ms the ratio is 1 and its squares need not fit.
            let ratio = |time: i32| {
                if self.srtt < self.virtual_rtt { (time as u128) * (time as u128) } else { 1 }
            };
            let bytes = u128::from(unmarked * self.packet_size) * u128::from(increase);
            let micro = u128::from(US_PER_S * US_PER_S);
            let grown = bytes * micro * ratio(self.srtt)
                / (ratio(self.virtual_rtt) * u128::from(self.window.max(1)));
            self.window += grown as u64;
        }
    }

    /// Step 8: alpha/2 of window or rate, once per round.
    /// L4STeam/udp_prague e8e3435, prague_cc.cpp.
    fn cut_for_mark(&mut self) {
        self.rtts_to_growth = self.rate / RATE_STEP + MIN_STEP;
        let cut = |of: u64| ((u128::from(of) * self.alpha as u128) >> (PROB_BITS + 1)) as u64;
        if self.rate_mode {
            self.rate -= cut(self.rate);
        } else {
            self.window -= cut(self.window);
        }
    }

    /// Step 9: everything else follows from the window, or in rate mode from the rate.
    fn derive(&mut self) {
        let srtt = self.srtt.max(1) as u64;
        if !self.rate_mode {
            self.rate = self.window / srtt;
        }
        let (least, most) = (self.params.min_rate, self.params.max_rate);
        self.rate = self.rate.clamp(least.bytes_per_sec(), most.bytes_per_sec());
        self.window = self.rate * srtt;
        self.packet_size = self.fitting_packet();
        self.packet_burst = (self.rate * BURST_TIME / US_PER_S / self.packet_size).max(1);
        let window = self.window / US_PER_S * (100 + RATE_OFFSET) / 100 / self.packet_size + 1;
        self.packet_window = window.max(MIN_PACKET_WINDOW);
    }

    /// PragueCC::GetCCInfo(): 3 % above the rate in the first half of a virtual RTT, then 3 %
    /// below.
    fn pacing_rate(&self) -> u64 {
        if self.offset_until == Time::NEVER {
            self.rate * 100 / (100 + RATE_OFFSET)
        } else {
            self.rate * (100 + RATE_OFFSET) / 100
        }
    }
}

/// The path of a UDP flow counts packets: `snd_nxt` those sent, `delivered` those received,
/// `snd_una` those accounted for, received or missing.
fn counts(path: &Path) -> Counts {
    Counts {
        sent: path.snd_nxt as i32,
        received: path.delivered as i32,
        ce: path.delivered_ce as i32,
        lost: path.snd_una.wrapping_sub(path.delivered) as i32,
    }
}

impl Controller for UdpPrague {
    fn needs(&self) -> Needs {
        Needs {
            owns_cwnd: true,
            pacing: true,
            feedback: Some(Feedback::Counters),
            codepoint: Some(Ecn::Ect1),
            ect_on_control: true,
            ..Needs::default()
        }
    }

    fn on_established(&mut self, now: Time, _path: &Path, win: &mut Window) {
        self.alpha_mark.at = micros(now);
        self.offset_until = now + Dur::from_micros(REF_RTT as u64 / 2);
        win.cwnd = self.packet_window as u32;
    }

    fn on_ack(&mut self, now: Time, ack: &Ack<'_>, win: &mut Window) {
        if let Some(rtt) = ack.rtt {
            let rtt = rtt.as_micros().min(MOST_RTT) as i32;
            self.srtt = if self.srtt == 0 { rtt } else { self.srtt + ((rtt - self.srtt) >> 3) };
        }
        self.on_counts(now, counts(ack.path));
        win.cwnd = self.packet_window as u32;
    }

    fn ssthresh(&mut self, _now: Time, _path: &Path, win: &Window) -> u32 {
        win.ssthresh
    }

    fn on_state(&mut self, now: Time, change: StateChange, _path: &Path, win: &mut Window) {
        if change.to == State::Loss {
            self.reset();
            self.offset_until = now + Dur::from_micros(self.virtual_rtt as u64 / 2);
            win.cwnd = self.packet_window as u32;
        }
    }

    fn wake(&self) -> Time {
        self.offset_until
    }

    fn on_wake(&mut self, now: Time, _win: &mut Window) {
        if self.offset_until <= now {
            self.offset_until = Time::NEVER;
        }
    }

    fn output(&self, _path: &Path, _win: &Window) -> Output {
        Output {
            cwnd: Some(Bytes(self.packet_window * self.packet_size)),
            pacing_rate: Some(Rate(self.pacing_rate() * 8)),
            burst: Some(self.packet_burst as u32),
            least_burst: None,
            mss: Some(self.packet_size as u32),
            app_limited: false,
            media_target: None,
        }
    }

    fn probe(&self, out: &mut Probe<'_>) {
        out.put("alpha", "1", f64::from(self.alpha) / f64::from(1 << PROB_BITS));
        out.put("rate", "Mbit/s", Rate(self.rate * 8).as_mbps());
        out.put("packet_size", "bytes", self.packet_size as f64);
        out.put("rtts_to_growth", "1", self.rtts_to_growth as f64);
        out.put("rate_mode", "1", f64::from(u8::from(self.rate_mode)));
    }
}

#[cfg(test)]
mod tests;
