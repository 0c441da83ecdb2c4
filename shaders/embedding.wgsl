// Columns of x that have the index of a category stand in the encoded input as a trained row of their table; numbers stand
// between them as they are.
// Reference: Guo, Berkhahn (2016), "Entity embeddings of categorical variables".

struct Embedding {
    column: u32, // of x
    first: u32, // column of the encoded input
    width: u32, // of the table
    vectors: u32, // vec4s of a row of the table
    categories: u32, // rows of the table
    table: u32, // (categories, width) in params
    update_tiles: u32,
}

// One invocation = one vector. Writes the encoded batch, zero past BATCH, and the slope by it: 1, which becomes the delta.
fn encode(tile: u32, lane: u32) {
    let first = LAYERS[0];
    let index = tile * LANES + lane;
    let b = index / first.input_vectors;
    if (b >= ROWS) {
        return;
    }
    let v = index % first.input_vectors;
    var all = vec4<f32>();
    for (var j = 0u; j < 4u; j++) {
        all[j] = encoded_input(b, min(4u * v + j, first.inputs - 1u));
    }
    all = keep_columns(all, v, first.inputs);
    let at = model * ACTIVATIONS_SIZE + index;
    activations[at + first.input] = select(vec4<f32>(), all, b < BATCH);
    activations[at + first.delta_before] = vec4<f32>(1.0);
}

// A column of what the first layer reads. The last of EMBEDDINGS is none: it begins behind all columns.
fn encoded_input(b: u32, column: u32) -> f32 {
    var i = 0u;
    while (column >= EMBEDDINGS[i].first + EMBEDDINGS[i].width) {
        i++;
    }
    let e = EMBEDDINGS[i];
    if (column < e.first) {
        return input_of(b, column + e.column - e.first);
    }
    let c = column - e.first;
    return params[model * PARAMS_SIZE + e.table + category_of(e, b) * e.vectors + c / 4u][c % 4u];
}

fn category_of(e: Embedding, b: u32) -> u32 {
    return min(u32(input_of(b, e.column)), e.categories - 1u);
}

// g[c,k] = sum of delta[b,k] over the rows b that have category c, in their order, of all tables. One invocation = one vector.
fn embedding_update(tile: u32, lane: u32) {
    var rest = tile;
    var i = 0u;
    while (rest >= EMBEDDINGS[i].update_tiles) {
        rest -= EMBEDDINGS[i].update_tiles;
        i++;
    }
    let hyper = load_hyper(lane);
    let e = EMBEDDINGS[i];
    let index = rest * LANES + lane;
    if (index >= e.categories * e.vectors) {
        return;
    }
    let column = e.first + 4u * (index % e.vectors);
    let input_vectors = LAYERS[0].input_vectors;
    var at = model * ACTIVATIONS_SIZE + LAYERS[0].delta_before;
    var g = vec4<f32>();
    for (var b = 0u; b < BATCH; b++) {
        if (category_of(e, b) == index / e.vectors) {
            g += four_columns(at, column, input_vectors);
        }
        at += input_vectors;
    }
    use_gradient(e.table + index, keep_columns(g, index % e.vectors, e.width), false, hyper);
}

// Four columns of a row, wherever they begin.
fn four_columns(row: u32, column: u32, vectors: u32) -> vec4<f32> {
    let v = activations[row + column / 4u];
    let next = activations[row + min(column / 4u + 1u, vectors - 1u)];
    let two = select(v, vec4<f32>(v.zw, next.xy), (column & 2u) != 0u);
    let after = select(next.x, next.z, (column & 2u) != 0u);
    return select(two, vec4<f32>(two.yzw, after), (column & 1u) != 0u);
}

// The op in the persistent loop.
fn update_embeddings(lane: u32) {
    for (var tile = 0u; tile < EMBEDDING_TILES; tile++) {
        embedding_update(tile, lane);
    }
}
