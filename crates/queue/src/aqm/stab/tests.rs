use super::*;

// KAT framing 1
#[test]
fn framings_weigh_what_the_link_carries() {
    for (framing, len, wire) in [
        (Framing::Atm(10), 1514, 1696),
        (Framing::Atm(-14), 62, 53),
        (Framing::Atm(-14), 63, 106),
        (Framing::Ptm, 1514, 1538),
        (Framing::Ptm, 64, 65),
        (Framing::EthernetWire, 1514, 1538),
        (Framing::EthernetWire, 42, 84),
        (Framing::Docsis, 1514, 1518),
        (Framing::Docsis, 42, 64),
    ] {
        assert_eq!(framing.wire_len(len), wire, "{framing:?} {len}");
    }
}

// Linux 6.12 sch_api.c __qdisc_calculate_pkt_len().
#[test]
fn tables_charge_what_linux_charges() {
    let plain = SizeTableParams { overhead: 24, ..SizeTableParams::default() };
    let wire = SizeTableParams { mpu: 84, ..plain };
    let cells =
        SizeTableParams { overhead: 10, linklayer: LinkLayer::Atm, ..SizeTableParams::default() };
    let small = SizeTableParams { overhead: 0, tsize: 128, mtu: 1000, ..cells };
    let shorter = SizeTableParams { overhead: -10, mpu: 84, mtu: 1600, tsize: 64, ..plain };
    // Bytes that Linux 7.2 counts for frames of these lengths.
    for (params, sizes) in [
        (plain, [(142, 166), (1514, 1538)]),
        (wire, [(60, 84), (1514, 1540)]),
        (wire, [(142, 168), (1514, 1540)]),
        (cells, [(142, 212), (1514, 1696)]),
        (small, [(60, 106), (1514, 1749)]),
        (shorter, [(142, 160), (1514, 1504)]),
    ] {
        let table = SizeTable::new(params);
        for (len, charged) in sizes {
            assert_eq!(table.map(len), charged, "{params:?} {len}");
        }
    }
}

#[test]
fn sizes_never_reach_zero_and_large_entries_are_scaled() {
    let plain = SizeTable::new(SizeTableParams { overhead: -100, ..Default::default() });
    assert_eq!(plain.map(60), 1);
    let large =
        SizeTable::new(SizeTableParams { mpu: 64, mtu: 200_000, tsize: 16, ..Default::default() });
    assert_eq!((large.map(60), large.map(200_000)), (16_384, 212_992));
}
