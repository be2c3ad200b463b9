use super::*;

#[test]
fn parameters_are_the_tools_options() {
    let app =
        super::super::build("scream-bw fps 25 rand 50 key 10s 3 burst 5s 2s priorities 1,0.5");
    let tool = Tool {
        fps: 25.0,
        rand: 50.0,
        key: Some(Key { every: Dur::from_secs(10), times: 3.0 }),
        burst: Some(OnOff { on: Dur::from_secs(5), off: Dur::from_secs(2) }),
    };
    let expected = MediaFlow { encoder: Encoder::Tool(tool), priorities: vec![1.0, 0.5] };
    assert_eq!(app, Ok(App::Media(expected)));
    let error = |text: &str| super::super::build(text).expect_err("refused").0;
    assert_eq!(error("scream-bw key 1s"), "scream-bw: `key` needs a value");
    assert_eq!(
        error("scream-bw priorities 1,2"),
        format!("scream-bw: `priorities 1,2`: expected {SHARES}")
    );
}
