//! Tables in every format, as other tools write them: `tests/data/formats`.

use std::path::PathBuf;

use fori::config::{ImageConfig, TableConfig};
use fori::data::{Frame, load, read_frame};
use fori::error::Error;
use fori::spec::TargetKind;

use crate::cli::{Dir, TINY};
use crate::common;

fn fixture(name: &str) -> PathBuf {
    common::path("data/formats").join(name)
}

fn read(name: &str) -> Frame {
    read_frame(&fixture(name), None).unwrap_or_else(|e| panic!("{e}"))
}

/// The fields of a column as texts; `-` where one is missing.
fn column(frame: &Frame, name: &str) -> Vec<String> {
    let column = frame.column(name).unwrap_or_else(|| panic!("no column {name} in {:?}", frame.names()));
    (0..frame.rows()).map(|row| column.text(row).map_or("-".into(), |text| text.into_owned())).collect()
}

const X: [[&str; 4]; 3] = [["1", "4", "7", "0.5"], ["-2.5", "5.5", "8", "0"], ["3", "-6", "9.25", "1"]];

#[test]
fn arrays_are_columns() {
    for name in ["matrix.npy", "fortran.npy"] {
        let frame = read(name);
        assert_eq!(frame.names(), ["c0", "c1", "c2"], "{name}");
        for (c, want) in X.iter().enumerate() {
            assert_eq!(column(&frame, &format!("c{c}")), want, "{name}");
        }
    }
    for (name, others) in
        [("stored.npz", vec!["y", "tree"]), ("packed.npz", vec!["y", "tree"]), ("named.safetensors", vec!["y"])]
    {
        let frame = read(name);
        assert_eq!(frame.names(), [vec!["x0", "x1", "x2"], others.clone()].concat(), "{name}");
        for (c, want) in X.iter().enumerate() {
            assert_eq!(column(&frame, &format!("x{c}")), want, "{name}");
        }
        assert_eq!(column(&frame, "y"), ["3", "7", "9", "7"], "{name}");
        if others.contains(&"tree") {
            assert_eq!(column(&frame, "tree"), ["oak", "ash", "oak", "yew"], "{name}");
        }
    }
}

#[test]
fn the_name_of_an_array_stands_for_its_columns() {
    let config = TableConfig { standardize: false, ..TableConfig::new(fixture("stored.npz"), &["x"]) };
    let tables = load(&config, TargetKind::Numbers, 0).expect("three targets");
    assert_eq!(tables.train.target_names, ["x0", "x1", "x2"], "targets");
    assert_eq!(tables.train.feature_names, ["y", "tree=ash", "tree=oak", "tree=yew"], "inputs");
}

#[test]
fn images_of_idx_files_come_with_the_labels_beside_them() {
    let config = TableConfig { standardize: false, ..TableConfig::new(fixture("tiny-images-idx3-ubyte.gz"), &[]) };
    let frame = read("tiny-images-idx3-ubyte.gz");
    assert_eq!(frame.names(), ["p0", "p1", "p2", "p3", "p4", "p5"], "there is no tiny-labels-idx1-ubyte.gz");
    let said = load(&config, TargetKind::Classes, 0).expect_err("no labels").to_string();
    assert!(said.contains("add --labels FILE, or --target"), "{said}");
    let labels = Some(fixture("tiny-labels-idx1-ubyte"));
    let tables = load(&TableConfig { labels, ..config.clone() }, TargetKind::Classes, 0).expect("images");
    assert_eq!(tables.train.features, (0..24_u8).map(f32::from).collect::<Vec<_>>(), "pixels by rows");
    assert_eq!((tables.train.target_names, tables.train.targets), (vec!["label".into()], vec![0.0, 1.0, 2.0, 1.0]));
    let dir = Dir::new();
    for name in ["tiny-images-idx3-ubyte.gz", "tiny-labels-idx1-ubyte"] {
        let to = name.replace("ubyte.gz", "ubyte");
        std::fs::copy(fixture(name), dir.path(&to)).expect("a file can be copied");
    }
    // Gzip is told by the bytes and not by the name.
    let found = TableConfig { path: dir.path("tiny-images-idx3-ubyte"), ..config.clone() };
    assert_eq!(load(&found, TargetKind::Classes, 0).expect("found").train.targets, [0.0, 1.0, 2.0, 1.0], "beside it");
    let labels = Some(fixture("tiny-images-idx3-ubyte.gz"));
    let said = load(&TableConfig { labels, ..config }, TargetKind::Classes, 0).expect_err("images for labels");
    assert!(said.to_string().contains("is it a file of images?"), "{said}");
    let said = read_frame(&fixture("tiny.png"), Some(&fixture("tiny-labels-idx1-ubyte"))).expect_err("labels of a PNG");
    assert_eq!(said.exit_code(), 2, "{said}");
}

#[test]
fn text_with_tabs_and_in_gzip_is_read_as_by_pandas() {
    let frame = read("frame.tsv.gz");
    assert_eq!(frame.names(), ["x0", "x1", "tree", "sick", "y"], "columns");
    check_frame(&frame, ["True", "False", "False", "True"]);
}

fn check_frame(frame: &Frame, sick: [&str; 4]) {
    let want = [("x0", X[0]), ("x1", ["1", "-", "3", "4"]), ("tree", ["oak", "-", "oak", "yew"])];
    for (name, want) in want.into_iter().chain([("sick", sick), ("y", ["3", "7", "9", "7"])]) {
        assert_eq!(column(frame, name), want, "{name} of {}", frame.path.display());
    }
}

#[cfg(feature = "parquet")]
#[test]
fn parquet_is_read_in_every_compression() {
    for codec in ["snappy", "zstd", "none"] {
        check_frame(&read(&format!("{codec}.parquet")), ["1", "0", "0", "1"]);
    }
}

#[cfg(not(feature = "parquet"))]
#[test]
fn without_its_feature_parquet_is_refused_with_the_way_to_get_it() {
    let said = read_frame(&fixture("none.parquet"), None).expect_err("no Parquet").to_string();
    assert!(said.contains("none.parquet") && said.contains("--features parquet"), "{said}");
}

#[test]
fn an_image_is_a_table_of_its_pixels() {
    let config = ImageConfig { path: fixture("tiny.png"), validation: None };
    let tables = load(&config.table(), TargetKind::Numbers, 0).expect("an image");
    assert_eq!((tables.train.rows, tables.train.feature_names), (6, vec!["x".into(), "y".into()]), "pixels");
    let third = 2.0 / 3.0;
    let x: Vec<_> = tables.train.features.iter().copied().step_by(2).collect();
    let y: Vec<_> = tables.train.features.iter().copied().skip(1).step_by(2).collect();
    assert_eq!(
        (x, y),
        (vec![-third, 0.0, third, -third, 0.0, third], vec![-0.5, -0.5, -0.5, 0.5, 0.5, 0.5]),
        "centers"
    );
    let color = |pixel: usize| tables.train.targets[3 * pixel..][..3].to_vec();
    assert_eq!(
        (color(0), color(2), color(4)),
        (vec![1.0, 0.0, 0.0], vec![0.0, 0.0, 1.0], vec![0.2, 0.4, 0.6]),
        "colors"
    );
    let flat = TableConfig::new(fixture("flat.jpg"), &["r", "g", "b"]);
    let flat = load(&TableConfig { standardize: false, ..flat }, TargetKind::Numbers, 0).expect("a JPEG file");
    assert_eq!(flat.train.rows, 64, "pixels");
    let want = [200.0, 100.0, 50.0].map(|v| v / 255.0).repeat(64);
    common::assert_close("colors", &common::f64s(&flat.train.targets), &want, 0.0, 0.012);
}

#[test]
fn the_columns_of_a_table_are_shown() {
    let dir = Dir::new();
    let show = |name: &str, flags: &str| dir.run(&format!("data {} {flags}", fixture(name).display()));
    show("frame.tsv.gz", "").exits(0).prints(&[
        "4 rows, 5 columns\n",
        "x0     numbers         0          4  0.5 to 7, mean 3.125, deviation 2.60708\n",
        "tree   texts           1          2  oak (2), yew (1)\n",
    ]);
    let json = show("frame.tsv.gz", "--json").exits(0).json();
    assert_eq!(json["columns"][1]["missing"], 1, "{json}");
    assert_eq!(json["columns"][1]["kind"], "numbers", "{json}");
    assert_eq!(json["columns"][3]["most"], serde_json::json!([["True", 2], ["False", 2]]), "{json}");
    let labels = fixture("tiny-labels-idx1-ubyte");
    let flags = format!("--labels {}", labels.display());
    show("tiny-images-idx3-ubyte.gz", &flags).exits(0).prints(&["4 rows, 7 columns", "\nlabel  numbers"]);
    dir.run("data absent.csv").exits(1).says(&["absent.csv: "]);
}

/// Files whose headers promise more than there is, or something else than numbers.
#[test]
fn headers_that_lie_are_refused_with_the_file() {
    let npy = |dict: &str| {
        [b"\x93NUMPY\x01\x00", &u16::try_from(dict.len()).expect("short").to_le_bytes()[..], dict.as_bytes()].concat()
    };
    let array =
        |descr: &str, shape: &str| npy(&format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}\n"));
    let idx = |axes: &[u32]| {
        let mut bytes = vec![0, 0, 8, u8::try_from(axes.len()).expect("few")];
        bytes.extend(axes.iter().flat_map(|size| size.to_be_bytes()));
        bytes
    };
    let huge = "(1152921504606846976, 1152921504606846976)";
    let rows: [(&str, Vec<u8>, &str); 16] = [
        ("a.npy", array("'<f8'", huge), "does not fit its 0 bytes"),
        ("a.npy", array("'<f8'", "(3,)"), "does not fit its 0 bytes"),
        ("a.npy", array("'<f8'", "(0, 3)"), "has no elements"),
        ("a.npy", array("'|O'", "(1,)"), "pickled Python objects are not read"),
        ("a.npy", array("'<c16'", "(1,)"), "\"<c16\" are not read"),
        ("a.npy", array("'<U4611686018427387904'", "(1,)"), "not"),
        ("a.npy", array("[('a', '<f8')]", "(1,)"), "arrays of records are not read"),
        ("a.npy", npy("{}"), "its header cannot be used"),
        ("a.npy", b"\x93NUMPY\x02\x00\xff\xff\xff\xff".to_vec(), "no .npy file, or it was cut"),
        ("a.npz", b"PK\x05\x06".to_vec(), "expected an archive"),
        ("a.idx", idx(&[u32::MAX, u32::MAX, u32::MAX]), "does not fit its 0 bytes"),
        ("a.idx", vec![0, 0, 8, 255], "no IDX file, or it was cut"),
        ("a.safetensors", [&u64::MAX.to_le_bytes()[..], b"{}"].concat(), "expected a safetensors file"),
        ("a.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\x7f\xff\xff\xff\x7f\xff\xff\xff\x08\x06\0\0\0".to_vec(), "a.png: "),
        ("a.jpg", vec![0xff, 0xd8, 0xff, 0xc0, 0, 11], "expected a PNG or JPEG image"),
        ("a.csv.gz", b"\x1f\x8b\x08\x00cut".to_vec(), "the gzip file is damaged, or was cut"),
    ];
    let dir = Dir::new();
    for (name, bytes, wanted) in rows {
        std::fs::write(dir.path(name), &bytes).expect("a file");
        match read_frame(&dir.path(name), None) {
            Err(Error::Data(said)) => {
                assert!(said.contains(name) && said.contains(wanted), "{name}: expected {wanted}: {said}");
            }
            other => panic!("{name}: expected {wanted}, got {other:?}"),
        }
    }
}

#[test]
fn arrays_that_do_not_fit_together_are_refused() {
    use safetensors::{Dtype, serialize_to_file, tensor::TensorView};
    let dir = Dir::new();
    let zeros = [0; 256];
    let view = |shape: &[usize]| {
        let size: usize = shape.iter().product();
        TensorView::new(Dtype::U8, shape.to_vec(), &zeros[..size]).expect("a tensor")
    };
    for (tensors, wanted) in [
        (vec![("a", view(&[3])), ("b", view(&[4]))], "the array \"b\" has 4 rows, and \"a\" has 3"),
        (vec![("a", view(&[]))], "the array \"a\" is a single value"),
        (vec![("a", view(&[3, 2])), ("a1", view(&[3]))], "two columns are named \"a1\""),
        (vec![], "it holds no array"),
    ] {
        serialize_to_file(tensors, None, &dir.path("t.safetensors")).expect("a file");
        let said = read_frame(&dir.path("t.safetensors"), None).expect_err(wanted).to_string();
        assert!(said.contains("t.safetensors") && said.contains(wanted), "expected {wanted}: {said}");
    }
}

#[test]
fn every_format_is_trained_on() {
    let dir = Dir::new();
    for (name, flags) in [
        ("stored.npz", "--target y"),
        ("matrix.npy", "--target c2"),
        ("named.safetensors", "--target x"),
        ("frame.tsv.gz", "--target y --missing mean"),
    ] {
        let data = fixture(name);
        let ran = dir.run(&format!("train {TINY} --data {} {flags} --steps 20 --json", data.display()));
        let json = ran.exits(0).says(&["data: 4 rows to train on"]).json();
        assert!(json["train_loss"].as_f64().is_some_and(f64::is_finite), "{name}: {ran}");
    }
}
