// Turns the inputs of the batch into what the first layer reads: the inputs themselves where KEPT_INPUTS counts them, then
// sines and cosines of the turns that the plan's encoding gives each column. One invocation = one vector. Writes the
// encoded batch, zero past BATCH.

fn encode(tile: u32, lane: u32) {
    let first = LAYERS[0];
    let index = tile * LANES + lane;
    let b = index / first.input_vectors;
    if (b >= ROWS) {
        return;
    }
    let v = index % first.input_vectors;
    var kept = vec4<f32>();
    var turns = vec4<f32>();
    var is_cosine = vec4<f32>();
    for (var j = 0u; j < 4u; j++) {
        let column = 4u * v + j;
        if (column < KEPT_INPUTS) {
            kept[j] = input_of(b, column);
        } else if (column < first.inputs) {
            let wave = wave_of(b, column - KEPT_INPUTS);
            turns[j] = wave.x;
            is_cosine[j] = wave.y;
        }
    }
    // Whole turns are taken away without rounding, before any product with pi.
    let wave = sin_activation(6.28318531 * (turns - floor(turns + 0.5)));
    let encoded = select(wave.value, wave.slope, is_cosine > vec4<f32>());
    let column = 4u * v + vec4<u32>(0u, 1u, 2u, 3u);
    let all = keep_columns(select(encoded, kept, column < vec4<u32>(KEPT_INPUTS)), v, first.inputs);
    activations[model * ACTIVATIONS_SIZE + first.input + index] = select(vec4<f32>(), all, b < BATCH);
}
