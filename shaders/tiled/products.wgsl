// Tiles of two factors in workgroup memory, inner dimension first, and their product. A tile of the result is
// 4 SIDE x 4 SIDE; an invocation has a 4x4 block of it. DEPTH of the inner dimension are staged at a time. Staging reads
// zero past the ends of a matrix.

const STAGED = DEPTH * SIDE;

var<workgroup> left: array<vec4<f32>, STAGED>; // [k][vector of rows], DEPTH x SIDE
var<workgroup> right: array<vec4<f32>, STAGED>; // [k][vector of columns], DEPTH x SIDE

// A matrix in an arena: vectors from `offset`, `rows` rows of `vectors`.
struct Matrix {
    offset: u32,
    rows: u32,
    vectors: u32,
}

fn load_activation(m: Matrix, row: u32, vector: u32) -> vec4<f32> {
    if (row < m.rows && vector < m.vectors) {
        return activations[m.offset + row * m.vectors + vector];
    }
    return vec4<f32>();
}

fn load_parameter(m: Matrix, row: u32, vector: u32) -> vec4<f32> {
    if (row < m.rows && vector < m.vectors) {
        return params[m.offset + row * m.vectors + vector];
    }
    return vec4<f32>();
}

// left[k][r] = m[4 row + r, k]: DEPTH / 4 vectors of k, each for SIDE groups of four rows.
fn stage_left_transposed(m: Matrix, first_row: u32, first_vector: u32, lane: u32) {
    for (var part = lane; part < STAGED / 4u; part += LANES) {
        let row = first_row + 4u * (part % SIDE);
        let vector = first_vector + part / SIDE;
        let block = transpose(mat4x4<f32>(
            load_activation(m, row, vector),
            load_activation(m, row + 1u, vector),
            load_activation(m, row + 2u, vector),
            load_activation(m, row + 3u, vector),
        ));
        let at = 4u * (part / SIDE) * SIDE + part % SIDE;
        left[at] = block[0];
        left[at + SIDE] = block[1];
        left[at + 2u * SIDE] = block[2];
        left[at + 3u * SIDE] = block[3];
    }
}

// right[k][c] = m[4 column + c, k], as above from params.
fn stage_right_transposed(m: Matrix, first_row: u32, first_vector: u32, lane: u32) {
    for (var part = lane; part < STAGED / 4u; part += LANES) {
        let row = first_row + 4u * (part % SIDE);
        let vector = first_vector + part / SIDE;
        let block = transpose(mat4x4<f32>(
            load_parameter(m, row, vector),
            load_parameter(m, row + 1u, vector),
            load_parameter(m, row + 2u, vector),
            load_parameter(m, row + 3u, vector),
        ));
        let at = 4u * (part / SIDE) * SIDE + part % SIDE;
        right[at] = block[0];
        right[at + SIDE] = block[1];
        right[at + 2u * SIDE] = block[2];
        right[at + 3u * SIDE] = block[3];
    }
}

// Adds the product of the staged tiles to `sum`, of which `depth` are used, and returns the sum over k of this invocation's
// right vectors.
fn multiply_staged(sum: ptr<function, mat4x4<f32>>, depth: u32, lane: u32) -> vec4<f32> {
    workgroupBarrier();
    var total = vec4<f32>();
    for (var k = 0u; k < min(depth, DEPTH); k++) {
        let column = right[k * SIDE + lane % SIDE];
        *sum += outer(column, left[k * SIDE + lane / SIDE]);
        total += column;
    }
    workgroupBarrier();
    return total;
}

// Makes what the workgroup wrote visible to all of it.
fn synchronize() {
    storageBarrier();
    workgroupBarrier();
}

// The sum of the `value`s of all lanes, by a tree of fixed shape in the memory of a tile; only lane 0 may use it.
fn sum_of_lanes(value: f32, lane: u32) -> f32 {
    left[lane].x = value;
    synchronize();
    for (var half = LANES / 2u; half > 0u; half /= 2u) {
        if (lane < half) {
            left[lane].x += left[lane + half].x;
        }
        synchronize();
    }
    return left[0].x;
}

// The hyperparameters of the step.
fn load_hyper(lane: u32) -> Hyper {
    return Hyper(table[3u * model], table[3u * model + 1u], table[3u * MODELS + slot()]);
}
