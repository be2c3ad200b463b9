use super::*;

fn words(text: &str) -> Vec<String> {
    let program = Program::read(text).expect("a command");
    program.words(Ipv4Addr::new(10, 9, 0, 1), Ipv4Addr::new(10, 9, 0, 2), 5203)
}

#[test]
fn a_command_is_split_as_a_shell_does_and_expanded_as_none_does() {
    assert_eq!(
        words(
            "curl -o '/tmp/a b' http://{server}:{port}/$HOME -w %{size_download} --interface {client}"
        ),
        [
            "curl",
            "-o",
            "/tmp/a b",
            "http://10.9.0.2:5203/$HOME",
            "-w",
            "%{size_download}",
            "--interface",
            "10.9.0.1"
        ]
    );
    // What stands in a quote stays one word.
    assert_eq!(words("sh -c 'a; b >c'"), ["sh", "-c", "a; b >c"]);
}

#[test]
fn what_is_no_command_is_refused() {
    assert!(Program::read("iperf3 'x").is_err_and(|e| e.contains("a quote is not closed")));
    assert!(Program::read("  ").is_err_and(|e| e.contains("expected a command, such as")));
    assert!(Program::read("a \0").is_err_and(|e| e.contains("NUL")));
}
