// Rows in the order of the table.

fn batch_rows() -> u32 {
    return min(BATCH, TABLE_ROWS - BATCH * state[model].x);
}

fn table_row(b: u32) -> u32 {
    return BATCH * state[model].x + b;
}

// The key of random numbers, of which an answer needs none.
fn step_key() -> vec2<u32> {
    return state[model].yz;
}

fn next_key() -> vec2<u32> {
    return state[model].yz;
}
