// Threefry-2x32 with 20 rounds, and the random numbers of JAX that are made of it. Four counters at a time.
// Reference: Salmon, Moraes, Dror, Shaw (2011), "Parallel random numbers: as easy as 1, 2, 3".

struct Block {
    x0: vec4<u32>,
    x1: vec4<u32>,
}

fn rotate_left(x: vec4<u32>, by: u32) -> vec4<u32> {
    return (x << vec4<u32>(by)) | (x >> vec4<u32>(32u - by));
}

fn round(b: Block, by: u32) -> Block {
    let x0 = b.x0 + b.x1;
    return Block(x0, rotate_left(b.x1, by) ^ x0);
}

// Four rounds, then the injection of two key words.
fn rounds(b: Block, by: vec4<u32>, key0: u32, key1: u32) -> Block {
    let mixed = round(round(round(round(b, by.x), by.y), by.z), by.w);
    return Block(mixed.x0 + vec4<u32>(key0), mixed.x1 + vec4<u32>(key1));
}

// The block function on the counters (0, index).
fn threefry2x32(key: vec2<u32>, index: vec4<u32>) -> Block {
    let key2 = key.x ^ key.y ^ 0x1BD11BDAu;
    let even = vec4<u32>(13u, 15u, 26u, 6u);
    let odd = vec4<u32>(17u, 29u, 16u, 24u);
    var b = Block(vec4<u32>(key.x), index + vec4<u32>(key.y));
    b = rounds(b, even, key.y, key2 + 1u);
    b = rounds(b, odd, key2, key.x + 2u);
    b = rounds(b, even, key.x, key.y + 3u);
    b = rounds(b, odd, key.y, key2 + 4u);
    return rounds(b, even, key2, key.x + 5u);
}

// jax.random.fold_in(key, index), which is child number `index` of jax.random.split.
fn fold_in(key: vec2<u32>, index: u32) -> vec2<u32> {
    let b = threefry2x32(key, vec4<u32>(index));
    return vec2<u32>(b.x0.x, b.x1.x);
}

// Elements `index` of an array of random words drawn from `key`.
fn random_bits(key: vec2<u32>, index: vec4<u32>) -> vec4<u32> {
    let b = threefry2x32(key, index);
    return b.x0 ^ b.x1;
}

// Elements `index` of jax.random.uniform(key), in [0, 1).
fn random_uniform(key: vec2<u32>, index: vec4<u32>) -> vec4<f32> {
    return bitcast<vec4<f32>>((random_bits(key, index) >> vec4<u32>(9u)) | vec4<u32>(0x3F800000u)) - 1.0;
}

// Elements `index` of jax.random.normal(key): sqrt(2) erf_inv(u), u uniform in (-1, 1).
fn random_normal(key: vec2<u32>, index: vec4<u32>) -> vec4<f32> {
    let lowest = vec4<f32>(-0.99999994);
    return 1.4142135 * erf_inv(max(lowest, random_uniform(key, index) * 2.0 + lowest));
}

// Element `index` of jax.random.randint(key, shape, 0, span): two words, so that the modulus has no bias to speak of.
fn random_integer(key: vec2<u32>, index: u32, span: u32) -> u32 {
    let high = random_bits(fold_in(key, 0u), vec4<u32>(index)).x;
    let low = random_bits(fold_in(key, 1u), vec4<u32>(index)).x;
    let half = 65536u % span;
    return ((high % span) * ((half * half) % span) + low % span) % span;
}
