// Four vectors at a time from the lanes of the subgroup, which is the whole workgroup here. Where it is at least 8 wide
// one load has two groups of four; where it is 4 wide the second group takes a load of its own.

const NARROW: bool = LANES == 4u;
const SECOND: u32 = select(4u, 0u, NARROW);

fn first_four(v: vec4<f32>) -> mat4x4<f32> {
    return mat4x4<f32>(
        subgroupBroadcast(v, 0u),
        subgroupBroadcast(v, 1u),
        subgroupBroadcast(v, 2u),
        subgroupBroadcast(v, 3u),
    );
}

fn second_four(v: vec4<f32>) -> mat4x4<f32> {
    return mat4x4<f32>(
        subgroupBroadcast(v, SECOND),
        subgroupBroadcast(v, SECOND + 1u),
        subgroupBroadcast(v, SECOND + 2u),
        subgroupBroadcast(v, SECOND + 3u),
    );
}

// The two blocks of a lane, so that a loop may walk their vectors. What stands in such a loop is compiled once: unrolled,
// an activation or an update for each vector takes a software adapter seconds to compile.
const RESULTS: u32 = 10u;
var<workgroup> results: array<vec4<f32>, RESULTS * LANES>;

// Vector c of block 0 becomes result 2c, vector c of block 1 becomes result 2c + 1.
fn keep_results(lane: u32, block0: mat4x4<f32>, block1: mat4x4<f32>) {
    results[lane] = block0[0];
    results[LANES + lane] = block1[0];
    results[2u * LANES + lane] = block0[1];
    results[3u * LANES + lane] = block1[1];
    results[4u * LANES + lane] = block0[2];
    results[5u * LANES + lane] = block1[2];
    results[6u * LANES + lane] = block0[3];
    results[7u * LANES + lane] = block1[3];
}

fn kept_result(lane: u32, r: u32) -> vec4<f32> {
    return results[r * LANES + lane];
}

// Makes what the workgroup wrote visible to all of it. The subgroup is the workgroup, and its barrier costs nothing where a
// workgroup's suspends a coroutine.
fn synchronize() {
    subgroupBarrier();
}
