//! Files of every format that are not what they were written as: read as some table, or refused with the file.

use std::path::Path;

use fori::config::TableConfig;
use fori::data::{Frame, Schema, read_frame};
use fori::error::Error;
use fori::spec::TargetKind;

use crate::common::{self, Random};

/// Damages a file: cuts it, flips a bit, removes or repeats a part, or sets a word, most often near its beginning.
fn damage(bytes: &mut Vec<u8>, random: &mut Random) {
    let len = bytes.len();
    let at = if random.below(2) == 0 { random.below(len.min(100)) } else { random.below(len) };
    match random.below(6) {
        0 => bytes.truncate(at),
        1 | 2 => bytes[at] ^= 1 << random.below(8),
        3 => bytes[at] = [0, 1, 0x7f, 0x80, 0xff, b'0', b'9', b'('][random.below(8)],
        4 => {
            let end = (at + random.below(16)).min(len);
            bytes.drain(at..end);
        }
        _ => {
            let word = [0, u64::MAX, 1 << 60, 1 << 31][random.below(4)];
            let end = (at + 8).min(len);
            bytes.splice(at..end, word.to_le_bytes());
        }
    }
    if bytes.is_empty() {
        bytes.push(0);
    }
}

/// What was read is whole, and can be made into numbers or is refused with the file.
fn check(frame: &Frame, path: &Path, shown: &str) {
    let target = frame.columns.last().map(|column| column.name.clone()).unwrap_or_default();
    for column in &frame.columns {
        for row in 0..frame.rows() {
            assert_eq!(column.text(row).is_none(), column.is_missing(row), "{shown}: row {row} of {}", column.name);
        }
    }
    let config = TableConfig::new(path, &[&target]);
    let data = Schema::fit(frame, &config, TargetKind::Classes).and_then(|schema| schema.apply(frame));
    match data {
        Ok(data) => assert!(data.features.iter().chain(&data.targets).all(|v| v.is_finite()), "{shown}: not finite"),
        Err(Error::Data(text) | Error::Usage(text)) => assert!(!text.is_empty(), "{shown}"),
        Err(other) => panic!("{shown}: {other}"),
    }
}

#[test]
fn damaged_files_of_every_format_are_read_as_a_table_or_refused_with_the_file() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let rounds = std::env::var("FORI_DAMAGE_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(1500);
    let mut files = vec![
        "matrix.npy",
        "fortran.npy",
        "stored.npz",
        "packed.npz",
        "named.safetensors",
        "tiny-images-idx3-ubyte.gz",
        "tiny-labels-idx1-ubyte",
        "frame.tsv.gz",
        "tiny.png",
        "flat.jpg",
    ];
    if cfg!(feature = "parquet") {
        files.extend(["snappy.parquet", "none.parquet"]);
    }
    for name in files {
        let good = std::fs::read(common::path("data/formats").join(name)).expect("a fixture");
        let (path, mut random, mut refused) = (dir.path().join(name), Random(11), 0);
        for round in 0..rounds {
            let mut bytes = good.clone();
            for _ in 0..=random.below(3) {
                damage(&mut bytes, &mut random);
            }
            std::fs::write(&path, &bytes).expect("a file");
            let shown = format!("{name}, round {round}");
            match read_frame(&path, None) {
                Ok(frame) => check(&frame, &path, &shown),
                Err(Error::Data(text)) => {
                    refused += 1;
                    assert!(text.contains(name), "{shown}: the message names no file: {text}");
                }
                Err(other) => panic!("{shown}: {other}"),
            }
        }
        assert!(refused > rounds / 20, "{name}: only {refused} of {rounds} were refused");
    }
}
