//! Checkpoints that are not what they were written as: refused with the reason, at no cost.

use fori::checkpoint::Checkpoint;
use serde_json::{Value, json};

use crate::cli::{Dir, TINY};
use crate::common::Random;

/// The bytes of a checkpoint with everything in it: a table, several models, a sweep.
fn valid() -> Vec<u8> {
    let dir = Dir::new();
    dir.write("t.csv", "a,b,y\n1,2,3\n1,5,4\n0,1,7\n");
    let flags = "--data t.csv --target y --ensemble 2 --sweep b1=0.5,0.6 --steps 9 --checkpoint c -q";
    dir.run(&format!("train {TINY} {flags}")).exits(0);
    dir.bytes("c")
}

fn load(bytes: &[u8]) -> Result<Checkpoint, String> {
    Checkpoint::from_reader(bytes, bytes.len() as u64)
}

/// Texts that are put into a header.
const HOSTILE: [&str; 12] = [
    "1152921504606846976",
    "18446744073709551615",
    "-1",
    "NaN",
    "1e999",
    "null",
    "\"../../../etc/passwd\"",
    "{\"a\":{\"dtype\":\"F32\",\"shape\":[1152921504606846976],\"data_offsets\":[0,4]}}",
    "[[[[[[[[[[[[[[[[",
    "\\u0000\\u001b[2J",
    "\"step\":{\"dtype\":\"U32\",\"shape\":[4],\"data_offsets\":[0,16]},",
    "__metadata__",
];

/// Damages a file in one of ten ways; one time in eight, in several at once.
fn mutate(bytes: &mut Vec<u8>, random: &mut Random) {
    let header = bytes.len().min(3000);
    let at = random.below(bytes.len());
    let in_header = random.below(header);
    match random.below(10) {
        0 => bytes.truncate(at),
        1 => bytes[at] ^= 1 << random.below(8),
        2 => bytes[in_header] ^= 1 << random.below(8),
        3 => bytes[in_header] = b"{}[]\",:0123456789 "[random.below(18)],
        4 => bytes.insert(in_header, b"{}[]\",:0123456789 "[random.below(18)]),
        5 => bytes[random.below(8)] = random.next().to_le_bytes()[0],
        6 => {
            let end = (at + random.below(64)).min(bytes.len());
            bytes.drain(at..end);
        }
        7 => {
            let end = (in_header + random.below(40)).min(bytes.len());
            let text = HOSTILE[random.below(HOSTILE.len())];
            bytes.splice(in_header..end, text.bytes());
        }
        8 => bytes.extend((0..random.below(64)).map(|_| 7)),
        _ => {
            let (from, to) = (random.below(header), random.below(header));
            bytes.swap(from, to);
        }
    }
    if random.below(8) == 0 && bytes.len() > 8 {
        mutate(bytes, random);
    }
}

/// 20,000 seeded mutations of a valid file: each is refused, or holds exactly what the file held.
#[test]
fn twenty_thousand_damaged_files_are_refused_or_equal() {
    let good = valid();
    let whole = load(&good).expect("the file is valid");
    let mut random = Random(1);
    let mut refused = 0;
    for number in 0..20_000 {
        let mut bytes = good.clone();
        mutate(&mut bytes, &mut random);
        match load(&bytes) {
            Ok(found) => assert!(found == whole, "mutation {number} was taken and holds something else"),
            Err(reason) => {
                refused += 1;
                assert!(!reason.is_empty() && !reason.contains('\u{1b}'), "reason of mutation {number}: {reason:?}");
            }
        }
    }
    assert!(refused > 17_000, "only {refused} of 20,000 were refused: does it damage anything?");
}

/// A file with an edited header and the same body.
fn with_header(bytes: &[u8], edit: impl Fn(&mut Value)) -> Vec<u8> {
    let (prefix, rest) = bytes.split_at(8);
    let len = u64::from_le_bytes(prefix.try_into().expect("8 bytes"));
    let (header, body) = rest.split_at(usize::try_from(len).expect("a short header"));
    let mut header: Value = serde_json::from_slice(header).expect("JSON");
    edit(&mut header);
    let header = header.to_string();
    [&(header.len() as u64).to_le_bytes(), header.as_bytes(), body].concat()
}

#[test]
fn each_kind_of_damage_has_its_reason() {
    let good = valid();
    let edited = |edit: fn(&mut Value)| with_header(&good, edit);
    let mut altered = good.clone();
    *altered.last_mut().expect("bytes") ^= 1;
    let text = |name: &'static str, text: &'static str| with_header(&good, |h| h["__metadata__"][name] = text.into());
    let rows: [(Vec<u8>, &str); 14] = [
        (Vec::new(), "it was cut"),
        (good[..100].to_vec(), "it was cut"),
        (good[..good.len() - 1].to_vec(), "it was cut"),
        ([&good[..], b"x"].concat(), "added at its end"),
        (altered, "its checksum is not that of its contents"),
        (edited(|h| h["__metadata__"] = json!({"format": "pt"})), "not written by fori"),
        (edited(|h| drop(h.as_object_mut().and_then(|h| h.remove("__metadata__")))), "not written by fori"),
        (text("format_version", "9"), "version 9 of the format"),
        (text("experiment", "{\"seed\":NaN}"), "its experiment cannot be used"),
        (text("schema", "{\"inputs\":[{\"mean\":NaN}]}"), "its schema cannot be used"),
        (text("adapter", "another"), "its checksum"),
        (edited(|h| h["key"]["shape"] = json!([1_u64 << 60, 2])), "damaged"),
        (
            edited(|h| h["../../evil"] = json!({"dtype": "F32", "shape": [0], "data_offsets": [0, 0]})),
            "no tensor ../../evil",
        ),
        ([&u64::MAX.to_le_bytes()[..], &good[8..]].concat(), "its header would have 18446744073709551615 bytes"),
    ];
    for (bytes, reason) in rows {
        let said = load(&bytes).expect_err(reason);
        assert!(said.contains(reason), "expected {reason:?}, got {said:?}");
    }
}

#[test]
fn a_golden_file_of_another_program_is_refused_with_file_and_reason() {
    let dir = Dir::new();
    let golden = crate::common::path("golden/init.safetensors");
    let ran = dir.run_with(&["train", "--resume", golden.to_str().expect("UTF-8")]);
    ran.exits(1).says(&["error: checkpoint ", "init.safetensors: it was not written by fori"]);
    dir.write("c", "no checkpoint at all");
    dir.run("train --resume c").exits(1).says(&["error: checkpoint c: "]);
}

/// A file of many gigabytes that are not there is refused by what its header says, before any of it is read.
#[test]
fn a_huge_hollow_file_is_refused_at_once() {
    let dir = Dir::new();
    let good = valid();
    let file = std::fs::File::create(dir.path("c")).expect("it can be made");
    std::io::Write::write_all(&mut &file, &good).expect("it can be written");
    if file.set_len(1 << 40).is_ok() {
        let started = std::time::Instant::now();
        dir.run("train --resume c").exits(1).says(&["something was added at its end"]);
        assert!(started.elapsed().as_secs() < 5, "it took {:?}", started.elapsed());
    }
}
