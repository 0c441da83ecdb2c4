// What the encodings of the inputs share, embeddings among them.

// Input i of row b.
fn input_of(b: u32, i: u32) -> f32 {
    return activations[model * ACTIVATIONS_SIZE + X + b * X_VECTORS + i / 4u][i % 4u];
}

// The op in the persistent loop.
fn after_sample(lane: u32) {
    for (var tile = 0u; tile < ENCODE_TILES; tile++) {
        encode(tile, lane);
    }
    synchronize();
}
