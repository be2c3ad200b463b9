//! The `[tcp]` tables: values of the first table that has them, and their bounds.

use crate::check::{Key, between};
use crate::doc::Doc;
use crate::error::ScenarioError;
use crate::file::{EcnName, EraName, SceName, TcpTable};
use crate::kernel::KernelFlags;
use crate::scenario::{EcnMode, Era, SceMode, Tcp};
use sojourn_core::Dur;

/// The first of `tables` that holds a key gives its value; without one ECN is `feedback`.
pub(crate) fn tcp(
    doc: &Doc,
    key: &Key,
    tables: &[&TcpTable],
    feedback: EcnName,
) -> Result<Tcp, ScenarioError> {
    macro_rules! first {
        ($field:ident, $default:expr) => {
            tables.iter().find_map(|table| table.$field).unwrap_or($default)
        };
    }
    macro_rules! flag {
        ($field:ident) => {
            tables.iter().find_map(|table| table.$field)
        };
    }
    let size = |bytes| sojourn_core::Bytes(bytes);
    let tcp = Tcp {
        era: match first!(era, EraName::E2020) {
            EraName::E2019 => Era::E2019,
            EraName::E2020 => Era::E2020,
            EraName::E5_15 => Era::E5_15,
            EraName::E6 => Era::E6,
            EraName::E7 => Era::E7,
        },
        ecn: match first!(ecn, feedback) {
            EcnName::AccEcn => EcnMode::AccEcn,
            EcnName::Rfc3168 => EcnMode::Rfc3168,
            EcnName::Dctcp => EcnMode::Dctcp,
            EcnName::Sce => EcnMode::Sce,
            EcnName::Off => EcnMode::Off,
        },
        accecn_option: first!(accecn_option, false),
        ecn_unsafe_cep: first!(ecn_unsafe_cep, false),
        sce_feedback: match first!(sce_feedback, SceName::Advanced) {
            SceName::Advanced => SceMode::Advanced,
            SceName::Dithered => SceMode::Dithered,
        },
        ecn_plus_plus: first!(ecn_plus_plus, false),
        kernel: KernelFlags {
            hystart: flag!(hystart),
            prr: flag!(prr),
            cwnd_limited: flag!(cwnd_limited),
            window_share: flag!(window_share),
            tso_rtt_log: flag!(tso_rtt_log),
            comp_sack_rtt_percent: flag!(comp_sack_rtt_percent),
            comp_sack_slack: flag!(comp_sack_slack),
            ace: flag!(ace),
            push_bursts: flag!(push_bursts),
            ack_pushed: flag!(ack_pushed),
            tso_defer_soon: flag!(tso_defer_soon),
            tso_buffers: flag!(tso_buffers),
            drs_exact: flag!(drs_exact),
            accecn_edge_acks: flag!(accecn_edge_acks),
            reader_acks: flag!(reader_acks),
            paws: flag!(paws),
            frto: flag!(frto),
            undo: flag!(undo),
        },
        mtu: first!(mtu, 1500),
        timestamps: first!(timestamps, true),
        initial_cwnd: first!(initial_cwnd, 10),
        rmem_default: first!(rmem_default, size(128 << 10)).0,
        rmem_max: first!(rmem_max, size(6 << 20)).0,
        wmem_max: first!(wmem_max, size(4 << 20)).0,
        pacing_ss_ratio: first!(pacing_ss_ratio, 200),
        pacing_ca_ratio: first!(pacing_ca_ratio, 120),
        pacing: first!(pacing, false),
        gso: first!(gso, false),
        gro: first!(gro, false),
        gro_flush_timeout: first!(gro_flush_timeout, Dur::from_micros(20)),
        tsq: first!(tsq, false),
        limit_output_bytes: first!(limit_output_bytes, size(1 << 20)).0,
        hz: first!(hz, 1000),
    };
    let kernel = &tcp.kernel;
    for (field, value, low, high) in [
        ("window_share", kernel.window_share, 1, 256),
        ("tso_rtt_log", kernel.tso_rtt_log, 0, 31),
        ("comp_sack_rtt_percent", kernel.comp_sack_rtt_percent, 1, 1000),
    ] {
        if let Some(value) = value {
            between(doc, key, field, u64::from(value), low, high)?;
        }
    }
    between(doc, key, "mtu", u64::from(tcp.mtu), 576, 65535)?;
    between(doc, key, "initial_cwnd", u64::from(tcp.initial_cwnd), 1, 65535)?;
    between(doc, key, "rmem_max", tcp.rmem_max, 4096, i32::MAX as u64)?;
    between(doc, key, "rmem_default", tcp.rmem_default, 4096, tcp.rmem_max)?;
    between(doc, key, "wmem_max", tcp.wmem_max, 4096, i32::MAX as u64)?;
    between(doc, key, "pacing_ss_ratio", u64::from(tcp.pacing_ss_ratio), 1, 1000)?;
    between(doc, key, "pacing_ca_ratio", u64::from(tcp.pacing_ca_ratio), 1, 1000)?;
    between(doc, key, "limit_output_bytes", tcp.limit_output_bytes, 4096, i32::MAX as u64)?;
    let timeout = "expected at most 1s";
    doc.check(
        tcp.gro_flush_timeout <= Dur::from_secs(1),
        &key.field("gro_flush_timeout"),
        timeout,
    )?;
    let hz = format!("expected 100, 250, 300 or 1000, got {}", tcp.hz);
    doc.check([100, 250, 300, 1000].contains(&tcp.hz), &key.field("hz"), &hz)?;
    Ok(tcp)
}
