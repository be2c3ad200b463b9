use super::*;

fn kernel(release: &str) -> Capabilities {
    let with_sce = BTreeSet::from(["sce-thresh".to_owned()]);
    let qdiscs = BTreeMap::from([("cake".to_owned(), with_sce)]);
    Capabilities { release: release.to_owned(), qdiscs, ..Capabilities::default() }
}

#[test]
fn the_release_tells_whose_discipline_it_is() {
    for (release, kind, version, is_there) in [
        ("7.2.13", "dualpi2", "mainline", true),
        ("7.2.13", "dualpi2", "2020", false),
        ("6.17.0-rc1", "dualpi2", "mainline", true),
        ("5.4.7-prague", "dualpi2", "mainline", false),
        ("5.4.7-prague", "dualpi2", "2020", true),
        ("5.4.7-prague", "pie", "5.4", true),
        ("6.6", "pie", "5.4", false),
        ("6.6", "cake", "mainline", true),
        ("6.6", "cake", "chromi", false),
    ] {
        assert_eq!(
            kernel(release).has_version(kind, version),
            is_there,
            "{release} {kind} {version}"
        );
    }
    let sce =
        Capabilities { qdiscs: [("cake".to_owned(), BTreeSet::new())].into(), ..kernel("5.4") };
    assert!(sce.has_version("cake", "chromi") && !sce.has_version("cake", "mainline"));
}

#[test]
fn bbr_is_what_its_module_states() {
    let stating = |version: &str| Capabilities {
        controllers: [("bbr".to_owned(), version.to_owned())].into(),
        ..Capabilities::default()
    };
    assert_eq!(stating("").bbr(), "v1");
    assert_eq!(stating("3").bbr(), "v3");
}
