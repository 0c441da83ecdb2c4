//! Timestamps of the device around each submission of a chunk.

use std::time::Duration;

use super::device::Device;

/// The most submissions of a chunk that can be measured: WebGPU grants 4,096 queries, and each takes two.
pub const MEASURED_SUBMISSIONS: usize = 2048;

/// Bytes of one timestamp.
const TIMESTAMP: u64 = 8;

/// Bytes of all timestamps of a chunk.
pub(super) const BYTES: u64 = 2 * TIMESTAMP * MEASURED_SUBMISSIONS as u64;

/// The queries of a chunk. One set is enough: submissions run in order, and a chunk copies its results at its end.
pub(super) struct Timer {
    queries: wgpu::QuerySet,
    resolved: wgpu::Buffer,
    /// Nanoseconds of one tick.
    period: f64,
}

impl Timer {
    /// `None` where the adapter has no timestamps.
    pub(super) fn new(device: &Device) -> Option<Self> {
        if !device.device.features().contains(wgpu::Features::TIMESTAMP_QUERY) {
            return None;
        }
        let queries = device.device.create_query_set(&wgpu::QuerySetDescriptor {
            label: Some("fori.timestamps"),
            ty: wgpu::QueryType::Timestamp,
            count: queries(MEASURED_SUBMISSIONS),
        });
        let usage = wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC;
        let resolved = device.buffer("timestamps", BYTES, usage);
        Some(Self { queries, resolved, period: f64::from(device.queue.get_timestamp_period()) })
    }

    /// Where the pass of a submission writes its times; `None` after the last one that can be measured.
    pub(super) fn writes(&self, submission: usize) -> Option<wgpu::ComputePassTimestampWrites<'_>> {
        (submission < MEASURED_SUBMISSIONS).then(|| wgpu::ComputePassTimestampWrites {
            query_set: &self.queries,
            beginning_of_pass_write_index: Some(queries(submission)),
            end_of_pass_write_index: Some(queries(submission) + 1),
        })
    }

    /// Copies the times of a chunk of `submissions` to its staging buffer.
    pub(super) fn copy(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        submissions: usize,
        staging: &wgpu::Buffer,
        offset: u64,
    ) {
        let count = queries(submissions.min(MEASURED_SUBMISSIONS));
        encoder.resolve_query_set(&self.queries, 0..count, &self.resolved, 0);
        encoder.copy_buffer_to_buffer(&self.resolved, 0, staging, offset, TIMESTAMP * u64::from(count));
    }

    /// The sum over the submissions of a chunk; `None` if it had more than can be measured.
    pub(super) fn total(&self, submissions: usize, bytes: &[u8]) -> Option<Duration> {
        if submissions > MEASURED_SUBMISSIONS {
            return None;
        }
        let ticks: Vec<u64> = bytemuck::pod_collect_to_vec(bytes);
        let pairs = ticks.chunks_exact(2).take(submissions);
        let total: u64 = pairs.map(|pair| pair[1].saturating_sub(pair[0])).sum();
        #[expect(clippy::cast_precision_loss, reason = "far below 2^53 nanoseconds, which are 104 days")]
        Some(Duration::from_secs_f64(total as f64 * self.period * 1e-9))
    }
}

/// Queries of a number of submissions.
fn queries(submissions: usize) -> u32 {
    u32::try_from(2 * submissions).unwrap_or(u32::MAX)
}
