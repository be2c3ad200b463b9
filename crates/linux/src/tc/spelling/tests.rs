use super::*;

fn spec(text: &str) -> Spec {
    text.parse().expect("a discipline")
}

fn spelled(text: &str) -> Spelled {
    Spelled::of(&spec(text))
}

fn left_out(text: &str) -> Vec<String> {
    spelled(text).left_out.into_iter().map(|part| part.text).collect()
}

#[test]
fn values_are_written_as_tc_reads_them() {
    let codel = "codel limit 30 target 5ms interval 100ms noecn";
    assert_eq!(spelled("codel limit 30p target 5ms").to_string(), codel);
    assert_eq!(spelled("pfifo limit 20p").to_string(), "pfifo limit 20");
    let slots = |text: &str| Spelled::brief(&spec(text)).parameters();
    assert_eq!(slots("netem slot 1ms 2ms"), "delay 1ns slot 1ms 2ms");
    assert_eq!(slots("netem limit 9 slot 1ms"), "limit 9 delay 1ns slot 1ms 1ms");
    assert_eq!(slots("netem delay 1ms slot 1ms"), "delay 1ms slot 1ms 1ms");
    assert!(spelled("fq").parameters().contains(" quantum 3028 initial_quantum 15140 "));
    assert!(spelled("fq_pie ecn ecn_prob 100").parameters().contains("ecn_prob 99"));
    assert!(
        spelled("dualpi2 memlimit 60kb step_thresh 3p")
            .parameters()
            .starts_with("limit 10000 memlimit 61440 step_thresh 3p min_qlen_step 0 ")
    );
}

#[test]
fn what_tc_does_not_have_is_left_out_and_named_unless_it_is_the_default() {
    assert_eq!(
        left_out("red limit 4000 avpkt 100 gentle idle exact ecn"),
        ["gentle", "idle exact"]
    );
    assert_eq!(left_out("red limit 4000 avpkt 100 ecn"), [""; 0]);
    assert_eq!(left_out("dualpi2 version 2020"), ["version 2020"]);
    assert_eq!(left_out("dualpi2"), [""; 0]);
    assert_eq!(left_out("twin_codel_af bandwidth 50Mbit law 2019 sce-thresh 4")[0], "law 2019");
    let kept = spelled("red limit 4000 avpkt 100 gentle idle exact ecn").parameters();
    assert!(!kept.contains("gentle") && !kept.contains("idle"), "{kept}");
}

#[test]
fn a_parameter_of_a_tree_moves_the_discipline_there() {
    assert!(spelled("cake").is_mainline());
    assert!(!spelled("cake no-sce").parameters().contains("sce"));
    let of_tree = spelled("cake sce-thresh 4");
    assert!(!of_tree.is_mainline() && of_tree.parameters().contains("sce-thresh 4"), "{of_tree}");
    assert_eq!(of_tree.origin(), "only the tree chromi/sce with `sce-thresh`");
    assert_eq!(spelled("deltic").origin(), "only the tree chromi/sce");
    assert!(!spelled("blue").exists());
}

#[test]
fn a_change_has_the_given_parameters_alone() {
    let (to, given) = spec("dualpi2").changed("target 5ms limit 60").expect("a change");
    assert_eq!(Spelled::change(&to, &given).to_string(), "dualpi2 limit 60 target 5ms");
}
