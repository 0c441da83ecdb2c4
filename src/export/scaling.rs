//! Standardization in 32-bit floats, as the exported programs do it.

use crate::data::schema::Targets;
use crate::error::{Error, Result};
use crate::network::Network;

/// `(x - mean) / std - shift` for each input. The difference to the rounded mean is exact near it, and `shift` is what the
/// rounding took away: a column of years, whose mean is a thousand times its deviation, would else lose three digits.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct InputScaling {
    pub(super) mean: Vec<f32>,
    pub(super) std: Vec<f32>,
    pub(super) shift: Vec<f32>,
    /// What stands for NaN in each; NaN where nothing does.
    pub(super) fill: Vec<f32>,
}

/// `y * std + mean` for each output.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct OutputScaling {
    pub(super) mean: Vec<f32>,
    pub(super) std: Vec<f32>,
}

impl InputScaling {
    /// That of a network; `None` where nothing is standardized.
    pub(super) fn of(network: &Network) -> Result<Option<Self>> {
        let slots = network.slots();
        if slots.iter().all(|slot| slot.mean == 0.0 && slot.std == 1.0 && slot.fill.is_none()) {
            return Ok(None);
        }
        let (mut mean, mut std, mut shift, mut fill) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for slot in &slots {
            let rounded = single(slot.mean, &slot.name)?;
            mean.push(rounded);
            std.push(divisor(slot.std, &slot.name)?);
            shift.push(single((slot.mean - f64::from(rounded)) / slot.std, &slot.name)?);
            fill.push(slot.fill.map_or(Ok(f32::NAN), |fill| single(fill, &slot.name))?);
        }
        Ok(Some(Self { mean, std, shift, fill }))
    }

    /// Whether something stands for NaN.
    pub(super) fn fills(&self) -> bool {
        self.fill.iter().any(|fill| !fill.is_nan())
    }
}

impl OutputScaling {
    /// That of a network; `None` where nothing is standardized.
    pub(super) fn of(network: &Network) -> Result<Option<Self>> {
        let Targets::Numbers { columns } = &network.schema.targets else { return Ok(None) };
        if columns.iter().all(|column| column.mean == 0.0 && column.std == 1.0) {
            return Ok(None);
        }
        let mean = columns.iter().map(|column| single(column.mean, &column.name)).collect::<Result<_>>()?;
        let std = columns.iter().map(|column| divisor(column.std, &column.name)).collect::<Result<_>>()?;
        Ok(Some(Self { mean, std }))
    }
}

/// A number as `f32`.
#[expect(clippy::cast_possible_truncation, reason = "rounding to f32 is the purpose, and overflow is refused")]
fn single(value: f64, column: &str) -> Result<f32> {
    let rounded = value as f32;
    if rounded.is_finite() { Ok(rounded) } else { Err(refused(column)) }
}

/// A standard deviation as `f32`.
fn divisor(value: f64, column: &str) -> Result<f32> {
    let rounded = single(value, column)?;
    if rounded >= f32::MIN_POSITIVE { Ok(rounded) } else { Err(refused(column)) }
}

fn refused(column: &str) -> Error {
    Error::Usage(format!(
        "the numbers of the column {column:?} are beyond the range of the 32-bit floats that exported networks compute \
         with: train with the column in another unit"
    ))
}
