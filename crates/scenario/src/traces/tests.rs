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

#[test]
#[cfg(unix)]
fn what_leads_out_of_the_folder_is_refused_whether_it_is_there_or_not() {
    let root = std::env::temp_dir()
        .canonicalize()
        .unwrap()
        .join(format!("sojourn-within-{}", std::process::id()));
    let (home, again) = (root.join("home"), root.join("again"));
    std::fs::create_dir_all(home.join("below")).unwrap();
    for place in ["home/below/own", "outside"] {
        std::fs::write(root.join(place), "0 1Mbit").unwrap();
    }
    std::os::unix::fs::symlink(root.join("outside"), home.join("link")).unwrap();
    std::os::unix::fs::symlink("below/own", home.join("inner")).unwrap();
    std::os::unix::fs::symlink(&home, &again).unwrap();
    for good in ["below/own", "inner"] {
        for (folder, place) in [(&home, &home), (&again, &again), (&again, &home)] {
            assert_eq!(confine(folder, &place.join(good)), Ok(()), "{good}");
        }
    }
    let refused = Err(format!("expected a file in the folder {}", home.display()));
    for bad in ["outside", "absent", "home/link", "home/../outside", "home/below/../below/own"] {
        assert_eq!(confine(&home, &root.join(bad)), refused, "{bad}");
    }
    assert!(confine(&home, &home.join("absent")).unwrap_err().contains("No such file"));
    std::fs::remove_dir_all(root).unwrap();
}
