// Positional encoding: for each k the sines of 2^k pi x[b,i] for all i, then the cosines.
// Reference: Mildenhall et al. (2020), "NeRF: representing scenes as neural radiance fields for view synthesis".

// Turns, and 1 for a cosine.
fn wave_of(b: u32, column: u32) -> vec2<f32> {
    let block = column / X_COLUMNS;
    let turns = 0.5 * f32(1u << (block / 2u)) * input_of(b, column % X_COLUMNS);
    return vec2<f32>(turns, f32(block % 2u));
}
