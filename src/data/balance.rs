//! Weights that make rare classes count as much as frequent ones.

use super::Dataset;
use super::schema::Targets;
use crate::error::{Error, Result};

/// Multiplies the weight of each row with `rows / (classes * rows of its class)`, as scikit-learn's `class_weight="balanced"`, where
/// classes without rows do not count. The weights have a mean of 1 again.
///
/// # Errors
/// [`Error::Usage`] where the target is not one column of classes.
pub(super) fn balance(dataset: &mut Dataset, targets: &Targets) -> Result<()> {
    let whole = dataset.targets.iter().all(|&label| label == 0.0 || label == 1.0);
    let classes = match targets {
        Targets::Classes { classes, .. } => classes.len(),
        Targets::Labels { columns } if columns.len() == 1 && whole => 2,
        _ => {
            let text = "--class-weight balanced needs one column of classes: --loss softmax_cross_entropy, or binary_cross_entropy \
                        with the labels 0 and 1; leave it out";
            return Err(Error::Usage(text.into()));
        }
    };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the index of a class")]
    let class = |target: f32| target as usize;
    let mut counts = vec![0.0; classes];
    dataset.targets.iter().for_each(|&target| counts[class(target)] += 1.0);
    let own = |row: usize| dataset.weights.as_ref().map_or(1.0, |weights| f64::from(weights[row]));
    let balanced: Vec<f64> =
        dataset.targets.iter().enumerate().map(|(row, &target)| own(row) / counts[class(target)]).collect();
    #[expect(clippy::cast_precision_loss, reason = "a count of rows")]
    let mean = balanced.iter().sum::<f64>() / balanced.len() as f64;
    #[expect(clippy::cast_possible_truncation, reason = "the device has f32")]
    let weights = balanced.iter().map(|weight| (weight / mean) as f32).collect();
    dataset.weights = Some(weights);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::schema::{LabelColumn, NumberColumn};

    fn dataset(targets: &[f32], weights: Option<Vec<f32>>) -> Dataset {
        Dataset {
            rows: targets.len(),
            feature_names: vec!["x".into()],
            target_names: vec!["y".into()],
            features: vec![0.0; targets.len()],
            targets: targets.to_vec(),
            weights,
        }
    }

    /// compute_sample_weight("balanced", y) of scikit-learn 1.9.
    #[test]
    fn each_class_weighs_as_much_as_another() {
        let classes =
            |n: usize| Targets::Classes { name: "y".into(), classes: (0..n).map(|c| c.to_string()).collect() };
        let mut rows = dataset(&[0.0, 0.0, 0.0, 1.0], None);
        balance(&mut rows, &classes(3)).expect("classes, one of which no row has");
        let third = 2.0 / 3.0;
        assert_eq!(rows.weights, Some(vec![third, third, third, 2.0]));
        let mut rows = dataset(&[0.0, 1.0, 1.0], Some(vec![2.0, 0.5, 0.5]));
        balance(&mut rows, &classes(2)).expect("classes with weights");
        assert_eq!(rows.weights, Some(vec![2.4, 0.3, 0.3]), "times those of the column, with a mean of 1");
    }

    #[test]
    fn targets_without_classes_are_refused() {
        let label = |name: &str| LabelColumn { name: name.into(), classes: None };
        let labels = |names: &[&str]| Targets::Labels { columns: names.iter().map(|name| label(name)).collect() };
        let number = Targets::Numbers { columns: vec![NumberColumn { name: "y".into(), mean: 0.0, std: 1.0 }] };
        let refused = |targets: &Targets, values: &[f32]| balance(&mut dataset(values, None), targets).is_err();
        assert!(!refused(&labels(&["a"]), &[0.0, 1.0]), "labels");
        assert!(refused(&labels(&["a"]), &[0.0, 0.5]), "labels between 0 and 1");
        assert!(refused(&labels(&["a", "b"]), &[0.0, 1.0]), "two columns of labels");
        assert!(refused(&number, &[0.0, 1.0]), "numbers");
    }
}
