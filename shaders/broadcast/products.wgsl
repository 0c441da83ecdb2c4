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

// Vector r of two blocks, which alternate: even r are the vectors of block 0, odd r those of block 1. The results of a product
// are used in a loop over them, which is compiled once: unrolled, an activation or an update for each vector takes a
// software adapter seconds to compile. Selected, and not kept in workgroup memory, which costs such an adapter a branch for
// each number of each lane.
fn result_of(block0: mat4x4<f32>, block1: mat4x4<f32>, r: u32) -> vec4<f32> {
    let odd = r % 2u == 1u;
    let low = select(select(block0[0], block1[0], odd), select(block0[1], block1[1], odd), r / 2u % 2u == 1u);
    let high = select(select(block0[2], block1[2], odd), select(block0[3], block1[3], odd), r / 2u % 2u == 1u);
    return select(low, high, r / 4u % 2u == 1u);
}

// Nothing: these kernels run where the lanes of the workgroup are those of one vector of the processor, which stores before it
// loads what stands later. Mesa would cut the kernel into coroutines at any barrier, with all values spilled: half as slow again.
fn synchronize() {}

// The sum of the `value`s of all lanes; only lane 0 may use it.
fn sum_of_lanes(value: f32, lane: u32) -> f32 {
    var sum = value;
    for (var half = LANES / 2u; half > 0u; half /= 2u) {
        sum += subgroupShuffleDown(sum, half);
    }
    return sum;
}

// The hyperparameters of the step, a vector of them read by each lane.
fn load_hyper(lane: u32) -> Hyper {
    let row = lane % 4u;
    let r = first_four(table[select(3u * model + row, 3u * MODELS + slot(), row > 1u)]);
    return Hyper(r[0], r[1], r[2]);
}
