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
