// The update of all layers in one dispatch: finds the layer that a tile belongs to.

fn dense_update_of(tile: u32, lane: u32) {
    var rest = tile;
    var layer = 0u;
    while (rest >= LAYERS[layer].update_tiles) {
        rest -= LAYERS[layer].update_tiles;
        layer++;
    }
    dense_update(LAYERS[layer], rest, lane);
}
