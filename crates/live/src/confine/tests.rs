use rustix::thread::{capabilities, no_new_privs};

use super::*;

#[test]
fn what_is_given_up_is_gone_for_this_thread() {
    let confined = std::thread::spawn(|| {
        keep_only(REAL_TIME).expect("done");
        let left = capabilities(None).expect("known");
        assert!(REAL_TIME.contains(left.permitted) && left.effective == left.permitted);
        keep_only(CapabilitySet::empty()).expect("done");
        let none = capabilities(None).expect("known");
        (none.permitted | none.effective | none.inheritable, no_new_privs().expect("known"))
    });
    assert_eq!(confined.join().expect("no panic"), (CapabilitySet::empty(), true));
}
