// The arenas, one storage buffer per role, and the words by which every op finds its tensors.
//
// Offsets and strides are in vec4s of one model's share. Indices: b row of the batch, i input, o output, k inner.
// The prelude, generated from the plan, has the consts: MODELS, BATCH, ROWS, LAYERS, *_SIZE and those of the ops.

struct Layer {
    inputs: u32, // width
    outputs: u32, // width
    input_vectors: u32, // vec4s of a row of the input
    output_vectors: u32, // vec4s of a row of the output and of the kernel
    kernel: u32, // (inputs, outputs) in params
    bias: u32, // (outputs) in params
    input: u32, // (ROWS, inputs) in activations
    output: u32, // (ROWS, outputs) in activations
    delta: u32, // (ROWS, outputs) in activations: slope, then delta
    delta_before: u32, // (ROWS, inputs) in activations: slope of the activation before, then the derivative by what it is of
    is_last: u32, // 1: the last layer, which has no activation
    forward_tiles: u32, // of all rows and columns
    backward_tiles: u32,
    update_tiles: u32,
    update_row_tiles: u32, // along the inputs, or the outputs where flipped
    update_flipped: u32, // 1: the lanes have the inputs
    index: u32, // counted from 0
    skip: u32, // (ROWS, outputs) in activations: derivative by the output, where the input is added to it; 0 elsewhere
    skip_before: u32, // that of the layer before
}

// What the host says of a submission.
struct Chunk {
    first_step: u32, // of the table's and the history's first row
    steps: u32, // that one dispatch of the persistent loop runs
    one: u32, // 1: the bound of a loop that no compiler can fold
    reserved: u32,
}

// state: (finished steps, key word 0, key word 1, 1 + the first step whose loss was not finite or 0), per model.
// table: two rows of hyperparameters per model, then one row per step and model.
// history: the loss per step and model.
@group(0) @binding(0) var<storage, read_write> params: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> optimizer: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> grads: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read_write> activations: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read> data: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read> table: array<vec4<f32>>;
@group(0) @binding(6) var<storage, read_write> state: array<vec4<u32>>;
@group(0) @binding(7) var<storage, read_write> history: array<f32>;
@group(0) @binding(8) var<uniform> chunk: Chunk;

// The member of the ensemble that this workgroup works on. Set by the entry point.
var<private> model: u32;

// Row of the table and of the history that belongs to the step in progress.
fn slot() -> u32 {
    return (state[model].x - chunk.first_step) * MODELS + model;
}

// `v` with the columns past `width` set to zero, where `v` is vector number `vector` of its row.
fn keep_columns(v: vec4<f32>, vector: u32, width: u32) -> vec4<f32> {
    let column = 4u * vector + vec4<u32>(0u, 1u, 2u, 3u);
    return select(vec4<f32>(), v, column < vec4<u32>(width));
}

// The matrix whose column j is `d h[j]`: row j of a 4x4 block of a product.
fn outer(d: vec4<f32>, h: vec4<f32>) -> mat4x4<f32> {
    return mat4x4<f32>(d * h.x, d * h.y, d * h.z, d * h.w);
}
