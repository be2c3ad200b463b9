use super::*;

#[test]
fn registry_is_sorted_and_every_application_has_defaults() {
    assert!(REGISTRY.windows(2).all(|w| w[0].name < w[1].name));
    for e in REGISTRY {
        let text = match e.name {
            "cbr" | "onoff" | "poisson" => format!("{} rate 1Mbit", e.name),
            name => name.to_owned(),
        };
        let spec: Spec = text.parse().unwrap();
        assert_eq!(spec.to_string().parse(), Ok(spec.clone()), "{spec}");
        assert_eq!(build(&spec.to_string()), Ok(spec.build()), "{spec}");
        let error = build(&format!("{text} nonsense")).unwrap_err().0;
        assert!(error.contains("unknown parameter `nonsense`"), "{error}");
    }
}

#[test]
fn what_is_written_reads_the_same() {
    for (text, written) in [
        ("onoff rate 2Mbit exponential", "onoff on 1s off 1s exponential rate 2Mbit size 1200"),
        (
            "short load 1Mbit sizes 10kb,1500",
            "short load 1Mbit limit 10000 sizes 10Kb,1500b median 10Kb sigma 1.5 shape 1.2 \
             min 1Kb max 10Mb",
        ),
        ("video", "video fps 30 gop 60 key 4 sigma 0.15 size 1200 delay 100ms queue 1s"),
        ("voip", "voip codec g711 frame 20ms buffer 60ms"),
        ("voip adaptive", "voip frame 20ms adaptive least 24kbit most 80kbit"),
        (
            "scream-bw key 10s 3 burst 5s 2s priorities 1,0.5",
            "scream-bw fps 50 rand 0 key 10s 3 burst 5s 2s priorities 1,0.5",
        ),
    ] {
        let spec: Spec = text.parse().unwrap();
        assert_eq!(spec.to_string(), written);
        assert_eq!(written.parse(), Ok(spec.clone()));
        assert_eq!(build(written), Ok(spec.build()));
    }
}

#[test]
fn unknown_application_names_the_nearest() {
    let error = build("vidio").unwrap_err().0;
    assert!(error.starts_with("unknown application `vidio` (did you mean `video`?)"), "{error}");
}
