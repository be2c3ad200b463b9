use super::*;

#[test]
fn what_is_tried_is_read_and_has_everything_that_it_names() {
    for (kind, required, more) in TRIED {
        let spec: Spec = format!("{kind} {required} {more}").parse().expect(kind);
        let parts = Spelled::of(&spec).parts;
        for word in more.split(' ').filter(|word| word.starts_with(char::is_alphabetic)) {
            assert!(
                parts.iter().any(|part| part.text.contains(word)),
                "{kind}: {word} in {parts:?}"
            );
        }
    }
}
