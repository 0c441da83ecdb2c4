//! Tables that are not what they were written as: read whole, or refused with the file and the place.

use fori::config::{Missing, TableConfig};
use fori::data::load;
use fori::error::Error;
use fori::spec::TargetKind;

use crate::common::Random;

const VALID: &str =
    "\u{feff}age,\"body, mass\",y\r\n 59 ,32.1,151\r\n4.8e1,\"21.6\",75\r\n-72,30.5,\"141\"\r\n24,25.3,206\r\n";

/// Texts that are put into a table.
const HOSTILE: [&str; 16] = [
    "\"",
    ",",
    "\r",
    "\n",
    "\0",
    "NaN",
    "-inf",
    "1e999",
    "1e-400",
    "123456789012345678901234567890",
    "é",
    "\u{feff}",
    ";",
    "\"\"\"",
    "  ",
    "y",
];

#[test]
fn twenty_thousand_damaged_tables_are_read_whole_or_refused_with_the_file() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let path = dir.path().join("table.csv");
    let mut random = Random(7);
    let (mut read, mut refused) = (0, 0);
    for round in 0..20_000 {
        let mut bytes = VALID.as_bytes().to_vec();
        for _ in 0..=random.below(3) {
            damage(&mut bytes, &mut random);
        }
        std::fs::write(&path, &bytes).expect("a file");
        let config = TableConfig {
            standardize: random.below(2) == 0,
            missing: Missing::ALL[random.below(3)],
            ..TableConfig::new(&path, &["y"])
        };
        let kind = [TargetKind::Numbers, TargetKind::Labels, TargetKind::Classes][random.below(8).min(2) % 3];
        let table = load(&config, kind, 0).map(|tables| tables.train);
        let shown = || format!("round {round}: {:?}", String::from_utf8_lossy(&bytes));
        match table {
            Ok(table) => {
                read += 1;
                assert_eq!(table.features.len(), table.rows * table.feature_names.len(), "features of {}", shown());
                assert_eq!(table.targets.len(), table.rows, "targets of {}", shown());
                let finite = table.features.iter().chain(&table.targets).all(|v| v.is_finite());
                assert!(finite, "a value of {} is not finite", shown());
            }
            Err(Error::Data(text)) => {
                refused += 1;
                assert!(text.contains("table.csv"), "the message of {} names no file: {text}", shown());
            }
            Err(other) => panic!("{} is no data error: {other}", shown()),
        }
    }
    assert!(read > 1000 && refused > 1000, "{read} read and {refused} refused: the damage is one-sided");
}

/// Cuts, flips a bit, or puts a hostile text somewhere.
fn damage(bytes: &mut Vec<u8>, random: &mut Random) {
    let at = random.below(bytes.len() + 1);
    match random.below(4) {
        0 => bytes.truncate(at),
        1 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
        2 if at < bytes.len() => drop(bytes.remove(at)),
        _ => {
            let text = HOSTILE[random.below(HOSTILE.len())].bytes();
            bytes.splice(at..at, text);
        }
    }
}
