// Random Fourier features: sines, then cosines, of sum_i x[b,i] frequencies[i,k] turns.
// Reference: Tancik et al. (2020), "Fourier features let networks learn high frequency functions in low dimensional domains".

// Turns, and 1 for a cosine.
fn wave_of(b: u32, column: u32) -> vec2<f32> {
    let cosine = select(0u, 1u, column >= FEATURE_COUNT);
    let k = column - cosine * FEATURE_COUNT;
    var at = model * PARAMS_SIZE + FREQUENCIES + k / 4u;
    var turns = 0.0;
    for (var i = 0u; i < X_COLUMNS; i++) {
        turns += input_of(b, i) * params[at][k % 4u];
        at += FEATURE_VECTORS;
    }
    return vec2<f32>(turns, f32(cosine));
}
