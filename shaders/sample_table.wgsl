// Gathers a batch from the table on the device.
// x[b] = features[table_row(b)];  y[b] = targets[table_row(b)]
// One invocation = one row. Writes x and y, zero past the rows that the batch has.

fn sample(tile: u32, lane: u32) {
    let b = tile * LANES + lane;
    if (b >= ROWS) {
        return;
    }
    let used = b < batch_rows();
    // A row past the batch is no place of the table, and looking for it could go on forever.
    let row = table_row(select(0u, b, used));
    let x = model * ACTIVATIONS_SIZE + X + b * X_VECTORS;
    for (var v = 0u; v < X_VECTORS; v++) {
        activations[x + v] = select(vec4<f32>(), data_at(FEATURES + row * X_VECTORS + v), used);
    }
    let y = target_of(b);
    for (var v = 0u; v < TARGET_VECTORS; v++) {
        activations[y + v] = select(vec4<f32>(), data_at(TARGETS + row * TARGET_VECTORS + v), used);
    }
}
