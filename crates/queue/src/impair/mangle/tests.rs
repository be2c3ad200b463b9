use super::*;
use crate::aqm::{Backlog, Env, Event, Qdisc};
use crate::qdiscs::{build, change};
use sojourn_core::packet::Kind;
use sojourn_core::units::Time;

fn make(text: &str) -> Box<dyn Qdisc> {
    build(text, Env::ethernet(Rng::named(1, "t"))).unwrap_or_else(|e| panic!("{e}"))
}

/// What `pkt` has become, and whether the log says that its codepoint changed.
fn through(q: &mut dyn Qdisc, pkt: Packet) -> (Packet, bool) {
    let mut log = Log::default();
    q.enqueue(Time(9), pkt, &mut log);
    let marked = match log.events() {
        [] => false,
        [Event::Mark(_, Reason::Middlebox)] => true,
        other => panic!("{other:?}"),
    };
    let out = q.dequeue(Time(9), &mut log).expect("a packet without delay");
    assert_eq!((out.stamp, q.backlog(), q.wake()), (Time(9), Backlog::default(), Time::NEVER));
    (out, marked)
}

fn tos_after(text: &str, kind: Kind, tos: u8) -> u8 {
    through(&mut *make(text), Packet { kind, tos, len: 100, ..Packet::default() }).0.tos
}

fn data(tos: u8) -> Packet {
    Packet { tos, len: 1514, ..Packet::default() }
}

// The mangler of scenario 4 of the SCE-L4S bakeoff of 2019, one flow and two.
#[test]
fn seed_mangler_writes_the_whole_byte_of_tcp_but_not_of_syn_and_ping() {
    let one = "mangle proto tcp non-syn set-tos 0x01";
    for kind in [Kind::TcpData, Kind::TcpAck, Kind::TcpControl] {
        for tos in [0x00, 0x02, 0x03, 0xb8, 0x2b] {
            assert_eq!(tos_after(one, kind, tos), 0x01);
        }
    }
    assert_eq!(tos_after(one, Kind::Icmp, 0x28), 0x28);
    assert_eq!(tos_after(one, Kind::Udp, 0x28), 0x28);
    let mut syn = Packet { kind: Kind::TcpControl, tos: 0x28, ..Packet::default() };
    syn.set_syn(false);
    assert_eq!(through(&mut *make(one), syn).0.tos, 0x28);
    // iptables' --syn is SYN without ACK, so the answer is rewritten.
    let mut answer = Packet { kind: Kind::TcpControl, tos: 0x28, ..Packet::default() };
    answer.set_syn(true);
    assert_eq!(through(&mut *make(one), answer).0.tos, 0x01);
    let two = "mangle proto tcp non-syn dscp 1 set-tos 0x01";
    assert_eq!(tos_after(two, Kind::TcpData, 0x06), 0x01);
    assert_eq!(tos_after(two, Kind::TcpData, 0x02), 0x02);
}

// Marks made upstream are destroyed; the variants keep the DSCP.
#[test]
fn set_tos_destroys_marks_and_set_ecn_keeps_the_dscp() {
    assert_eq!(through(&mut *make("mangle set-tos 0x01"), data(0x2b)).0.tos, 0x01);
    for (text, after) in [
        ("mangle set-ecn ect1", [1, 1, 1, 1]),
        ("mangle ect0 set-ecn ect1", [0, 1, 1, 3]),
        ("mangle ect1 set-ecn ect0", [0, 2, 2, 3]),
        ("mangle ce set-ecn ect1", [0, 1, 2, 1]),
        ("mangle ce set-ecn not-ect", [0, 1, 2, 0]),
    ] {
        for (before, after) in (0..4_u8).zip(after) {
            let (pkt, marked) = through(&mut *make(text), data(0x28 | before));
            assert_eq!((pkt.tos, marked), (0x28 | after, before != after), "{text} on {before}");
        }
    }
}

#[test]
fn bleaches_and_forbidden_changes_do_what_their_names_say() {
    for (text, after) in [
        ("mangle bleach-ecn", [0xb8, 0xb8, 0xb8, 0xb8]),
        ("mangle bleach-dscp", [0x00, 0x01, 0x02, 0x03]),
        // 0xb8 is precedence 5: its low DSCP bits go, and ECN with them.
        ("mangle tos-mask 0xe0", [0xa0, 0xa0, 0xa0, 0xa0]),
        ("mangle ce-everything", [0xb8, 0xbb, 0xbb, 0xbb]),
        ("mangle not-ect set-ecn ect0", [0xba, 0xb9, 0xba, 0xbb]),
        ("mangle sce-strip", [0xb8, 0xba, 0xba, 0xbb]),
        ("mangle set-dscp 0x2d", [0xb4, 0xb5, 0xb6, 0xb7]),
    ] {
        for (before, after) in (0..4_u8).zip(after) {
            let (pkt, _) = through(&mut *make(text), data(0xb8 | before));
            assert_eq!(pkt.tos, after, "{text} on {before}");
        }
    }
}

// For a percentage.
#[test]
fn percentage_is_met_and_repeats_with_its_seed() {
    let bleached = || {
        let mut q = make("mangle percent 30% bleach-ecn");
        (0..20_000).filter(|_| through(&mut *q, data(2)).1).count()
    };
    let count = bleached();
    // Six standard deviations of 65.
    assert!(count.abs_diff(6000) < 390, "{count}");
    assert_eq!(count, bleached());
}

#[test]
fn flags_are_cleared_where_the_selector_says() {
    let with = |kind, ace| Packet { kind, ace, ..Packet::default() };
    let flags = |text: &str, pkt| through(&mut *make(text), pkt).0.ecn_flags();
    let esce = "mangle ack clear-flags ae";
    assert_eq!(flags(esce, with(Kind::TcpAck, 0b101)), 0b001);
    assert_eq!(flags(esce, with(Kind::TcpData, 0b101)), 0b101);
    let strip = "mangle rule syn clear-flags ae,cwr,ece rule syn-ack clear-flags ece,ae,cwr";
    for ack in [false, true] {
        let mut pkt = with(Kind::TcpControl, 0b111);
        pkt.set_syn(ack);
        let (out, _) = through(&mut *make(strip), pkt);
        assert_eq!((out.ecn_flags(), out.is_syn(), out.is_syn_ack()), (0, !ack, ack));
    }
    assert_eq!(flags(strip, with(Kind::TcpControl, 0b010)), 0b010);
    let mut corrupt = with(Kind::TcpAck, 0b111);
    corrupt.set_corrupt();
    assert!(through(&mut *make("mangle clear-flags ae,cwr,ece"), corrupt).0.is_corrupt());
}

#[test]
fn rules_act_in_order_on_what_the_ones_before_made() {
    let swap = "mangle rule ect0 set-ecn ect1 rule ect1 set-ecn ect0";
    let (pkt, marked) = through(&mut *make(swap), data(2));
    assert_eq!((pkt.tos, marked), (2, false), "there and back");
    assert_eq!(through(&mut *make(swap), data(1)).0.tos, 2);
    let mut q = make("mangle rule ect0 set-dscp 8 set-ecn ce rule dscp 8 set-tos 0x10");
    assert_eq!(through(&mut *q, data(2)).0.tos, 0x10);
    assert_eq!(through(&mut *q, data(1)).0.tos, 0x01);
    let mut stats = Stats::default();
    q.stats(&mut stats);
    assert_eq!((stats.value("matched"), stats.value("rewritten")), (Some(1.0), Some(1.0)));
}

#[test]
fn description_is_canonical_and_a_change_replaces_all_rules() {
    let mut q =
        make("mangle set-tos 1 non-syn dscp 0x2e ect1 ce nth 3 burst 2 rule clear-flags ece,ae");
    assert_eq!(
        q.describe(),
        "mangle rule dscp 46 non-syn nth 3 burst 2 ect1 ce set-tos 0x01 rule all clear-flags ae,ece"
    );
    change(&mut *q, Time::ZERO, "mangle data percent 0.1% bleach-ecn", &mut Log::default())
        .unwrap();
    assert_eq!(q.describe(), "mangle rule data percent 0.1% bleach-ecn");
}

#[test]
fn mistakes_are_named() {
    for (text, error) in [
        ("proto tcp", "mangle: a rule needs an action such as `set-tos 0x01`"),
        ("rule rule set-tos 1", "mangle: `rule` needs a selector or an action"),
        ("set-tos 0x01 rule", "mangle: `rule` needs a selector or an action"),
        (
            "set-tos 0x100",
            "mangle: `set-tos 0x100`: expected a number from 0 to 255, such as 46 or 0x2e",
        ),
        (
            "set-dscp 64",
            "mangle: `set-dscp 64`: expected a number from 0 to 63, such as 46 or 0x2e",
        ),
        ("set-ecn sce", "mangle: `set-ecn sce`: expected one of not-ect, ect0, ect1, ce"),
        ("clear-flags ae,ns", "mangle: `clear-flags ae,ns`: expected flags such as `ae,cwr,ece`"),
        (
            "every 3 percent 5% bleach-ecn",
            "mangle: a rule takes one of `percent`, `every`, `nth` and `list`",
        ),
        ("burst 2 bleach-ecn", "mangle: `burst` needs `every` or `nth`"),
        ("every 3 burst 4 bleach-ecn", "mangle: `burst` is at most `every`"),
        (
            "proto udp non-syn bleach-ecn",
            "mangle: `syn`, `non-syn`, `syn-ack` and `ack` are for TCP",
        ),
        ("percent 5 bleach-ecn", "mangle: `percent 5`: expected a percentage from 0% to 100%"),
        ("list 3,0 bleach-ecn", "mangle: `list 3,0`: expected packet numbers such as `3,7,9`"),
    ] {
        let env = Env::ethernet(Rng::named(1, "t"));
        let got = build(&format!("mangle {text}"), env).err().expect(text);
        assert_eq!(got.0, error);
    }
}
