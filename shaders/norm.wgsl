// The global norm: the root of the sum of the squares of all mean gradients. A step without an update has none.
// A tile of the first op is LANES * TILE_VECTORS vectors of a tensor; the second op is one tile. Both read and write grads.

fn norm_parts(tile: u32, lane: u32) {
    let p = parameter_of(tile);
    let vectors = select(0u, p.vectors, is_due());
    var sum = vec4<f32>();
    for (var k = 0u; k < TILE_VECTORS; k++) {
        let v = ((tile - p.first_tile) * TILE_VECTORS + k) * LANES + lane;
        if (v < vectors) {
            let g = mean_gradient(p.offset + v);
            sum += g * g;
        }
    }
    let total = sum_of_lanes(dot(sum, vec4<f32>(1.0)), lane);
    if (lane == 0u) {
        grads[model * GRADS_SIZE + NORM_PARTS + tile] = vec4<f32>(total, 0.0, 0.0, 0.0);
    }
}

fn norm(tile: u32, lane: u32) {
    var sum = 0.0;
    for (var part = lane; part < PARAMETER_TILES; part += LANES) {
        sum += grads[model * GRADS_SIZE + NORM_PARTS + part].x;
    }
    let total = sum_of_lanes(sum, lane);
    if (lane == 0u) {
        grads[model * GRADS_SIZE + NORM] = vec4<f32>(sqrt(total), 0.0, 0.0, 0.0);
    }
}
