//! The endpoint's kernel that a scenario asks for: its era's row, with the cells that it sets itself.

use sojourn_cc::HystartEra;
use sojourn_scenario::kernel::{AceFlag, CwndLimitedFlag, HystartFlag, PrrFlag};
use sojourn_scenario::{Era as EraName, Tcp};
use sojourn_transport::tcp::{AceReading, CwndLimited, Era, Kernel, PrrRule};

pub(crate) fn kernel(tcp: &Tcp) -> Kernel {
    let era = match tcp.era {
        EraName::E2019 => Era::E2019,
        EraName::E2020 => Era::E2020,
        EraName::E5_15 => Era::E5_15,
        EraName::E6 => Era::E6,
        EraName::E7 => Era::E7,
    };
    let (row, flags) = (era.kernel(), &tcp.kernel);
    Kernel {
        hystart: flags.hystart.map_or(row.hystart, |flag| match flag {
            HystartFlag::Until2020 => HystartEra::Until2020,
            HystartFlag::Until5_15 => HystartEra::Until5_15,
            HystartFlag::Newer => HystartEra::Newer,
        }),
        prr: flags.prr.map_or(row.prr, |flag| match flag {
            PrrFlag::Linux5 => PrrRule::Linux5,
            PrrFlag::Linux6 => PrrRule::Linux6,
            PrrFlag::Rfc9937 => PrrRule::Rfc9937,
        }),
        cwnd_limited: flags.cwnd_limited.map_or(row.cwnd_limited, |flag| match flag {
            CwndLimitedFlag::Latest => CwndLimited::Latest,
            CwndLimitedFlag::Sticky => CwndLimited::Sticky,
        }),
        window_share: flags.window_share.unwrap_or(row.window_share),
        tso_rtt_log: flags.tso_rtt_log.unwrap_or(row.tso_rtt_log),
        comp_sack_rtt_percent: flags.comp_sack_rtt_percent.unwrap_or(row.comp_sack_rtt_percent),
        comp_sack_slack: flags.comp_sack_slack.unwrap_or(row.comp_sack_slack),
        ace: match flags.ace {
            _ if tcp.ecn_unsafe_cep => AceReading::Least,
            Some(AceFlag::Greatest) => AceReading::Greatest,
            Some(AceFlag::ByAckSize) => AceReading::ByAckSize,
            Some(AceFlag::Least) => AceReading::Least,
            None => row.ace,
        },
        push_bursts: flags.push_bursts.unwrap_or(row.push_bursts),
        ack_pushed: flags.ack_pushed.unwrap_or(row.ack_pushed),
        tso_defer_soon: flags.tso_defer_soon.unwrap_or(row.tso_defer_soon),
        drs_exact: flags.drs_exact.unwrap_or(row.drs_exact),
        tso_buffers: flags.tso_buffers.unwrap_or(row.tso_buffers),
        accecn_edge_acks: flags.accecn_edge_acks.unwrap_or(row.accecn_edge_acks),
        reader_acks: flags.reader_acks.unwrap_or(row.reader_acks),
        certain_sacks: row.certain_sacks,
        paws: flags.paws.unwrap_or(row.paws),
        frto: flags.frto.unwrap_or(row.frto),
        undo: flags.undo.unwrap_or(row.undo),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ecn_unsafe_cep_goes_before_era_and_ace() {
        for (words, expected) in [
            ("era = \"2020\"", AceReading::Greatest),
            ("era = \"7.x\"", AceReading::ByAckSize),
            ("era = \"2020\"\nace = \"by_ack_size\"", AceReading::ByAckSize),
            ("era = \"7.x\"\necn_unsafe_cep = true", AceReading::Least),
            ("ace = \"greatest\"\necn_unsafe_cep = true", AceReading::Least),
            ("ace = \"least\"\necn_unsafe_cep = false", AceReading::Least),
        ] {
            let text = format!(
                "name = \"x\"\nduration = \"1s\"\n[tcp]\n{words}\n[[link]]\nname = \"l\"\n\
                 rate = \"1Mbit\"\n[[flow]]\nname = \"f\"\ncc = \"reno\"\n"
            );
            let parsed = sojourn_scenario::load(&text, "x.toml", &[]).expect("valid");
            assert_eq!(kernel(&parsed.scenario.flows[0].tcp).ace, expected, "{words}");
        }
    }
}
