use super::*;

#[test]
fn it_reads_what_it_writes() {
    let text = "linux turn 1us/2us/3us/4us/5us coalesce 50us emulated";
    let noise = Noise::read(text).unwrap().unwrap();
    assert_eq!(noise.coalesce, Dur::from_micros(50));
    assert!(noise.emulated);
    assert_eq!(Noise::read(&noise.to_string()), Ok(Some(noise)));
    assert_eq!(Noise::read("none"), Ok(None));
    assert!(Noise::read("windows").unwrap_err().0.contains("expected `none` or `linux`"));
    assert!(Noise::read("linux turn 5us/4us/6us/7us/8us").unwrap_err().0.contains("rising order"));
}

#[test]
fn draws_have_the_quantiles() {
    let given = Quantiles::micros([1, 3, 5, 20, 200]);
    let mut rng = Rng::named(1, "test");
    let mut draws: Vec<u64> = (0..100_000).map(|_| given.draw(&mut rng).0).collect();
    draws.sort_unstable();
    for (share, expected) in [(0.5, 3000.0), (0.9, 5000.0), (0.99, 20_000.0)] {
        let found = draws[(share * draws.len() as f64) as usize] as f64;
        assert!((found / expected - 1.0).abs() < 0.05, "{share}: {found}, expected {expected}");
    }
    assert!(draws[0] >= 1000);
    // One in a thousand is the last: 100 of these, with a standard deviation of 10.
    let last = draws.iter().filter(|draw| **draw == 200_000).count();
    assert!((50..150).contains(&last) && draws[draws.len() - 1] == 200_000, "{last}");
}
