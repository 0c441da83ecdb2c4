// Rows drawn with replacement: row b is randint(sub, 0, TABLE_ROWS)[b], with (key, sub) = split(key) in each step.

fn batch_rows() -> u32 {
    return BATCH;
}

fn table_row(b: u32) -> u32 {
    return random_integer(step_key(), b, TABLE_ROWS);
}

// The key of the random numbers of this step.
fn step_key() -> vec2<u32> {
    return fold_in(state[model].yz, 1u);
}

// The key of the next step.
fn next_key() -> vec2<u32> {
    return fold_in(state[model].yz, 0u);
}
