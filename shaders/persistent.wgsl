// The whole training loop in one dispatch: one workgroup per model walks every tile of every op.
// Barriers stand only between ops of which one reads what the other wrote.

fn train(lane: u32) {
    for (var done = 0u; done < chunk.steps; done++) {
        for (var tile = 0u; tile < SAMPLE_TILES; tile++) {
            sample(tile, lane);
        }
        synchronize();
        after_sample(lane);
        for (var layer = 0u; layer < LAYER_COUNT; layer++) {
            let l = LAYERS[layer];
            for (var tile = 0u; tile < l.forward_tiles; tile++) {
                dense_forward(l, tile, lane);
            }
            synchronize();
            after_forward(l, lane);
        }
        loss(0u, lane);
        synchronize();
        for (var layer = LAYER_COUNT; layer > FIRST_BACKWARD; layer--) {
            let l = LAYERS[layer - 1u];
            for (var tile = 0u; tile < l.backward_tiles; tile++) {
                dense_backward(l, tile, lane);
            }
            synchronize();
            after_backward(l, lane);
        }
        for (var layer = 0u; layer < LAYER_COUNT; layer++) {
            let l = LAYERS[layer];
            for (var tile = 0u; tile < l.update_tiles; tile++) {
                dense_update(l, tile, lane);
            }
        }
        after_update(lane);
        update_embeddings(lane);
        synchronize();
        finish_update(lane);
        advance(0u, lane);
        synchronize();
    }
}
