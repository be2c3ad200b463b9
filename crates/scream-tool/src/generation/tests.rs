use super::*;

#[test]
fn a_year_is_enough_and_means_its_first_build() {
    assert_eq!(Generation::parse("2024"), Ok(Generation::V2024));
    assert_eq!(Generation::parse("2024-10-31"), Ok(Generation::V2024b));
    assert_eq!(Generation::parse("2026"), Ok(Generation::V2026));
    assert_eq!(
        Generation::parse("2023").unwrap_err(),
        "expected 2020-03-20, 2024-10-28, 2024-10-31, 2026-06-30 (the year is enough), got `2023`"
    );
    for generation in Generation::ALL {
        assert_eq!(Generation::parse(generation.name()), Ok(generation));
    }
}
