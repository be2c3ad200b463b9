use super::*;

#[test]
fn variation_is_the_standard_deviation_over_the_mean() {
    assert_eq!(variation(&[1.0, 3.0]), Some(0.5));
    assert_eq!((variation(&[4.0]), variation(&[0.0, 0.0])), (None, None));
}
