// Sums over the invocations of the workgroup, by a tree of fixed shape.

var<workgroup> partial_sums: array<f32, LANES>;

// The sum of the `value`s of all lanes; only lane 0 may use it.
fn sum_of_lanes(value: f32, lane: u32) -> f32 {
    partial_sums[lane] = value;
    synchronize();
    for (var half = LANES / 2u; half > 0u; half /= 2u) {
        if (lane < half) {
            partial_sums[lane] += partial_sums[lane + half];
        }
        synchronize();
    }
    return partial_sums[0];
}
