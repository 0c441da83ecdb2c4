//! The messages of ONNX that are written, with the numbers of their fields in `onnx.proto3`.

use prost::Message;

/// Version 8 of the file format, that of opset 17.
pub(super) const IR_VERSION: i64 = 8;
/// The operators that are used: opset 17.
pub(super) const OPSET: i64 = 17;
/// `TensorProto.DataType.FLOAT`.
pub(super) const FLOAT: i32 = 1;
/// `TensorProto.DataType.INT64`.
pub(super) const INT64: i32 = 7;
/// `AttributeProto.AttributeType.FLOAT`.
const ATTRIBUTE_FLOAT: i32 = 1;
/// `AttributeProto.AttributeType.INT`.
const ATTRIBUTE_INT: i32 = 2;

/// `ModelProto`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Model {
    #[prost(int64, tag = "1")]
    pub(super) ir_version: i64,
    #[prost(string, tag = "2")]
    pub(super) producer_name: String,
    #[prost(string, tag = "3")]
    pub(super) producer_version: String,
    #[prost(message, optional, tag = "7")]
    pub(super) graph: Option<Graph>,
    #[prost(message, repeated, tag = "8")]
    pub(super) opset_import: Vec<OperatorSet>,
    #[prost(message, repeated, tag = "14")]
    pub(super) metadata_props: Vec<Property>,
}

/// `OperatorSetIdProto`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct OperatorSet {
    #[prost(string, tag = "1")]
    pub(super) domain: String,
    #[prost(int64, tag = "2")]
    pub(super) version: i64,
}

/// `StringStringEntryProto`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Property {
    #[prost(string, tag = "1")]
    pub(super) key: String,
    #[prost(string, tag = "2")]
    pub(super) value: String,
}

/// `GraphProto`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Graph {
    #[prost(message, repeated, tag = "1")]
    pub(super) node: Vec<Node>,
    #[prost(string, tag = "2")]
    pub(super) name: String,
    #[prost(message, repeated, tag = "5")]
    pub(super) initializer: Vec<Tensor>,
    #[prost(message, repeated, tag = "11")]
    pub(super) input: Vec<ValueInfo>,
    #[prost(message, repeated, tag = "12")]
    pub(super) output: Vec<ValueInfo>,
}

/// `NodeProto`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Node {
    #[prost(string, repeated, tag = "1")]
    pub(super) input: Vec<String>,
    #[prost(string, repeated, tag = "2")]
    pub(super) output: Vec<String>,
    #[prost(string, tag = "3")]
    pub(super) name: String,
    #[prost(string, tag = "4")]
    pub(super) op_type: String,
    #[prost(message, repeated, tag = "5")]
    pub(super) attribute: Vec<Attribute>,
}

/// `AttributeProto` of a float or an integer.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Attribute {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(float, tag = "2")]
    pub(super) f: f32,
    #[prost(int64, tag = "3")]
    pub(super) i: i64,
    #[prost(int32, tag = "20")]
    pub(super) kind: i32,
}

/// `TensorProto`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Tensor {
    #[prost(int64, repeated, tag = "1")]
    pub(super) dims: Vec<i64>,
    #[prost(int32, tag = "2")]
    pub(super) data_type: i32,
    #[prost(string, tag = "8")]
    pub(super) name: String,
    #[prost(bytes = "vec", tag = "9")]
    pub(super) raw_data: Vec<u8>,
}

/// `ValueInfoProto`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct ValueInfo {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(message, optional, tag = "2")]
    pub(super) kind: Option<Type>,
}

/// `TypeProto` of a tensor.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Type {
    #[prost(message, optional, tag = "1")]
    pub(super) tensor_type: Option<TensorType>,
}

/// `TypeProto.Tensor`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct TensorType {
    #[prost(int32, tag = "1")]
    pub(super) elem_type: i32,
    #[prost(message, optional, tag = "2")]
    pub(super) shape: Option<Shape>,
}

/// `TensorShapeProto`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Shape {
    #[prost(message, repeated, tag = "1")]
    pub(super) dim: Vec<Dimension>,
}

/// `TensorShapeProto.Dimension`: a number or a name.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Dimension {
    #[prost(int64, optional, tag = "1")]
    pub(super) dim_value: Option<i64>,
    #[prost(string, optional, tag = "2")]
    pub(super) dim_param: Option<String>,
}

impl Attribute {
    pub(super) fn float(name: &str, f: f32) -> Self {
        Self { name: name.into(), f, i: 0, kind: ATTRIBUTE_FLOAT }
    }

    pub(super) fn int(name: &str, i: i64) -> Self {
        Self { name: name.into(), f: 0.0, i, kind: ATTRIBUTE_INT }
    }
}

impl Tensor {
    /// Numbers of a shape.
    pub(super) fn floats(name: String, shape: &[usize], values: &[f32]) -> Self {
        let raw_data = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        Self { dims: shape.iter().map(|&n| n as i64).collect(), data_type: FLOAT, name, raw_data }
    }

    /// Whole numbers of a shape.
    pub(super) fn integers(name: String, shape: &[usize], values: &[usize]) -> Self {
        let raw_data = values.iter().flat_map(|&value| (value as i64).to_le_bytes()).collect();
        Self { dims: shape.iter().map(|&n| n as i64).collect(), data_type: INT64, name, raw_data }
    }
}

impl ValueInfo {
    /// Rows of a width.
    pub(super) fn rows(name: &str, elem_type: i32, width: usize) -> Self {
        let rows = Dimension { dim_value: None, dim_param: Some("N".into()) };
        let width = Dimension { dim_value: Some(width as i64), dim_param: None };
        let tensor_type = Some(TensorType { elem_type, shape: Some(Shape { dim: vec![rows, width] }) });
        Self { name: name.into(), kind: Some(Type { tensor_type }) }
    }
}
