use super::*;

#[test]
fn a_name_with_spaces_is_one_word_and_comes_back() {
    for name in ["/a b/50%.up", "plain", "/caf\u{e9}/\u{3000}x", "%20"] {
        assert!(!encoded(name).contains(char::is_whitespace));
        assert_eq!(decoded(&encoded(name)), name);
    }
    assert_eq!(decoded("my%20trace.up"), "my trace.up");
    assert_eq!(decoded("50%"), "50%");
    assert_eq!(decoded("%+5"), "%+5");
}
