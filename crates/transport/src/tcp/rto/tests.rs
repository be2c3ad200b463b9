use super::*;

fn after(samples: &[u64]) -> RttEstimator {
    let mut rtt = RttEstimator::new(1000);
    for (i, ms) in samples.iter().enumerate() {
        rtt.sample(Dur::from_millis(*ms), i as u64 * 10, i as u64 * 10 + 10);
    }
    rtt
}

// KAT rto 1
#[test]
fn first_rto_is_srtt_plus_the_200_ms_floor() {
    assert_eq!(after(&[100]).rto(), Dur::from_millis(300));
}

#[test]
fn rto_before_any_sample_is_one_second_and_doubles() {
    let mut rtt = RttEstimator::new(1000);
    assert_eq!(rtt.rto(), Dur::from_secs(1));
    rtt.back_off();
    rtt.back_off();
    assert_eq!(rtt.rto(), Dur::from_secs(4));
    for _ in 0..40 {
        rtt.back_off();
    }
    assert_eq!(rtt.rto(), Dur::from_secs(RTO_MAX_S));
}

#[test]
fn constant_rtt_converges_to_itself_and_rto_keeps_its_floor() {
    let rtt = after(&[80; 200]);
    assert_eq!(rtt.srtt(), Dur::from_millis(80));
    assert_eq!(rtt.rto(), Dur::from_millis(280));
}

#[test]
fn a_sample_ends_the_back_off() {
    let mut rtt = after(&[100]);
    rtt.back_off();
    assert_eq!(rtt.rto(), Dur::from_millis(600));
    rtt.sample(Dur::from_millis(100), 20, 30);
    assert_eq!(rtt.rto(), Dur::from_millis(300));
}

#[test]
fn falling_rtt_raises_the_deviation_only_gently() {
    let mut rtt = after(&[100; 100]);
    let before = rtt.mdev();
    rtt.sample(Dur::from_millis(20), 2000, 2010);
    assert!(rtt.mdev() < before + Dur::from_millis(4));
}
