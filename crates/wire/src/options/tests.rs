use proptest::prelude::*;

use super::*;

fn written(options: &Options) -> Vec<u8> {
    let mut out = [0; MAX];
    let len = options.write(&mut out);
    out[..len].to_vec()
}

// KAT wire 3
#[test]
fn a_linux_syn_has_its_options_in_twenty_bytes() {
    let bytes = [2, 4, 0x05, 0xb4, 4, 2, 8, 10, 0x6d, 0x27, 0x47, 0x72, 0, 0, 0, 0, 1, 3, 3, 7];
    let options = Options {
        mss: Some(1460),
        window_scale: Some(7),
        sack_permitted: true,
        timestamps: Some((0x6d27_4772, 0)),
        ..Options::default()
    };
    assert_eq!(Options::parse(&bytes), Some(options));
    assert_eq!(written(&options), bytes);
}

// RFC 9768 3.2.3, figure 5: kinds 172 and 174, lengths 2, 5, 8 and 11.
#[test]
fn counters_are_in_the_order_of_their_kind() {
    let counters = [0x01_0203, 0x0a_0b0c, 0xff_fffe];
    let ect0_first = [172, 11, 1, 2, 3, 0x0a, 0x0b, 0x0c, 0xff, 0xff, 0xfe, 1];
    let ect1_first = [174, 11, 0xff, 0xff, 0xfe, 0x0a, 0x0b, 0x0c, 1, 2, 3, 1];
    for (bytes, order) in [(ect0_first, false), (ect1_first, true)] {
        let accecn = AccEcn::new(counters, order);
        assert_eq!(accecn.counters(), counters.map(Some));
        let options = Options { accecn: Some(accecn), ..Options::default() };
        assert_eq!(written(&options), bytes);
        assert_eq!(Options::parse(&bytes), Some(options));
    }
    let read =
        |bytes: &[u8]| Options::parse(bytes).and_then(|o| o.accecn).map(|accecn| accecn.counters());
    assert_eq!(read(&[172, 2]), Some([None; 3]));
    assert_eq!(read(&[172, 5, 0, 0, 7]), Some([Some(7), None, None]));
    assert_eq!(read(&[174, 8, 0, 0, 7, 0, 0, 8]), Some([None, Some(8), Some(7)]));
    assert_eq!(read(&[174, 4, 0, 0]), None, "of no possible length");
    assert_eq!(read(&[172, 14, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]), None);
}

// KAT wire 8
#[test]
fn options_are_laid_out_as_by_a_kernel_with_accecn() {
    let syn_ack = [
        2, 4, 5, 0xb4, 4, 2, 8, 10, 0x65, 0x37, 0x51, 0x3f, 0xe9, 0xbb, 0x28, 0x29, 174, 11, 0, 0,
        1, 0, 0, 0, 0, 0, 1, 1, 1, 3, 3, 7,
    ];
    let ack_with_a_block = [
        1, 1, 8, 10, 0x67, 0xb7, 0x7d, 0xf3, 0xc0, 0x89, 0xc5, 0xa7, 174, 11, 0, 0, 1, 0, 0, 0,
        0x0b, 0xed, 0x66, 1, 1, 1, 5, 10, 0x3c, 9, 8, 0x14, 0x3c, 9, 0x0d, 0x9c,
    ];
    for bytes in [&syn_ack[..], &ack_with_a_block] {
        assert_eq!(written(&Options::parse(bytes).expect("options")), bytes);
    }
    let options = Options::parse(&ack_with_a_block).expect("options");
    assert_eq!(options.sack.as_slice(), [(0x3c09_0814, 0x3c09_0d9c)]);
    assert_eq!(options.accecn, Some(AccEcn::new([0x0b_ed66, 0, 1], true)));
}

// RFC 9768 3.2.3.3: counters share the header with SACK blocks.
#[test]
fn counters_and_blocks_take_the_room_there_is() {
    for (blocks, timestamps, room) in
        [(1, true, 3), (2, true, 2), (3, true, 0), (3, false, 3), (4, false, 0)]
    {
        let mut options = Options {
            timestamps: timestamps.then_some((1, 2)),
            accecn: Some(AccEcn::new([7, 8, 9], true)),
            ..Options::default()
        };
        (0..blocks).for_each(|n| options.sack.push((20 * n, 20 * n + 10)));
        let read = Options::parse(&written(&options)).expect("options");
        assert_eq!(read.sack, options.sack, "{blocks}");
        let counters = read.accecn.map_or(0, |a| a.counters().iter().flatten().count());
        assert_eq!((counters, read.accecn.is_some()), (room, room > 0), "{blocks}");
    }
}

// RFC 2018 3: an option with timestamps has room for three blocks, without for four.
#[test]
fn a_fourth_block_needs_the_room_of_timestamps() {
    for (timestamps, expected) in [(Some((1, 2)), 3), (None, 4)] {
        let mut options = Options { timestamps, ..Options::default() };
        (0..5).for_each(|n| options.sack.push((20 * n, 20 * n + 10)));
        let read = Options::parse(&written(&options)).expect("options");
        assert_eq!(read.sack.as_slice().len(), expected);
    }
}

// RFC 2883 4: the duplicate is below the acknowledgement, or within the second block.
#[test]
fn a_duplicate_is_told_from_news() {
    let blocks = |list: &[(u32, u32)]| {
        let mut blocks = Blocks::default();
        for block in list {
            blocks.push(*block);
        }
        blocks
    };
    assert!(!blocks(&[]).reports_duplicate(4000));
    assert!(blocks(&[(3000, 3500)]).reports_duplicate(4000), "4.1, example 1");
    assert!(blocks(&[(3000, 3500), (4500, 5000)]).reports_duplicate(4000), "4.1, example 2");
    assert!(blocks(&[(5000, 5500), (4500, 6000)]).reports_duplicate(4000), "4.2");
    assert!(!blocks(&[(4500, 6000)]).reports_duplicate(4000));
    assert!(!blocks(&[(5500, 6500), (4500, 5000)]).reports_duplicate(4000));
    assert!(blocks(&[(u32::MAX - 9, 5)]).reports_duplicate(5), "over the wrap");
}

// RFC 9293 3.2, MUST-6 and MUST-7.
#[test]
fn unknown_options_are_skipped_and_impossible_lengths_refused() {
    let mss = Some(1000);
    let read = |bytes: &[u8]| Options::parse(bytes).map(|options| options.mss);
    assert_eq!(read(&[254, 4, 0xac, 0xce, 2, 4, 3, 232]), Some(mss));
    assert_eq!(read(&[2, 3, 9, 2, 4, 3, 232]), Some(mss), "of another length");
    assert_eq!(read(&[2, 4, 3, 232, 0, 77]), Some(mss), "nothing is read behind the end");
    assert_eq!(read(&[1, 1, 2, 4, 3]), None);
    assert_eq!(read(&[2, 0]), None);
    assert_eq!(read(&[2, 1]), None);
    assert_eq!(read(&[8]), None);
}

prop_compose! {
    fn any_options()(
        mss in any::<Option<u16>>(),
        window_scale in any::<Option<u8>>(),
        sack_permitted in any::<bool>(),
        timestamps in any::<Option<(u32, u32)>>(),
        blocks in prop::collection::vec(any::<(u32, u32)>(), 0..=MAX_BLOCKS),
        counters in any::<Option<([u32; 3], bool, u8)>>(),
    ) -> Options {
        let mut sack = Blocks::default();
        for block in blocks {
            sack.push(block);
        }
        let accecn =
            counters.map(|(bytes, order, len)| AccEcn { len: len % 4, ..AccEcn::new(bytes, order) });
        Options { mss, window_scale, sack_permitted, timestamps, sack, accecn }
    }
}

proptest! {
    /// Whatever is asked for fits, and the options that come first are there.
    #[test]
    fn options_never_exceed_a_header(options in any_options()) {
        let bytes = written(&options);
        prop_assert!(bytes.len() <= MAX && bytes.len().is_multiple_of(4));
        let again = Options::parse(&bytes).expect("what was written is read");
        let of_syn = |o: &Options| (o.mss, o.window_scale, o.sack_permitted, o.timestamps);
        prop_assert_eq!(of_syn(&again), of_syn(&options));
        prop_assert!(options.sack.as_slice().starts_with(again.sack.as_slice()));
        for (read, counter) in again.accecn.iter().zip(&options.accecn) {
            let both = read.counters().into_iter().zip(counter.counters());
            prop_assert!(both.filter(|(read, _)| read.is_some()).all(|(read, given)| read == given));
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..=MAX)) {
        if let Some(options) = Options::parse(&bytes) {
            let bytes = written(&options);
            prop_assert!(bytes.len().is_multiple_of(4));
            let again = Options::parse(&bytes).expect("what was written is read");
            prop_assert_eq!((again.mss, again.timestamps), (options.mss, options.timestamps));
            prop_assert_eq!(again.window_scale, options.window_scale);
            prop_assert_eq!(again.sack_permitted, options.sack_permitted);
        }
    }
}
