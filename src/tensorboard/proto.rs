//! The messages of event files, as far as they are written. Names are shortened; numbers are those of the definitions.

use std::collections::BTreeMap;

/// `Event` of `event.proto`.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Event {
    #[prost(double, tag = "1")]
    pub(super) wall_time: f64,
    #[prost(int64, tag = "2")]
    pub(super) step: i64,
    #[prost(oneof = "event::What", tags = "3, 5, 7")]
    pub(super) what: Option<event::What>,
}

/// The cases of an event.
pub(super) mod event {
    #[derive(Clone, PartialEq, prost::Oneof)]
    pub(in crate::tensorboard) enum What {
        #[prost(string, tag = "3")]
        FileVersion(String),
        #[prost(message, tag = "5")]
        Summary(super::Summary),
        #[prost(message, tag = "7")]
        SessionLog(super::SessionLog),
    }
}

/// `SessionLog` of `event.proto`.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct SessionLog {
    #[prost(int32, tag = "1")]
    pub(super) status: i32,
}

impl SessionLog {
    /// A run begins, perhaps anew.
    pub(super) const START: i32 = 1;
}

/// `Summary` of `summary.proto`.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Summary {
    #[prost(message, repeated, tag = "1")]
    pub(super) values: Vec<Value>,
}

/// `Summary.Value`.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Value {
    #[prost(string, tag = "1")]
    tag: String,
    #[prost(float, optional, tag = "2")]
    simple_value: Option<f32>,
    #[prost(message, optional, tag = "8")]
    tensor: Option<Tensor>,
    #[prost(message, optional, tag = "9")]
    metadata: Option<Metadata>,
}

impl Value {
    pub(super) fn scalar(tag: &str, value: f32) -> Self {
        Self { tag: tag.into(), simple_value: Some(value), tensor: None, metadata: None }
    }

    pub(super) fn text(tag: &str, markdown: &str) -> Self {
        let shape = Shape { dims: vec![Dim { size: 1 }] };
        let strings = vec![markdown.as_bytes().to_vec()];
        let tensor = Tensor { dtype: Tensor::STRING, shape: Some(shape), floats: Vec::new(), strings };
        let plugin = PluginData { plugin_name: "text".into(), content: Vec::new() };
        let metadata = Metadata { plugin: Some(plugin), data_class: Metadata::TENSOR };
        Self { tag: tag.into(), simple_value: None, tensor: Some(tensor), metadata: Some(metadata) }
    }

    /// A value whose metadata is all that counts.
    pub(super) fn empty(tag: &str, metadata: Metadata) -> Self {
        let shape = Some(Shape { dims: Vec::new() });
        let tensor = Tensor { dtype: Tensor::FLOAT, shape, floats: vec![0.0], strings: Vec::new() };
        Self { tag: tag.into(), simple_value: None, tensor: Some(tensor), metadata: Some(metadata) }
    }
}

/// `SummaryMetadata`.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Metadata {
    #[prost(message, optional, tag = "1")]
    pub(super) plugin: Option<PluginData>,
    #[prost(int32, tag = "4")]
    pub(super) data_class: i32,
}

impl Metadata {
    pub(super) const TENSOR: i32 = 2;
}

/// `SummaryMetadata.PluginData`.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct PluginData {
    #[prost(string, tag = "1")]
    pub(super) plugin_name: String,
    #[prost(bytes = "vec", tag = "2")]
    pub(super) content: Vec<u8>,
}

/// `TensorProto` of `tensor.proto`.
#[derive(Clone, PartialEq, prost::Message)]
struct Tensor {
    #[prost(int32, tag = "1")]
    dtype: i32,
    #[prost(message, optional, tag = "2")]
    shape: Option<Shape>,
    #[prost(float, repeated, tag = "5")]
    floats: Vec<f32>,
    #[prost(bytes = "vec", repeated, tag = "8")]
    strings: Vec<Vec<u8>>,
}

impl Tensor {
    const FLOAT: i32 = 1;
    const STRING: i32 = 7;
}

/// `TensorShapeProto`.
#[derive(Clone, PartialEq, prost::Message)]
struct Shape {
    #[prost(message, repeated, tag = "2")]
    dims: Vec<Dim>,
}

/// `TensorShapeProto.Dim`.
#[derive(Clone, PartialEq, prost::Message)]
struct Dim {
    #[prost(int64, tag = "1")]
    size: i64,
}

/// `HParamsPluginData` of the hparams plugin.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct HparamsData {
    #[prost(int32, tag = "1")]
    pub(super) version: i32,
    #[prost(oneof = "Session", tags = "3, 4")]
    pub(super) session: Option<Session>,
}

/// The beginning or the end of a run.
#[derive(Clone, PartialEq, prost::Oneof)]
pub(super) enum Session {
    #[prost(message, tag = "3")]
    Start(SessionStart),
    #[prost(message, tag = "4")]
    End(SessionEnd),
}

/// `SessionStartInfo`.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct SessionStart {
    #[prost(btree_map = "string, message", tag = "1")]
    pub(super) hparams: BTreeMap<String, Hparam>,
    #[prost(double, tag = "5")]
    pub(super) start_time_secs: f64,
}

/// `SessionEndInfo`.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct SessionEnd {
    #[prost(int32, tag = "1")]
    pub(super) status: i32,
    #[prost(double, tag = "2")]
    pub(super) end_time_secs: f64,
}

impl SessionEnd {
    pub(super) const SUCCESS: i32 = 1;
    pub(super) const FAILURE: i32 = 2;
}

/// The value of a hyperparameter.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Hparam {
    #[prost(oneof = "Kind", tags = "2, 3, 4")]
    kind: Option<Kind>,
}

/// The cases of a hyperparameter, `google.protobuf.Value`.
#[derive(Clone, PartialEq, prost::Oneof)]
enum Kind {
    #[prost(double, tag = "2")]
    Number(f64),
    #[prost(string, tag = "3")]
    Text(String),
    #[prost(bool, tag = "4")]
    Truth(bool),
}

impl From<f64> for Hparam {
    fn from(number: f64) -> Self {
        Self { kind: Some(Kind::Number(number)) }
    }
}

impl From<String> for Hparam {
    fn from(text: String) -> Self {
        Self { kind: Some(Kind::Text(text)) }
    }
}

impl From<bool> for Hparam {
    fn from(truth: bool) -> Self {
        Self { kind: Some(Kind::Truth(truth)) }
    }
}
