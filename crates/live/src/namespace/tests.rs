use super::*;

#[test]
fn the_setting_that_forbids_user_namespaces_is_named() {
    let debian = |key: &str| key.ends_with("_clone").then(|| "0\n".to_owned());
    let named = "sysctl kernel.unprivileged_userns_clone=0 forbids it";
    assert_eq!(forbidden(debian).as_deref(), Some(named));
    let allowed = |key: &str| Some(if key.contains("apparmor") { "0" } else { "127" }.to_owned());
    assert_eq!(forbidden(allowed), None);
    assert_eq!(forbidden(|_| None), None);
}

#[test]
fn what_runs_apart_gives_its_value_and_its_panic() {
    assert_eq!(apart(|| 3).expect("a thread"), 3);
    let panic = std::panic::catch_unwind(|| apart(|| panic!("inside")).is_ok());
    assert_eq!(panic.expect_err("passed on").downcast_ref(), Some(&"inside"));
}
