//! Datagrams of L4STeam/udp_prague (`pkt_format.h`): data with a number and a time, and the running totals that
//! answer them. Times are of 32 bits, in microseconds.

use sojourn_core::Time;
use sojourn_transport::udp::{Data, Message, Report};

use crate::udp::Header;
use crate::{be32, put32};

/// First byte: data of a bulk transfer, and the totals (`BULK_DATA_TYPE`, `PKT_ACK_TYPE`).
const DATA: u8 = 1;
const ACK: u8 = 17;
/// Type, time, echoed time, number.
const DATA_BYTES: usize = 13;
/// Type, number, time, echoed time, packets received, marked and lost, error.
const ACK_BYTES: usize = 26;
const NS_PER_US: u64 = 1000;

impl Header {
    /// Writes data or totals that leave now. None if there is no room for it, or none for the header of the
    /// data in these.
    pub fn write_counted<'a>(
        &self,
        now: Time,
        message: &Message,
        out: &'a mut [u8],
    ) -> Option<&'a mut [u8]> {
        match message {
            Message::Data(data) => {
                (data.len as usize >= DATA_BYTES).then_some(())?;
                let fill = |body: &mut [u8]| {
                    body.fill(0);
                    body[0] = DATA;
                    put32(body, 1, micros(data.sent));
                    put32(body, 9, data.seq as u32);
                };
                self.write_with(data.len as usize, fill, out)
            }
            Message::Report(report) => {
                let fill = |body: &mut [u8]| {
                    body[0] = ACK;
                    let echo = micros(report.echo);
                    let [received, ce, lost] =
                        [report.received, report.ce, report.lost].map(|n| n as u32);
                    let words = [report.seq as u32, micros(now), echo, received, ce, lost];
                    for (at, word) in (1..).step_by(4).zip(words) {
                        put32(body, at, word);
                    }
                    body[ACK_BYTES - 1] = report.error.into();
                };
                self.write_with(ACK_BYTES, fill, out)
            }
        }
    }
}

/// Reads what arrives now: times are the latest that are not after it, and no total has more than 32 bits.
pub fn read(now: Time, payload: &[u8]) -> Option<Message> {
    let word = |at: usize| u64::from(be32(payload, at));
    let time = |at: usize| {
        let ago = micros(now).wrapping_sub(be32(payload, at));
        let micros = (now.0 / NS_PER_US).saturating_sub(ago.into());
        Time(micros * NS_PER_US)
    };
    match *payload.first()? {
        DATA if payload.len() >= DATA_BYTES => {
            Some(Message::Data(Data { seq: word(9), sent: time(1), len: payload.len() as u32 }))
        }
        ACK if payload.len() >= ACK_BYTES => Some(Message::Report(Report {
            seq: word(1),
            echo: time(9),
            received: word(13),
            ce: word(17),
            lost: word(21),
            error: payload[ACK_BYTES - 1] != 0,
        })),
        _ => None,
    }
}

fn micros(time: Time) -> u32 {
    (time.0 / NS_PER_US) as u32
}

#[cfg(test)]
mod tests;
