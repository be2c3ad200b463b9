//! What `tc -s` prints, under its names; those of a tin follow the tin's.

use super::Cake;
use super::priority::Name;
use super::tins::Tin;
use crate::aqm::Stats;

macro_rules! columns {
    ($tin:literal) => {
        [
            concat!($tin, ".thresh"),
            concat!($tin, ".target"),
            concat!($tin, ".interval"),
            concat!($tin, ".pk_delay"),
            concat!($tin, ".av_delay"),
            concat!($tin, ".sp_delay"),
            concat!($tin, ".backlog"),
            concat!($tin, ".pkts"),
            concat!($tin, ".bytes"),
            concat!($tin, ".way_inds"),
            concat!($tin, ".way_miss"),
            concat!($tin, ".way_cols"),
            concat!($tin, ".sce"),
            concat!($tin, ".drops"),
            concat!($tin, ".marks"),
            concat!($tin, ".ack_drop"),
            concat!($tin, ".sp_flows"),
            concat!($tin, ".bk_flows"),
            concat!($tin, ".un_flows"),
            concat!($tin, ".max_len"),
            concat!($tin, ".quantum"),
        ]
    };
}

type Columns = [&'static str; 21];

const TINS: [Columns; 8] = [
    columns!("tin0"),
    columns!("tin1"),
    columns!("tin2"),
    columns!("tin3"),
    columns!("tin4"),
    columns!("tin5"),
    columns!("tin6"),
    columns!("tin7"),
];
const BULK: Columns = columns!("bulk");
const BEST_EFFORT: Columns = columns!("best_effort");
const VIDEO: Columns = columns!("video");
const VOICE: Columns = columns!("voice");

/// Values in the order of the columns: rates in bit/s, times in microseconds.
fn values(tin: &Tin) -> [f64; 21] {
    let c = &tin.counters;
    let us = |ns: u64| (ns / 1000) as f64;
    [
        tin.rate as f64 * 8.0,
        us(tin.law.target),
        us(tin.law.interval),
        us(c.peak_delay),
        us(c.avg_delay),
        us(c.base_delay),
        tin.backlog as f64,
        c.packets as f64,
        c.bytes as f64,
        c.way_hits as f64,
        c.way_misses as f64,
        c.way_collisions as f64,
        c.sce as f64,
        c.drops as f64,
        c.marks as f64,
        c.ack_drops as f64,
        // tc counts remembered flows among the sparse ones.
        f64::from(tin.sparse + tin.decaying),
        f64::from(tin.bulk),
        f64::from(c.unresponsive),
        f64::from(c.max_len),
        f64::from(tin.flow_quantum),
    ]
}

pub(super) fn report(cake: &Cake, out: &mut Stats) {
    let sizes = &cake.sizes;
    out.put("overlimits", cake.overlimits as f64);
    out.put("drop_overlimit", cake.drop_overlimit as f64);
    out.put("memory_used", cake.memory_most as f64);
    out.put("memory_limit", cake.memory_limit as f64);
    out.put("capacity_estimate", cake.autorate.peak as f64 * 8.0);
    out.put("min_network_size", sizes.min_net);
    out.put("max_network_size", sizes.max_net);
    out.put("min_adj_size", sizes.min_adj);
    out.put("max_adj_size", sizes.max_adj);
    out.put("avg_hdr_offset", sizes.offset() as f64);
    for (index, name) in cake.params.tins.display() {
        let columns = match name {
            Name::Bulk => &BULK,
            Name::BestEffort => &BEST_EFFORT,
            Name::Video => &VIDEO,
            Name::Voice => &VOICE,
            Name::Tin(i) => &TINS[usize::from(*i)],
        };
        for (column, value) in columns.iter().zip(values(&cake.tins[*index])) {
            out.put(*column, value);
        }
    }
}
