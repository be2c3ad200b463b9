use super::*;

#[test]
fn a_folder_goes_with_its_owner_and_what_a_killed_one_left_goes_with_the_next() {
    let left = env::temp_dir().join(format!("{PREFIX}0-test-{}", process::id()));
    fs::create_dir(&left).expect("a new folder");
    fs::write(left.join(LOCK), "").expect("a file");
    let [one, other] = [Scratch::new(), Scratch::new()].map(|scratch| scratch.expect("a folder"));
    assert!(!left.exists());
    assert_ne!(one.path(), other.path());
    one.write("file", "text").expect("a file");
    let (gone, kept) = (one.path().to_owned(), other.path().to_owned());
    drop(one);
    assert!(!gone.exists() && kept.join(LOCK).exists());
}
