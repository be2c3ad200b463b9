use super::*;

fn options(folder: &std::path::Path, given: &str) -> TxOptions {
    let line = given.replace('@', &format!("{}/", folder.display()));
    let args: Vec<String> = line.split_whitespace().map(String::from).collect();
    TxOptions::parse(&args).expect("options")
}

fn folder(name: &str) -> std::path::PathBuf {
    let folder = std::env::temp_dir().join(format!("sojourn-logs-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

#[test]
fn each_log_has_its_lines_and_a_continued_one_no_second_head() {
    let dir = folder("lines");
    let given = "-log @l -csv @c -jsonlog @j -txrxlog @t h 1";
    for round in 0..2 {
        let given =
            if round == 0 { format!("-itemlist {given}") } else { format!("-append {given}") };
        let o = options(&dir, &given);
        let mut logs = Logs::open(&o, Generation::V2024).expect("files");
        let line = AckLine { time: Ticks(65_536), ..AckLine::default() };
        logs.ack(&line, 0.0).expect("written");
        (0..2).for_each(|_| logs.fate(&line, 0.0).expect("written"));
        assert_eq!(logs.flush(), [""; 0]);
    }
    let lines = |name: &str| {
        let text = std::fs::read_to_string(dir.join(name)).expect("a log");
        text.lines().map(String::from).collect::<Vec<_>>()
    };
    let log = lines("l");
    assert_eq!(log.len(), 3, "head and two lines: {log:?}");
    assert!(log[0].starts_with("\"Time [s]\"") && log[1].starts_with("1.0000,"));
    assert_eq!((lines("c").len(), lines("j").len(), lines("t").len()), (3, 2, 4));
    std::fs::remove_dir_all(dir).expect("removed");
}

#[test]
fn a_file_that_cannot_be_opened_is_named() {
    let o = options(std::path::Path::new("/no/such/folder"), "-log @l h 1");
    let error = Logs::open(&o, Generation::V2026).err().expect("an error");
    assert!(error.starts_with("-log: /no/such/folder/l: "), "{error}");
}

#[test]
fn a_full_disk_closes_its_file_and_no_other() {
    let dir = folder("full");
    let o = options(&dir, "-log /dev/full -csv @c h 1");
    let mut logs = Logs::open(&o, Generation::V2026).expect("files");
    let line = AckLine::default();
    logs.ack(&line, 0.0).expect("buffered");
    let expected = logs.flush();
    assert!(
        expected.len() == 1 && expected[0].starts_with("/dev/full: No space left"),
        "{expected:?}"
    );
    logs.ack(&line, 0.0).expect("the other file");
    assert_eq!(logs.flush(), [""; 0], "reported once");
    assert_eq!(std::fs::read_to_string(dir.join("c")).expect("a log").lines().count(), 3);
    std::fs::remove_dir_all(dir).expect("removed");
}

#[test]
fn times_go_on_after_the_clock_wraps() {
    let mut unwrap = Unwrap::default();
    assert_eq!(unwrap.seconds(Ticks(u32::MAX - 65_535)), 65_535.0);
    assert_eq!(unwrap.seconds(Ticks(65_536)), 65_537.0);
    assert_eq!(unwrap.seconds(Ticks(65_535)), 65_536.0 + 65_535.0 / 65_536.0, "a step back");
}
