use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;

use super::*;

/// Writes `contents` into a file of its own; the directory lives as long as the returned guard.
fn file(contents: impl AsRef<[u8]>) -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().expect("a temporary directory can be made");
    let path = dir.path().join("table.csv");
    fs::write(&path, contents).expect("a temporary file can be written");
    (dir, path)
}

fn config(path: &Path, targets: &[&str], standardize: bool) -> TableConfig {
    TableConfig { standardize, ..TableConfig::new(path, targets) }
}

fn load_numbers(path: &Path, targets: &[&str], standardize: bool) -> Result<Tables> {
    load(&config(path, targets, standardize), TargetKind::Numbers, 0)
}

fn read(contents: impl AsRef<[u8]>, targets: &[&str], standardize: bool) -> Result<Dataset> {
    let (_dir, path) = file(contents);
    load_numbers(&path, targets, standardize).map(|tables| tables.train)
}

/// The text of the error, without the path that it must start with.
fn refusal(contents: impl AsRef<[u8]>, targets: &[&str], standardize: bool) -> String {
    let (_dir, path) = file(contents);
    match load_numbers(&path, targets, standardize) {
        Err(Error::Data(text)) => {
            text.strip_prefix(&format!("{}, ", path.display())).expect("the text starts with the path").to_owned()
        }
        other => panic!("expected a data error, got {other:?}"),
    }
}

#[test]
fn features_keep_file_order_and_targets_the_order_given() {
    let data = read("a,y,b,z\n1,2,3,4\n5,6,7,8\n", &["z", "y"], false).expect("a plain table");
    assert_eq!(data.rows, 2, "rows");
    assert_eq!(data.feature_names, ["a", "b"], "features");
    assert_eq!(data.target_names, ["z", "y"], "targets");
    assert_eq!(data.features, [1.0, 3.0, 5.0, 7.0], "features are row-major");
    assert_eq!(data.targets, [4.0, 2.0, 8.0, 6.0], "targets are row-major");
}

#[test]
fn spellings_of_one_table_read_alike() {
    let plain = read("a b,y\n1,-2.5\n3e2,4\n", &["y"], false).expect("a plain table");
    let spellings: [(&str, &str); 13] = [
        ("CRLF", "a b,y\r\n1,-2.5\r\n3e2,4\r\n"),
        ("CR", "a b,y\r1,-2.5\r3e2,4\r"),
        ("semicolons", "a b;y\n1;-2.5\n3e2;4\n"),
        ("semicolons and decimal commas", "\u{feff}\"a b\";y\r\n1,0;-2,5\r\n\"3,0e2\";4\r\n"),
        ("tabs", "a b\ty\n1\t-2.5\n3e2\t4\n"),
        ("blank lines before", "\n\na b;y\n1;-2.5\n3e2;4\n"),
        ("no final line break", "a b,y\n1,-2.5\n3e2,4"),
        ("byte order mark", "\u{feff}a b,y\n1,-2.5\n3e2,4\n"),
        ("byte order mark before a quote", "\u{feff}\"a b\",y\n1,-2.5\n3e2,4\n"),
        ("quotes", "\"a b\",\"y\"\n\"1\",\"-2.5\"\n\"3e2\",\"4\"\n"),
        ("blanks", " a b\t, y \n 1 ,\t-2.5\n\" 3e2 \", 4 \n"),
        ("line breaks in quotes", "\"a b\n\",y\n\"\r\n1\",-2.5\n3e2,4\n"),
        ("empty lines", "\n\na b,y\n\n1,-2.5\r\n\r\n3e2,4\n\n"),
    ];
    for (name, text) in spellings {
        assert_eq!(read(text, &["y"], false).expect(name), plain, "{name}");
    }
}

#[test]
fn large_integers_and_short_forms_parse_as_floats() {
    let data = read("a,y\n123456789012345678901234567890,.5\n+7,1E-3\n", &["y"], false).expect("numbers");
    assert_eq!(data.features, [1.234_567_9e29, 7.0], "integers beyond 64 bits");
    assert_eq!(data.targets, [0.5, 0.001], "short and scientific forms");
}

#[test]
fn values_are_refused_with_line_column_and_cure() {
    let long = format!("a,y\n1,{}\n", "x".repeat(60));
    let cut = format!("line 2: column \"y\": expected a number, found \"{}\"...; this loss", "x".repeat(40));
    let rows: [(&str, &str, &str); 17] = [
        ("empty field", "a,y\n1,2\n,4\n", "line 3: column \"a\": missing value: expected a number, found \"\"; fill"),
        ("blank field", "a,y\n1,  \n", "line 2: column \"y\": missing value"),
        ("marker", "a,y\n1,2\nN/A,3\n", "line 3: column \"a\": missing value: expected a number, found \"N/A\""),
        ("text", "a,y\n1,2\nred,2\n", "line 3: column \"a\": expected a number, found \"red\"; correct the value"),
        ("categories", "a,y\n1,2\nred,2\n", "encode the column, or leave it out with --exclude"),
        ("decimal comma", "a,y\n1,2\n\"1,5\",2\n", "line 3: column \"a\": expected a number, found \"1,5\""),
        ("long text", &long, &cut),
        (
            "NaN",
            "a,y\n1,2\n3,nan\n",
            "line 3: column \"y\": missing value: expected a number, found \"nan\"; fill it in",
        ),
        ("infinity", "a,y\n1,2\n1,-inf\n", "line 3: column \"y\": expected a finite number, found \"-inf\""),
        ("beyond f64", "a,y\n1,1\n1e999,1\n", "line 3: column \"a\": expected a finite number, found \"1e999\""),
        ("CRLF", "a,y\r\n1,2\r\n3,x\r\n", "line 3: column \"y\""),
        ("CR", "a,y\r1,2\r3,x\r", "line 3: column \"y\""),
        ("empty lines", "\r\n\na,y\r\n\r\n\r\n1,x\r\n", "line 6: column \"y\""),
        ("byte order mark", "\u{feff}\n\na,y\n1,x\n", "line 4: column \"y\""),
        ("line breaks in quotes", "\"a\n\n\",y\n\"1\r\n\",2\n3,x\n", "line 6: column \"y\""),
        ("control characters", "\"a\u{1b}b\",y\n1,1\nx,1\n", "line 3: column \"a\\u{1b}b\""),
        ("open quote", "a,y\n1,2\n3,\"4\n5,6\n", "line 3: column \"y\": expected a number, found \"4\\n5,6\"; look"),
    ];
    for (name, text, want) in rows {
        let got = refusal(text, &["y"], false);
        assert!(got.contains(want), "{name}: {got}");
    }
}

#[test]
fn rows_and_headers_are_refused_with_line_and_cure() {
    let rows: [(&str, &str, &[&str], &str); 18] = [
        ("short row", "a,b,y\n1,2,3\n4,5\n", &["y"], "line 3: expected 3 fields, found 2; look for"),
        ("long row", "a,b,y\n1,2,3,4\n", &["y"], "line 2: expected 3 fields, found 4"),
        ("open quote", "a,y\n\"1,2\n3,4\n", &["y"], "line 2: expected 2 fields, found 1; look for"),
        ("empty file", "", &["y"], "line 1: the file is empty; expected a header and rows"),
        ("empty lines only", "\n\r\n", &["y"], "the file is empty"),
        ("byte order mark only", "\u{feff}", &["y"], "line 1: the file is empty"),
        ("header only", "a,y\n", &["y"], "line 2: the file ends after the header; expected rows"),
        ("header without line break", "a,y", &["y"], "line 1: the file ends after the header"),
        ("no name", "a,,y\n1,2,3\n", &["y"], "line 1: column 2 has no name; name it"),
        ("trailing comma", "\na,y, \n1,2,3\n", &["y"], "line 2: column 3 has no name"),
        ("same name", "a,y,\" a\"\n1,2,3\n", &["y"], "line 1: columns 1 and 3 are both named \"a\"; rename"),
        ("target twice", "a,y\n1,2\n", &["y", "y"], "line 1: --target names \"y\" twice; name each"),
        ("only targets", "a,y\n1,2\n", &["y", "a"], "line 1: --target names every column; leave at least one"),
        (
            "unknown target",
            "a,y\n1,2\n",
            &["x"],
            "line 1: --target \"x\": no such column (available columns: \"a\", \"y\")",
        ),
        ("misspelling", "age,progression\n1,2\n", &["progresion"], "did you mean \"progression\"? (available"),
        ("case", "age,Y\n1,2\n", &["y"], "--target \"y\": no such column; did you mean \"Y\"?"),
        (
            "bars",
            "a|y\n1|2\n",
            &["y"],
            "fields must be separated by commas, semicolons or tabs, in a .tsv by tabs (available columns: \"a|y\")",
        ),
        ("no header", "1,2\n3,4\n", &["y"], "the first line must be a header (available columns: \"1\", \"2\")"),
    ];
    for (name, text, targets, want) in rows {
        let got = refusal(text, targets, false);
        assert!(got.contains(want), "{name}: {got}");
    }
}

#[test]
fn a_wide_header_is_listed_in_part() {
    let names: Vec<String> = (0..25).map(|c| format!("pixel{c}")).collect();
    let rows = "1,".repeat(24);
    let got = refusal(format!("{}\n{rows}1\n", names.join(",")), &["label"], false);
    assert!(got.ends_with("\"pixel18\", \"pixel19\" and 5 more)"), "{got}");
}

#[test]
fn text_that_is_not_utf8_is_refused() {
    let field = refusal(b"a,y\n1,2\n3,\xE9\n", &["y"], false);
    assert!(field.starts_with("line 3: column \"y\": expected UTF-8 text; save the file as UTF-8"), "{field}");
    let name = refusal(b"a,\xE9\n1,2\n", &["a"], false);
    assert!(name.starts_with("line 1: name of column 2: expected UTF-8 text"), "{name}");
    let utf16 = refusal(b"\xFF\xFEa\0,\0y\0\n\0", &["y"], false);
    assert!(utf16.starts_with("line 1: name of column 1: expected UTF-8 text"), "{utf16}");
}

#[test]
fn overflow_of_f32_is_refused_unless_standardized_away() {
    let large = "a,y\n1,1\n-4e38,2\n";
    let got = refusal(large, &["y"], false);
    let want =
        "line 3: column \"a\": magnitude 4e38 is too large for 32-bit floats; leave out --no-standardize, or rescale";
    assert!(got.starts_with(want), "{got}");
    let data = read(large, &["y"], true).expect("standardized values are small");
    assert_eq!(data.features, [1.0, -1.0], "two values lie one deviation from their mean");
    let got = refusal("a,y\n1,1.5e308\n2,-1.7e308\n3,1\n", &["y"], true);
    assert!(got.starts_with("line 3: column \"y\": magnitude 1.7e308 is too large"), "{got}");
}

#[test]
fn a_separator_within_quotes_is_none() {
    let data = read("\"a;b;c\",y\n1,2\n", &["y"], false).expect("commas separate");
    assert_eq!(data.feature_names, ["a;b;c"]);
    let data = read("\"a,b\";y\n1;2\n", &["y"], false).expect("semicolons separate");
    assert_eq!(data.feature_names, ["a,b"]);
    let got = refusal("a,y\n\"1,5\",2\n2,3\n", &["y"], false);
    assert!(got.starts_with("line 2: column \"a\": expected a number, found \"1,5\""), "between commas: {got}");
}

#[test]
fn a_name_with_a_comma_that_was_cut_is_named_with_its_cure() {
    let got = refusal("\"size, m\",y\n1,2\n", &["size"], false);
    assert!(got.contains("--target \"size\": no such column; a name with a comma goes into quotes"), "{got}");
}

#[test]
fn inputs_with_one_value_are_told() {
    let (_dir, path) = file("a,b,y\n1,7,1\n2,7,2\n");
    let summary = load_numbers(&path, &["y"], true).expect("a plain table").summary;
    assert!(summary.contains("constant: 1 input with one value in all rows that are trained on: \"b\""), "{summary}");
    let (_dir, path) = file("a,b,y\n1,7,1\n");
    let summary = load_numbers(&path, &["y"], true).expect("a row").summary;
    assert!(!summary.contains("constant"), "of one row all are: {summary}");
}

#[test]
fn numbers_that_all_differ_are_no_classes() {
    let rows = |count: u32| (0..count).map(|i| format!("{i},{}.5\n", i * i)).collect::<String>();
    let load = |count| {
        let (_dir, path) = file(format!("a,y\n{}", rows(count)));
        load(&config(&path, &["y"], true), TargetKind::Classes, 0)
    };
    let got = load(30).expect_err("no classes").to_string();
    let want = "column \"y\": expected classes, found a different number in each of 30 rows; to predict numbers, use --loss mse";
    assert!(got.contains(want), "{got}");
    assert!(load(5).is_ok(), "a few rows may have a class each");
}

#[test]
fn files_that_cannot_be_read_are_io_errors() {
    let dir = tempfile::tempdir().expect("a temporary directory can be made");
    for path in [dir.path().to_path_buf(), dir.path().join("absent.csv")] {
        let got = load_numbers(&path, &["y"], false);
        assert!(matches!(&got, Err(Error::Io { path: named, .. }) if *named == path), "{got:?}");
    }
}

#[test]
fn a_column_is_scaled_by_its_population_deviation() {
    let values = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0];
    let moments = |scale: f64| standardize::moments(values.iter().map(move |v| v * scale));
    // The sample deviation (ddof = 1) would be 2.14.
    assert_eq!(moments(1.0), (5.0, 2.0), "mean and deviation");
    let (mean, std) = moments(1e-200);
    assert!((std / 2e-200 - 1.0).abs() < 1e-12 && (mean / 5e-200 - 1.0).abs() < 1e-12, "small units: {mean} {std}");
    assert_eq!(standardize::moments([0.1; 8].into_iter()), (0.1, 1.0), "the deviation of a constant column is 1");
    assert_eq!(standardize::moments(std::iter::empty()), (0.0, 1.0), "no rows");
}

#[test]
fn diabetes_is_read_and_standardized() {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/diabetes.csv"));
    let tables = load_numbers(path, &["progression"], true).expect("a numeric table");
    let data = &tables.train;
    assert_eq!((data.rows, data.feature_names.len()), (442, 10), "rows and features");
    assert_eq!(data.feature_names[..3], ["age", "sex", "bmi"], "first features");
    assert_eq!(data.target_names, ["progression"], "target");
    for (values, columns) in [(&data.features, 10), (&data.targets, 1)] {
        assert_eq!(values.len(), data.rows * columns, "shape");
        for c in 0..columns {
            let column = || values.iter().skip(c).step_by(columns).map(|&v| f64::from(v));
            let mean = column().sum::<f64>() / 442.0;
            let std = (column().map(|v| (v - mean).powi(2)).sum::<f64>() / 442.0).sqrt();
            assert!(mean.abs() < 1e-6, "mean of column {c}: {mean:e}");
            assert!((std - 1.0).abs() < 1e-6, "deviation of column {c}: {std}");
        }
    }
    let schema::Targets::Numbers { columns } = &tables.schema.targets else { panic!("{:?}", tables.schema) };
    assert!((columns[0].mean - 152.133_484_162_895_9).abs() < 1e-9, "mean of progression");
    assert!((columns[0].std - 77.005_745_869_450_4).abs() < 1e-9, "deviation of progression");
}

#[test]
fn a_text_label_is_refused() {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/iris.csv"));
    let got = load_numbers(path, &["species"], true);
    let want = "iris.csv, line 2: column \"species\": expected a number, found \"setosa\"; this loss \
                predicts numbers: for classes, use --loss softmax_cross_entropy";
    assert!(matches!(&got, Err(Error::Data(text)) if text.contains(want)), "{got:?}");
}
