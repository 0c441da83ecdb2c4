//! Tables as they are trained on: roles of columns, encodings, classes, missing values.

use std::path::PathBuf;

use fori::config::{Missing, TableConfig};
use fori::data::schema::Targets;
use fori::data::{Schema, Tables, load, read_frame};
use fori::error::{Error, Result};
use fori::spec::TargetKind;
use tempfile::TempDir;

use crate::common;

/// A table in a folder of its own.
pub struct File {
    _dir: TempDir,
    pub path: PathBuf,
}

pub fn file(text: &str) -> File {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let path = dir.path().join("t.csv");
    std::fs::write(&path, text).expect("a file can be written");
    File { _dir: dir, path }
}

/// The config of a table whose numbers stay as they are.
pub fn plain(file: &File, targets: &[&str]) -> TableConfig {
    TableConfig { standardize: false, ..TableConfig::new(&file.path, targets) }
}

pub fn strings(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.into()).collect()
}

pub fn refusal<T: std::fmt::Debug>(result: Result<T>) -> String {
    match result {
        Err(error @ (Error::Data(_) | Error::Usage(_))) => error.to_string(),
        other => panic!("expected an error about the data, got {other:?}"),
    }
}

pub const PETS: &str = "size,kind,name,y\n1,cat,a,0.5\n2,dog,b,0.25\n3,cat,c,1\n";

#[test]
fn texts_become_categories_named_and_sorted() {
    let file = file(PETS);
    let config = TableConfig { exclude: strings(&["name"]), ..plain(&file, &["y"]) };
    let tables = load(&config, TargetKind::Numbers, 0).expect("a table with a column of texts");
    assert_eq!(tables.train.feature_names, ["size", "kind=cat", "kind=dog"], "inputs");
    assert_eq!(tables.train.features, [1.0, 1.0, 0.0, 2.0, 0.0, 1.0, 3.0, 1.0, 0.0], "one-hot");
    assert!(tables.summary.contains("inputs: 3, from 1 column of numbers, and 1 column of texts, one-hot: \"kind\""));
    assert!(tables.summary.contains("data: 3 rows to train on\n"), "{}", tables.summary);
}

#[test]
fn a_schema_finds_the_columns_of_another_table_by_name() {
    let (trained, other) = (file(PETS), file("more,kind,size\nx,dog,7\nx,cat,8\n"));
    let config = TableConfig { exclude: strings(&["name"]), ..plain(&trained, &["y"]) };
    let schema = load(&config, TargetKind::Numbers, 0).expect("a table").schema;
    let apply = |file: &File| schema.apply(&read_frame(&file.path, None)?);
    let found = apply(&other).expect("the same columns in another order, more of them, and no target");
    assert_eq!(found.features, [7.0, 0.0, 1.0, 8.0, 1.0, 0.0], "inputs");
    assert!(found.targets.is_empty(), "no targets: {:?}", found.targets);
    assert_eq!(apply(&trained).expect("the table itself").targets, [0.5, 0.25, 1.0], "targets");
    for (text, wanted) in [
        ("kind,size\ndog,7\ncow,8\n", "line 3: column \"kind\": expected one of \"cat\", \"dog\", found \"cow\""),
        ("kind,sise\ndog,7\n", "the model reads a column \"size\": no such column; did you mean \"sise\"?"),
        ("kind,size\ndog,7\n,8\n", "line 3: column \"kind\": missing value"),
        ("kind,size\ndog,7\ndog,big\n", "line 3: column \"size\": expected a number, found \"big\""),
        ("kind,size\ndog,7\ndog,\n", "line 3: column \"size\": missing value: expected a number"),
    ] {
        let said = refusal(apply(&file(text)));
        assert!(said.contains("t.csv") && said.contains(wanted), "{text:?}: {said}");
    }
    let inputs = schema.apply_inputs(&read_frame(&trained.path, None).expect("a table")).expect("inputs alone");
    assert!(inputs.targets.is_empty() && inputs.rows == 3, "{inputs:?}");
}

#[test]
fn columns_have_one_role_each() {
    let file = file(PETS);
    let with = |features: &[&str], exclude: &[&str], weight: Option<&str>| {
        let (features, exclude) = (strings(features), strings(exclude));
        let config = TableConfig { features, exclude, weight: weight.map(String::from), ..plain(&file, &["y"]) };
        load(&config, TargetKind::Numbers, 0)
    };
    let chosen = with(&["kind", "size"], &[], None).expect("two inputs");
    assert_eq!(chosen.train.feature_names, ["size", "kind=cat", "kind=dog"], "in the order of the file");
    for (result, wanted) in [
        (with(&["size", "y"], &[], None), "--target and --features both name \"y\""),
        (with(&["size"], &["size"], None), "--exclude and --features both name \"size\""),
        (with(&[], &["y"], None), "--target and --exclude both name \"y\""),
        (with(&[], &[], Some("y")), "--target and --weight-column both name \"y\""),
        (with(&["sizes"], &[], None), "--features \"sizes\": no such column; did you mean \"size\"?"),
        (with(&[], &["size", "size"], None), "--exclude names \"size\" twice"),
        (with(&[], &["size", "kind", "name"], None), "--target, --exclude and --weight-column together name every"),
    ] {
        let said = refusal(result);
        assert!(said.contains("line 1") && said.contains(wanted), "expected {wanted}: {said}");
    }
    let config = TableConfig { targets: Vec::new(), ..plain(&file, &[]) };
    let said = load(&config, TargetKind::Numbers, 0).expect_err("no target");
    assert_eq!(said.exit_code(), 2, "{said}");
    assert!(said.to_string().contains("add --target with one or more of \"size\", \"kind\""), "{said}");
}

#[test]
fn names_of_the_rows_are_no_categories() {
    let rows: String = (0..30).map(|i| format!("row{i},{i}\n")).collect();
    let named = file(&format!("id,y\n{rows}"));
    let said = refusal(load(&plain(&named, &["y"]), TargetKind::Numbers, 0));
    let want =
        "column \"id\" has a different text in each row (30), as \"row0\"; write numbers with digits and a point alone";
    assert!(said.contains(want) && said.contains("--exclude \"id\""), "{said}");
    let rows: String = (0..3000).map(|i| format!("row{},{i}\n", i / 2)).collect();
    let said = refusal(load(&plain(&file(&format!("id,y\n{rows}")), &["y"]), TargetKind::Numbers, 0));
    assert!(said.contains("too many different texts for categories (1500)"), "{said}");
}

fn classes(text: &str) -> Result<Tables> {
    load(&plain(&file(text), &["y"]), TargetKind::Classes, 0)
}

#[test]
fn any_labels_are_classes_by_size_or_by_the_alphabet() {
    let named = |tables: &Tables| match &tables.schema.targets {
        Targets::Classes { name, classes } => {
            assert_eq!(name, "y", "the column");
            classes.clone()
        }
        other => panic!("expected classes, got {other:?}"),
    };
    let digits = classes("a,y\n1,9\n2,3.0\n3,10\n4,3\n").expect("numbers");
    assert_eq!((named(&digits), digits.train.targets.clone()), (strings(&["3", "9", "10"]), vec![1.0, 0.0, 2.0, 0.0]));
    let texts = classes("a,y\n1,b\n2,a\n3,10\n4,b\n").expect("texts");
    assert_eq!((named(&texts), texts.train.targets.clone()), (strings(&["10", "a", "b"]), vec![2.0, 1.0, 0.0, 2.0]));
    let iris = TableConfig::new(common::path("data/iris.csv"), &["species"]);
    let iris = load(&iris, TargetKind::Classes, 0).expect("iris");
    assert_eq!(named_of(&iris.schema), ["setosa", "versicolor", "virginica"], "classes");
    assert_eq!((iris.train.rows, iris.schema.inputs(), iris.schema.targets.outputs()), (150, 4, 3), "sizes");
    for (text, wanted) in [
        ("a,y\n1,3\n2,3\n", "column \"y\": expected two classes or more, found 1 (\"3\")"),
        ("a,y\n1,3\n2,\n4,5\n", "line 3: column \"y\": missing value"),
    ] {
        let said = refusal(classes(text));
        assert!(said.contains(wanted), "{text:?}: {said}");
    }
    let two = load(&plain(&file("a,y,z\n1,2,3\n4,5,6\n"), &["y", "z"]), TargetKind::Classes, 0);
    assert!(refusal(two).contains("--target names 2: name one"), "classes of two columns");
    let many: String = (0..1001).map(|i| format!("1,{i}\n")).collect();
    assert!(refusal(classes(&format!("a,y\n{many}"))).contains("at most 1000 classes, found 1001 values"), "numbers");
}

fn named_of(schema: &Schema) -> Vec<String> {
    if let Targets::Classes { classes, .. } = &schema.targets { classes.clone() } else { Vec::new() }
}

#[test]
fn two_texts_are_labels() {
    let labels = |text: &str| load(&plain(&file(text), &["y"]), TargetKind::Labels, 0);
    let found = labels("a,y\n1,True\n2,False\n3,True\n").expect("a boolean");
    assert_eq!(found.train.targets, [1.0, 0.0, 1.0], "by the alphabet");
    assert!(found.summary.contains("target: \"y\" (0: False, 1: True)"), "{}", found.summary);
    assert_eq!(labels("a,y\n1,0.5\n2,1\n").expect("numbers").train.targets, [0.5, 1.0], "numbers stay");
    for (text, wanted) in [
        ("a,y\n1,p\n2,q\n3,r\n", "expected two classes for --loss binary_cross_entropy, found 3"),
        ("a,y\n1,p\n2,p\n", "found 1 (\"p\")"),
        ("a,y\n1,0\n2,3\n", "line 3: column \"y\": expected labels from 0 to 1"),
    ] {
        let said = refusal(labels(text));
        assert!(said.contains(wanted) && said.contains("softmax_cross_entropy"), "{text:?}: {said}");
    }
}

const GAPS: &str = "a,kind,y\n1,cat,1\n,dog,2\n3,,3\n5,cat,\n9,dog,5\n";

#[test]
fn missing_values_are_refused_dropped_or_filled_in() {
    let file = file(GAPS);
    let with = |missing| load(&TableConfig { missing, ..plain(&file, &["y"]) }, TargetKind::Numbers, 0);
    assert!(
        refusal(with(Missing::Error)).contains("line 3: column \"a\": missing value: expected a number, found \"\"")
    );
    let dropped = with(Missing::Drop).expect("two whole rows");
    assert_eq!((dropped.train.rows, dropped.train.features), (2, vec![1.0, 1.0, 0.0, 9.0, 0.0, 1.0]), "whole rows");
    assert!(dropped.summary.contains("missing: 3 rows left out"), "{}", dropped.summary);
    let said = refusal(with(Missing::Mean));
    assert!(said.contains("line 5: column \"y\": missing value"), "a target is never filled in: {said}");
    let config = TableConfig { missing: Missing::Mean, ..plain(&file, &["a"]) };
    assert!(refusal(load(&config, TargetKind::Numbers, 0)).contains("line 3: column \"a\""), "nor is another target");
    let config = TableConfig { missing: Missing::Mean, exclude: strings(&["y"]), ..plain(&file, &["kind"]) };
    assert!(refusal(load(&config, TargetKind::Labels, 0)).contains("line 4: column \"kind\""), "nor is a label");
    let whole = self::file("a,kind,y\n1,cat,1\n,dog,2\n4,,3\n");
    let config = TableConfig { missing: Missing::Mean, ..plain(&whole, &["y"]) };
    let filled = load(&config, TargetKind::Numbers, 0).expect("filled in");
    assert_eq!(filled.train.feature_names, ["a", "kind=", "kind=cat", "kind=dog"], "a category of its own");
    let want = [1.0, 0.0, 1.0, 0.0, 2.5, 0.0, 0.0, 1.0, 4.0, 1.0, 0.0, 0.0];
    assert_eq!(filled.train.features, want, "the mean of 1 and 4");
    assert!(filled.summary.contains("missing: 2 values filled in"), "{}", filled.summary);
}

#[test]
fn weights_have_a_mean_of_one() {
    let weigh = |text: &str| {
        let file = file(text);
        let config = TableConfig { weight: Some("w".into()), ..plain(&file, &["y"]) };
        load(&config, TargetKind::Numbers, 0).map(|tables| tables.train)
    };
    let found = weigh("a,w,y\n1,1,1\n2,0,2\n3,5,3\n").expect("weights");
    assert_eq!((found.weights, found.features), (Some(vec![0.5, 0.0, 2.5]), vec![1.0, 2.0, 3.0]), "weights");
    for (text, wanted) in [
        ("a,w,y\n1,1,1\n2,-1,2\n", "line 3: column \"w\": expected a weight of 0 or more, found -1"),
        ("a,w,y\n1,0,1\n2,0,2\n", "column \"w\": expected a weight above 0 in some row"),
        ("a,w,y\n1,1,1\n2,,2\n", "line 3: column \"w\": missing value"),
    ] {
        let said = refusal(weigh(text));
        assert!(said.contains(wanted), "{text:?}: {said}");
    }
}
