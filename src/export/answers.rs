//! Predictions as tables.

use super::npz::npy as array;
use crate::data::schema::{LabelColumn, Schema, Targets};
use crate::error::{Error, Result};
use crate::network::Predictions;
use crate::score::is_one;
use crate::spec::largest;

/// A CSV file with a header. Numbers have as many digits as it takes to read back the same `f64`.
///
/// # Errors
/// [`Error::Io`] when memory cannot be written.
pub fn csv(schema: &Schema, predictions: &Predictions) -> Result<Vec<u8>> {
    let failed = |e: csv::Error| Error::io("predictions", e.into());
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(header(&schema.targets, !predictions.std.is_empty())).map_err(failed)?;
    let width = schema.targets.outputs();
    let mut std = predictions.std.chunks_exact(width);
    for answers in predictions.answers.chunks_exact(width) {
        let mut record = fields(&schema.targets, answers);
        record.extend(std.next().into_iter().flatten().map(number));
        writer.write_record(record).map_err(failed)?;
    }
    writer.into_inner().map_err(|e| Error::io("predictions", e.into_error()))
}

/// A `.npy` file of shape `(rows, outputs)`, or `(rows, 2 outputs)` with standard deviations.
pub fn npy(predictions: &Predictions, rows: usize) -> Vec<u8> {
    let width = predictions.answers.len() / rows.max(1);
    let std: Vec<&[f64]> = predictions.std.chunks_exact(width).collect();
    let answers = predictions.answers.chunks_exact(width).enumerate();
    let numbers = answers.flat_map(|(row, answers)| answers.iter().chain(std.get(row).copied().into_iter().flatten()));
    let columns = if std.is_empty() { width } else { 2 * width };
    array("<f8", &[rows, columns], numbers.flat_map(|number| number.to_le_bytes()))
}

/// The names of the columns.
fn header(targets: &Targets, with_std: bool) -> Vec<String> {
    let (mut names, measured): (Vec<_>, Vec<_>) = match targets {
        Targets::Numbers { columns } => {
            let names: Vec<_> = columns.iter().map(|column| column.name.clone()).collect();
            (names.clone(), names)
        }
        Targets::Labels { columns } => {
            let names: Vec<_> = columns.iter().map(|column| column.name.clone()).collect();
            let probability = |name: &String| match columns.len() {
                1 => "probability".to_owned(),
                _ => format!("probability({name})"),
            };
            let probabilities: Vec<_> = names.iter().map(probability).collect();
            let pairs =
                names.into_iter().zip(probabilities.clone()).flat_map(|(name, probability)| [name, probability]);
            (pairs.collect(), probabilities)
        }
        Targets::Classes { name, classes } => {
            let probabilities: Vec<_> = classes.iter().map(|class| format!("p({class})")).collect();
            (std::iter::once(name.clone()).chain(probabilities.clone()).collect(), probabilities)
        }
    };
    if with_std {
        names.extend(measured.iter().map(|name| format!("std({name})")));
    }
    names
}

/// The fields of a row.
fn fields(targets: &Targets, answers: &[f64]) -> Vec<String> {
    match targets {
        Targets::Numbers { .. } => answers.iter().map(number).collect(),
        Targets::Labels { columns } => {
            let pairs = columns.iter().zip(answers);
            pairs.flat_map(|(column, p)| [label(column, *p), number(p)]).collect()
        }
        Targets::Classes { classes, .. } => {
            std::iter::once(classes[largest(answers)].clone()).chain(answers.iter().map(number)).collect()
        }
    }
}

/// The more probable of two labels.
fn label(column: &LabelColumn, probability: f64) -> String {
    let one = is_one(probability);
    column.classes.as_ref().map_or_else(|| u8::from(one).to_string(), |classes| classes[usize::from(one)].clone())
}

fn number(value: &f64) -> String {
    format!("{value:?}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::schema::NumberColumn;

    fn text(targets: Targets, answers: &[f64], std: &[f64]) -> String {
        let schema = Schema { inputs: Vec::new(), targets, weight: None };
        let predictions = Predictions { answers: answers.to_vec(), std: std.to_vec(), outputs: Vec::new() };
        String::from_utf8(csv(&schema, &predictions).expect("it is written")).expect("it is text")
    }

    #[test]
    fn each_kind_of_target_has_its_columns() {
        let numbers = ["a", "b"].map(|name| NumberColumn { name: name.into(), mean: 0.0, std: 1.0 }).to_vec();
        let label = |name: &str, classes| LabelColumn { name: name.into(), classes };
        let classes = Some(["no".to_owned(), "yes".to_owned()]);
        let kinds = ["x", "y,z"].map(String::from).to_vec();
        let got = text(Targets::Numbers { columns: numbers.clone() }, &[1.0, 2.5, 1e-9, 3.0], &[]);
        assert_eq!(got, "a,b\n1.0,2.5\n1e-9,3.0\n", "numbers");
        let got = text(Targets::Numbers { columns: numbers }, &[1.0, 2.0], &[0.5, 0.25]);
        assert_eq!(got, "a,b,std(a),std(b)\n1.0,2.0,0.5,0.25\n", "numbers of an ensemble");
        let got = text(Targets::Labels { columns: vec![label("l", None)] }, &[0.25, 0.5], &[]);
        assert_eq!(got, "l,probability\n0,0.25\n1,0.5\n", "a label");
        let got = text(Targets::Labels { columns: vec![label("l", classes), label("m", None)] }, &[0.75, 0.0], &[]);
        assert_eq!(got, "l,probability(l),m,probability(m)\nyes,0.75,0,0.0\n", "labels");
        let got = text(Targets::Classes { name: "k".into(), classes: kinds }, &[0.25, 0.75], &[0.0, 0.5]);
        assert_eq!(got, "k,p(x),\"p(y,z)\",std(p(x)),\"std(p(y,z))\"\n\"y,z\",0.25,0.75,0.0,0.5\n", "classes");
    }
}
