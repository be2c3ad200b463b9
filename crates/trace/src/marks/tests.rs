use super::*;

fn note(received: f64, reported: f64, under_way: f64) -> Option<String> {
    let sender: Totals = [("ce_reported", reported)].into_iter().collect();
    let receiver: Totals = [("ce_received", received)].into_iter().collect();
    Marks::of([&sender, &receiver], Feedback::AccEcn, under_way).expect("counted").note
}

#[test]
fn a_belief_is_noted_where_it_differs_from_what_arrived() {
    assert!(note(0.0, 616.0, 80.0).is_some_and(|n| n.contains("believes 616 marks")));
    assert_eq!(note(0.0, 0.0, 80.0), None);
    assert_eq!(note(1000.0, 1009.0, 0.0), None);
    assert!(note(1000.0, 1011.0, 80.0).is_some(), "what is under way was not reported");
    assert_eq!(note(1000.0, 950.0, 40.0), None);
    assert!(note(1000.0, 949.0, 40.0).is_some());
}

#[test]
fn a_receiver_that_counts_no_marks_gives_none_and_a_sender_that_hears_none_no_belief() {
    let none = Totals::default();
    assert_eq!(Marks::of([&none, &none], Feedback::None, 0.0), None);
    let receiver: Totals = [("ce_received", 3.0)].into_iter().collect();
    let marks = Marks::of([&none, &receiver], Feedback::None, 0.0).expect("counted");
    assert_eq!((marks.sender_believes_packets, marks.note), (None, None));
}
