//! Rows to validate with: a share of a table, or another file.

use fori::config::{Missing, TableConfig, Validation};
use fori::data::schema::Encoding;
use fori::data::{Dataset, Schema, load};
use fori::spec::TargetKind;

use crate::tables::{File, PETS, file, plain, refusal, strings};

/// A table of 100 rows: the number of the row, and a class that every tenth has.
fn hundred() -> File {
    let rows: String = (0..100).map(|i| format!("{i},{}\n", if i % 10 == 0 { "rare" } else { "often" })).collect();
    file(&format!("a,y\n{rows}"))
}

fn split(file: &File, kind: TargetKind, share: f64, seed: u64) -> (Dataset, Dataset, Schema) {
    let target = if kind == TargetKind::Numbers { "a" } else { "y" };
    let config = TableConfig { validation: Some(Validation::Share(share)), ..plain(file, &[target]) };
    let tables = load(&config, kind, seed).expect("a split");
    (tables.train, tables.validation.expect("rows to validate with"), tables.schema)
}

#[test]
fn the_split_is_that_of_its_seed_and_takes_each_class() {
    let file = hundred();
    for (kind, seed) in [(TargetKind::Classes, 0), (TargetKind::Labels, 1), (TargetKind::Classes, 2)] {
        let (train, validation, _) = split(&file, kind, 0.2, seed);
        let rare = |set: &Dataset| set.targets.iter().filter(|&&class| class == 1.0).count();
        assert_eq!((train.rows, validation.rows), (80, 20), "rows");
        assert_eq!((rare(&train), rare(&validation)), (8, 2), "rows of the rare class, seed {seed}");
        assert!(train.features.is_sorted() && validation.features.is_sorted(), "both in the order of the file");
        let mut all = [train.features.clone(), validation.features.clone()].concat();
        all.sort_by(f32::total_cmp);
        assert_eq!(all, (0..100_u8).map(f32::from).collect::<Vec<_>>(), "each row once");
        assert_eq!(split(&file, kind, 0.2, seed).1, validation, "the same again");
        assert_ne!(split(&file, kind, 0.2, seed + 7).1, validation, "another seed");
    }
    // As JAX draws them from fold_in(key(0), 0x53504c54), since a resumed run on another machine needs the same rows.
    let (_, validation, _) = split(&file, TargetKind::Classes, 0.1, 0);
    assert_eq!(validation.features, PINNED, "rows of seed 0");
}

const PINNED: [f32; 10] = [1.0, 3.0, 7.0, 16.0, 34.0, 44.0, 50.0, 53.0, 96.0, 99.0];

#[test]
fn shares_are_rounded_and_leave_rows_on_both_sides() {
    let table = |rows: usize| file(&format!("a,y\n{}", "1,2\n".repeat(rows)));
    let rows = |rows, share| {
        let file = table(rows);
        let config = TableConfig { validation: Some(Validation::Share(share)), ..plain(&file, &["y"]) };
        load(&config, TargetKind::Numbers, 0).map(|t| (t.train.rows, t.validation.map_or(0, |v| v.rows)))
    };
    assert_eq!(rows(7, 0.2).expect("1.4 rows"), (6, 1), "rounded down");
    assert_eq!(rows(8, 0.2).expect("1.6 rows"), (6, 2), "rounded up");
    assert!(refusal(rows(2, 0.2)).contains("--validation 0.2 of 2 rows leaves no row to validate with"), "too few");
    assert!(refusal(rows(2, 0.9)).contains("leaves no row to train on"), "too many");
}

#[test]
fn only_the_rows_that_are_trained_on_are_measured() {
    let file = hundred();
    let config = TableConfig {
        validation: Some(Validation::Share(0.3)),
        missing: Missing::Mean,
        ..TableConfig::new(&file.path, &["y"])
    };
    let tables = load(&config, TargetKind::Classes, 3).expect("a split");
    let Encoding::Number { mean, std, fill } = tables.schema.inputs[0].encoding else { panic!("a column of numbers") };
    let raw: Vec<_> = tables.train.features.iter().map(|&v| f64::from(v) * std + mean).collect();
    let of_train = raw.iter().sum::<f64>() / 70.0;
    assert!((of_train - mean).abs() < 1e-4 && (mean - 49.5).abs() > 1e-3, "mean {mean}, of the rows {of_train}");
    assert_eq!(fill, Some(mean), "what is filled in");
}

#[test]
fn another_file_is_validated_with() {
    let (train, other) = (file(PETS), file("y,size,kind,name\n3,9,dog,z\n"));
    let config = |path: &File| TableConfig {
        exclude: strings(&["name"]),
        validation: Some(Validation::File(path.path.clone())),
        ..plain(&train, &["y"])
    };
    let tables = load(&config(&other), TargetKind::Numbers, 0).expect("two tables");
    let validation = tables.validation.expect("rows to validate with");
    assert_eq!((validation.features, validation.targets), (vec![9.0, 0.0, 1.0], vec![3.0]), "rows");
    assert_eq!(tables.train.rows, 3, "all rows of the table are trained on");
    assert!(tables.summary.contains(", 1 of "), "{}", tables.summary);
    let said = refusal(load(&config(&file("size,kind\n9,dog\n")), TargetKind::Numbers, 0));
    assert!(said.contains("--validation needs the column \"y\""), "{said}");
    let said = refusal(load(&config(&file("y,size,kind\n1,9,cow\n")), TargetKind::Numbers, 0));
    assert!(said.contains("found \"cow\""), "{said}");
}
