// Elementary functions to full single precision. The built-in ones may be off by hundreds of ulps, and overflow on Metal.

// e^x, x cut to where the result is a normal number. Cody-Waite reduction and a polynomial of degree 6 (Cephes expf).
fn exponential(x: vec4<f32>) -> vec4<f32> {
    let c = clamp(x, vec4<f32>(-87.0), vec4<f32>(88.0));
    let n = floor(c * 1.44269504 + 0.5);
    let r = c - n * 0.693359375 - n * -2.12194440e-4;
    var p = r * 1.9875691500e-4 + 1.3981999507e-3;
    p = p * r + 8.3334519073e-3;
    p = p * r + 4.1665795894e-2;
    p = p * r + 1.6666665459e-1;
    p = p * r + 5.0000001201e-1;
    p = p * r * r + r + 1.0;
    return p * bitcast<vec4<f32>>((vec4<i32>(n) + vec4<i32>(127)) << vec4<u32>(23u));
}

// log(x) for positive normal x. Split into exponent and mantissa, a polynomial of degree 8 (Cephes logf).
fn logarithm(x: vec4<f32>) -> vec4<f32> {
    let bits = bitcast<vec4<u32>>(x);
    // The mantissa in [1/2, 1), or in [1, √2) with the exponent lowered.
    let mantissa = bitcast<vec4<f32>>((bits & vec4<u32>(0x007FFFFFu)) | vec4<u32>(0x3F000000u));
    let low = mantissa < vec4<f32>(0.707106781);
    let e = vec4<f32>(vec4<i32>(bits >> vec4<u32>(23u)) - vec4<i32>(126)) - select(vec4<f32>(), vec4<f32>(1.0), low);
    let t = select(mantissa, mantissa + mantissa, low) - 1.0;
    let z = t * t;
    var p = t * 7.0376836292e-2 - 1.1514610310e-1;
    p = p * t + 1.1676998740e-1;
    p = p * t - 1.2420140846e-1;
    p = p * t + 1.4249322787e-1;
    p = p * t - 1.6668057665e-1;
    p = p * t + 2.0000714765e-1;
    p = p * t - 2.4999993993e-1;
    p = p * t + 3.3333331174e-1;
    return t + (p * t * z - e * 2.12194440e-4 - 0.5 * z) + e * 0.693359375;
}

// The inverse error function on (-1, 1). Reference: Giles (2012), "Approximating the erfinv function".
fn erf_inv(x: vec4<f32>) -> vec4<f32> {
    // `min` keeps the product from being fused into the subtraction, which would move the tail by 2e-5.
    let w = -logarithm(1.0 - min(x * x, vec4<f32>(1.0)));
    let center = w - 2.5;
    var p = 2.81022636e-08 * center + 3.43273939e-07;
    p = p * center - 3.5233877e-06;
    p = p * center - 4.39150654e-06;
    p = p * center + 0.00021858087;
    p = p * center - 0.00125372503;
    p = p * center - 0.00417768164;
    p = p * center + 0.246640727;
    p = p * center + 1.50140941;
    let tail = sqrt(w) - 3.0;
    var q = -0.000200214257 * tail + 0.000100950558;
    q = q * tail + 0.00134934322;
    q = q * tail - 0.00367342844;
    q = q * tail + 0.00573950773;
    q = q * tail - 0.0076224613;
    q = q * tail + 0.00943887047;
    q = q * tail + 1.00167406;
    q = q * tail + 2.83297682;
    return select(q, p, w < vec4<f32>(5.0)) * x;
}

// Whether a number is infinite or NaN, by its bits: compilers may assume that there is none.
fn not_finite(x: f32) -> bool {
    return (bitcast<u32>(x) & 0x7F800000u) == 0x7F800000u;
}

// Values, slopes and deltas below TINY, and state of the optimizer below VANISHING, count as zero. Saturated units would
// else fill the arenas with subnormal numbers, which cost software adapters a hundred times as much as others.
const TINY: f32 = 1e-18;
const VANISHING: f32 = 1e-36;

// NaN stays NaN.
fn flush(v: vec4<f32>, below: f32) -> vec4<f32> {
    return select(v, vec4<f32>(), abs(v) < vec4<f32>(below));
}

// NaN by its bits: compilers may assume that there is none.
fn is_nan(v: vec4<f32>) -> vec4<bool> {
    return (bitcast<vec4<u32>>(v) & vec4<u32>(0x7FFFFFFFu)) > vec4<u32>(0x7F800000u);
}
