//! Packet trains: what is offered to a queue, fixed before it starts, whatever the queue does.

#![allow(clippy::disallowed_methods, reason = "no result of a run")]

use std::fmt::Write as _;

use sojourn_core::rng::Rng;

/// One packet of a train.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offered {
    /// When it is sent, in nanoseconds from the start of the train.
    pub time_ns: u64,
    /// Number of its flow, from 0.
    pub flow: u16,
    /// Bytes of the Ethernet frame without FCS, at least 46.
    pub len: u32,
    /// DSCP and ECN.
    pub tos: u8,
}

/// Packets in order of time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Train {
    /// The packets; the index is the sequence number.
    pub packets: Vec<Offered>,
}

/// How a train's packets follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Independent packets at 90 % of the rate.
    Poisson,
    /// Clusters of 1 to 60 packets, 80 % of the rate on average.
    Bursts,
    /// Twice the rate for 0.3 s, then silence for 0.3 s.
    OnOff,
    /// Independent packets at 1.3 times the rate.
    Overload,
    /// 20 packets at once, then one each time that one leaves: a constant queue.
    Held,
    /// One quarter each of overload, on/off, bursts and Poisson: every regime of a controller.
    Mixed,
}

impl Shape {
    /// The shapes that are not made of others.
    pub const PLAIN: [Self; 4] = [Self::Poisson, Self::Bursts, Self::OnOff, Self::Overload];

    /// The name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Poisson => "poisson",
            Self::Bursts => "bursts",
            Self::OnOff => "on/off",
            Self::Overload => "overload",
            Self::Held => "held",
            Self::Mixed => "mixed",
        }
    }
}

/// What a train is drawn from.
#[derive(Clone, Copy, Debug)]
pub struct Recipe {
    /// How packets follow each other.
    pub shape: Shape,
    /// The rate that the shape's loads refer to, in bit/s.
    pub rate_bps: u64,
    /// Length in nanoseconds.
    pub duration_ns: u64,
    /// Flows, chosen with equal probability for each packet.
    pub flows: u16,
    /// TOS bytes, chosen with equal probability for each packet.
    pub tos: &'static [u8],
    /// Frame sizes, chosen with equal probability for each packet.
    pub lens: &'static [u32],
}

/// Between packets of a cluster: 6 Gbit/s. The sender has to sleep, or the receiver, on the guest's
/// only processor, would note the whole cluster late.
const CLUSTER_NS: u64 = 2048;

impl Recipe {
    /// The train that `seed` draws.
    pub fn draw(&self, seed: u64) -> Train {
        let mut rng = Rng::named(seed, "train");
        let mut train = Train { packets: Vec::new() };
        if self.shape == Shape::Mixed {
            let quarter = self.duration_ns / 4;
            let order = [Shape::Overload, Shape::OnOff, Shape::Bursts, Shape::Poisson];
            for (shape, nth) in order.into_iter().zip(0..) {
                self.part(shape, nth * quarter, (nth + 1) * quarter, &mut rng, &mut train);
            }
        } else {
            self.part(self.shape, 0, self.duration_ns, &mut rng, &mut train);
        }
        train
    }

    fn part(&self, shape: Shape, from: u64, to: u64, rng: &mut Rng, train: &mut Train) {
        let sum: u64 = self.lens.iter().map(|&len| u64::from(len)).sum();
        let packet_ns = sum as f64 * 8e9 / self.lens.len() as f64 / self.rate_bps as f64;
        let mut now = from;
        loop {
            let (load, cluster) = match shape {
                Shape::Poisson => (0.9, 1),
                Shape::Bursts => (0.8, 1 + rng.below(60)),
                Shape::OnOff => (2.0, 1),
                Shape::Held if now == from => (1.0, 20),
                Shape::Held => (1.0, 1),
                Shape::Overload | Shape::Mixed => (1.3, 1),
            };
            let mean = packet_ns / load * f64::from(cluster);
            now += match shape {
                Shape::Held => packet_ns as u64,
                _ => (-mean * (1.0 - rng.unit()).ln()) as u64,
            };
            if shape == Shape::OnOff && (now - from) % 600_000_000 >= 300_000_000 {
                now = from + (now - from).next_multiple_of(600_000_000);
            }
            if now >= to {
                return;
            }
            for _ in 0..cluster {
                now += CLUSTER_NS * u64::from(cluster > 1);
                train.packets.push(Offered {
                    time_ns: now,
                    flow: rng.below(u32::from(self.flows)) as u16,
                    len: self.lens[rng.below(self.lens.len() as u32) as usize],
                    tos: self.tos[rng.below(self.tos.len() as u32) as usize],
                });
            }
        }
    }
}

impl Train {
    /// One line per packet: time, flow, length, TOS.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for p in &self.packets {
            let _ = writeln!(text, "{} {} {} {}", p.time_ns, p.flow, p.len, p.tos);
        }
        text
    }

    /// Reads what [`Train::text`] wrote; the error names the line.
    pub fn parse(text: &str) -> Result<Self, String> {
        let packets = text.lines().zip(1..).map(|(line, number)| {
            let numbers: Option<Vec<u64>> = line.split(' ').map(|w| w.parse().ok()).collect();
            match numbers.as_deref() {
                Some(&[time_ns, flow, len @ 46..=1514, tos]) if tos < 256 && flow < 1000 => {
                    Ok(Offered { time_ns, flow: flow as u16, len: len as u32, tos: tos as u8 })
                }
                _ => Err(format!("line {number}: expected `time flow length tos`, got `{line}`")),
            }
        });
        Ok(Self { packets: packets.collect::<Result<_, _>>()? })
    }
}

#[cfg(test)]
mod tests;
