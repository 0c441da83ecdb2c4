// Rows in the order of an epoch: a keyed permutation of the table, which needs no room. (key, sub) = split(key) in each
// epoch; place i of it is row permute(sub, i). The last of its BATCHES batches has the rows that are left.

fn batch_rows() -> u32 {
    return min(BATCH, TABLE_ROWS - BATCH * batch_of_epoch());
}

fn table_row(b: u32) -> u32 {
    return permute(epoch_key(), BATCH * batch_of_epoch() + b);
}

fn batch_of_epoch() -> u32 {
    return state[model].x % BATCHES;
}

fn epoch_key() -> vec2<u32> {
    return fold_in(state[model].yz, 1u);
}

// The key of the random numbers of this step.
fn step_key() -> vec2<u32> {
    return fold_in(epoch_key(), batch_of_epoch());
}

// The key of the next step: another one after the last batch of an epoch.
fn next_key() -> vec2<u32> {
    let s = state[model];
    return select(s.yz, fold_in(s.yz, 0u), batch_of_epoch() + 1u == BATCHES);
}

// Number i of a permutation of the numbers below TABLE_ROWS: a permutation of the numbers of LOW_BITS + HIGH_BITS bits,
// walked until it is back among them. Reference: Black, Rogaway (2002), "Ciphers with arbitrary finite domains".
fn permute(key: vec2<u32>, i: u32) -> u32 {
    var x = permute_bits(key, i);
    while (x >= TABLE_ROWS) {
        x = permute_bits(key, x);
    }
    return x;
}

// A Feistel network: each half in turn is changed by a mix of the other.
fn permute_bits(key: vec2<u32>, x: u32) -> u32 {
    var low = x & LOW_MASK;
    var high = x >> LOW_BITS;
    for (var round = 0u; round < 4u; round++) {
        high ^= mix_bits(low ^ (key.x + round * 0x9E3779B9u)) & HIGH_MASK;
        low ^= mix_bits(high ^ (key.y + round * 0x9E3779B9u)) & LOW_MASK;
    }
    return (high << LOW_BITS) | low;
}

// The finalizer of MurmurHash3.
fn mix_bits(x: u32) -> u32 {
    var h = (x ^ (x >> 16u)) * 0x85EBCA6Bu;
    h = (h ^ (h >> 13u)) * 0xC2B2AE35u;
    return h ^ (h >> 16u);
}
