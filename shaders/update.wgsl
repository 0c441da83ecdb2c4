// Updates the parameters from their mean gradients, clipped by the global norm, where the step ends with an update.
// A tile is LANES * TILE_VECTORS vectors of a tensor. Reads grads, updates params and optimizer.

fn update(tile: u32, lane: u32) {
    if (!is_due()) {
        return;
    }
    let p = parameter_of(tile);
    let hyper = hyper_of(load_hyper(lane), p.is_bias != 0u);
    let factor = norm_factor();
    for (var k = 0u; k < TILE_VECTORS; k++) {
        let v = ((tile - p.first_tile) * TILE_VECTORS + k) * LANES + lane;
        if (v < p.vectors) {
            update_parameters(p.offset + v, factor * mean_gradient(p.offset + v), hyper);
        }
    }
}

// What the gradients are multiplied by: 1 below the limit (optax clip_by_global_norm), and where the limit is 0.
fn norm_factor() -> f32 {
    if (!CLIP_NORM) {
        return 1.0;
    }
    let limit = table[3u * model + 2u].y;
    let norm = grads[model * GRADS_SIZE + NORM].x;
    return select(limit / norm, 1.0, limit == 0.0 || norm < limit);
}
