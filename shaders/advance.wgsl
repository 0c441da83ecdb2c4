// Ends a step: the key of the next one, and the count of finished steps.
// The count goes up in a loop, because some drivers end all loops of an invocation silently after a number of trips; a
// step in which that happened is then not counted, and the host sees it.

fn advance(tile: u32, lane: u32) {
    if (lane == 0u) {
        var s = state[model];
        let next = next_key();
        for (var i = 0u; i < chunk.one; i++) {
            s.x += 1u;
        }
        state[model] = vec4<u32>(s.x, next, s.w);
    }
}
