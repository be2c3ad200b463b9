use super::*;
use crate::qdiscs::read;
use sojourn_core::packet::{Kind, Packet};
use sojourn_core::rng::Rng;

fn of(text: &str) -> Result<Vec<Rewrite>, String> {
    let spec = read(text, &crate::aqm::Env::ethernet(Rng::named(1, "t"))).expect("valid");
    rewrites(&spec).expect("a mangler")
}

fn rewritten(rewrites: &[Rewrite], mut tos: u8) -> u8 {
    for rewrite in rewrites.iter().filter(|rewrite| rewrite.flags.is_none()) {
        if tos & rewrite.tos[1] == rewrite.tos[0] {
            tos = tos & rewrite.keep | rewrite.set;
        }
    }
    tos
}

/// The filters do to every TOS byte what the element does.
#[test]
fn they_make_of_every_tos_byte_what_the_element_makes_of_it() {
    for text in [
        "mangle set-tos 0x01",
        "mangle dscp 1 set-tos 0x01",
        "mangle ect0 set-ecn ect1",
        "mangle tos-mask 0xe0 ce-everything",
        "mangle ce-everything set-dscp 46",
        "mangle sce-strip bleach-dscp",
        "mangle not-ect ect0 set-ecn ect1 set-dscp 3",
        "mangle rule ect0 set-ecn ect1 rule ect1 set-ecn ce rule dscp 0 set-dscp 8",
    ] {
        let found = of(text).expect("filters");
        let spec = read(text, &crate::aqm::Env::ethernet(Rng::named(1, "t"))).expect("valid");
        for tos in 0..=u8::MAX {
            let mut pkt = Packet { kind: Kind::Udp, tos, ..Packet::default() };
            let rules = spec.params::<Rules<Action>>().expect("a mangler");
            for rule in &mut rules.rules.clone() {
                if rule.takes(&pkt, &mut Rng::named(1, "t")) {
                    rule.actions.iter().for_each(|action| action.apply(&mut pkt));
                }
            }
            assert_eq!(rewritten(&found, tos), pkt.tos, "{text}: {tos:#04x}");
        }
    }
}

#[test]
fn segments_without_a_lone_syn_are_two_filters() {
    let both = of("mangle proto tcp non-syn dscp 1 set-tos 0x01").expect("filters");
    let flags: Vec<_> = both.iter().map(|rewrite| rewrite.flags).collect();
    assert_eq!(flags, [Some([0x00, 0x02]), Some([0x12, 0x12])]);
    assert!(both.iter().all(|rewrite| rewrite.protocol == Some("tcp")));
    assert!(
        both.iter().all(|rewrite| (rewrite.tos, rewrite.keep, rewrite.set) == ([4, 0xfc], 0, 1))
    );
}

#[test]
fn what_no_filter_does_is_named() {
    for (text, what) in [
        ("mangle data nth 100 set-ecn ce", "`data`"),
        ("mangle percent 10% bleach-ecn", "`percent`"),
        ("mangle syn clear-flags ae", "`clear-flags`"),
        ("mangle ack set-tos 0", "`ack`"),
    ] {
        assert!(of(text).expect_err("no filter").contains(what), "{text}");
    }
}
