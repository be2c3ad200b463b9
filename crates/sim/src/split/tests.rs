use sojourn_scenario::Route;

use super::*;

fn turns(weights: &[u32], packets: usize) -> Vec<u32> {
    let hops: Vec<_> = (0..).map(Hop::Port).zip(weights.iter().copied()).collect();
    let mut split = Split::new(&hops);
    let next = || match split.next() {
        Hop::Port(port) => port,
        other => panic!("{other:?}"),
    };
    std::iter::repeat_with(next).take(packets).collect()
}

#[test]
fn equal_hops_take_turns() {
    assert_eq!(turns(&[1, 1, 1], 6), [0, 1, 2, 0, 1, 2]);
}

#[test]
fn a_hop_gets_its_share_evenly_spaced() {
    assert_eq!(turns(&[2, 1], 6), [0, 1, 0, 0, 1, 0]);
    assert_eq!(turns(&[5, 1, 1], 7), [0, 0, 1, 0, 2, 0, 0]);
    let taken = turns(&[7, 3], 1000);
    assert_eq!(taken.iter().filter(|port| **port == 0).count(), 700);
}

#[test]
fn routes_part_where_their_next_ports_differ_and_weigh_what_goes_there() {
    let route =
        |forward: &[usize], weight| Route { forward: forward.to_vec(), reverse: vec![], weight };
    // 0 is common; 1 leads to 3, and to 4 by another path; 2 meets it in 9.
    let routes = [route(&[0, 1, 3, 9], 1), route(&[0, 1, 4, 9], 2), route(&[0, 2, 9], 4)];
    let mut splits = Vec::new();
    let found: Vec<_> = hops(&routes, true, 6, &mut splits).collect();
    assert_eq!(
        found,
        [
            (None, Hop::Port(0)),
            (Some(0), Hop::Split(0)),
            (Some(1), Hop::Split(1)),
            (Some(2), Hop::Port(9)),
            (Some(3), Hop::Port(9)),
            (Some(4), Hop::Port(9)),
            (Some(9), Hop::End(7)),
        ]
    );
    let weights = |split: &Split| split.hops.iter().map(|share| share.weight).collect::<Vec<_>>();
    assert_eq!(splits.iter().map(weights).collect::<Vec<_>>(), [[3, 4], [1, 2]]);
}
