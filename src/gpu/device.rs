//! An opened adapter: queue, faults that the driver reports at any time, and waiting with a bound.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::adapter::{AdapterSummary, Found, exceeded};
use crate::error::{Error, Result};
use crate::plan::Products;

/// The longest that the host waits for one submission before it calls the driver hung.
const HANG: Duration = Duration::from_secs(120);

/// An opened adapter.
#[derive(Debug, Clone)]
pub struct Device {
    pub(super) device: wgpu::Device,
    pub(super) queue: wgpu::Queue,
    /// What it is.
    pub summary: AdapterSummary,
    /// The kernels that fit it.
    pub products: Products,
    /// Whether it computes on the processor.
    pub software: bool,
    faults: Arc<Mutex<Vec<String>>>,
}

impl Device {
    /// Opens an adapter with all of its limits, and the optional features that the kernels can use.
    ///
    /// # Errors
    /// [`Error::Device`] when the driver refuses.
    pub fn open(found: &Found) -> Result<Self> {
        let optional = wgpu::Features::SUBGROUP | wgpu::Features::SUBGROUP_BARRIER | wgpu::Features::TIMESTAMP_QUERY;
        let descriptor = wgpu::DeviceDescriptor {
            label: Some("fori"),
            required_features: found.adapter.features() & optional,
            required_limits: found.adapter.limits(),
            memory_hints: wgpu::MemoryHints::Performance,
            ..Default::default()
        };
        let (device, queue) = pollster::block_on(found.adapter.request_device(&descriptor))
            .map_err(|e| Error::Device(format!("{} cannot be opened: {e}", found.summary)))?;
        let faults = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&faults);
        device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| note(&sink, error.to_string())));
        let sink = Arc::clone(&faults);
        device.set_device_lost_callback(move |reason, text| {
            if !matches!(reason, wgpu::DeviceLostReason::Destroyed) {
                note(&sink, format!("the device was lost: {text}"));
            }
        });
        Ok(Self {
            device,
            queue,
            summary: found.summary.clone(),
            products: found.products(),
            software: found.is_software(),
            faults,
        })
    }

    /// The handles of wgpu, for work beside that of an executor.
    pub fn handles(&self) -> (&wgpu::Device, &wgpu::Queue) {
        (&self.device, &self.queue)
    }

    /// Reports what the driver complained of since the last call.
    pub(super) fn check(&self) -> Result<()> {
        let mut faults = self.faults.lock().unwrap_or_else(PoisonError::into_inner);
        if faults.is_empty() {
            return Ok(());
        }
        Err(Error::Device(format!("{}: {}", self.summary, faults.drain(..).collect::<Vec<_>>().join("; "))))
    }

    /// Waits for a submission.
    pub(super) fn wait(&self, submission: &wgpu::SubmissionIndex) -> Result<()> {
        let wait = wgpu::PollType::Wait { submission_index: Some(submission.clone()), timeout: Some(HANG) };
        // wgpu panics where a device is lost while it is waited for.
        match catch_unwind(AssertUnwindSafe(|| self.device.poll(wait))) {
            Ok(Ok(_)) => self.check(),
            Ok(Err(error)) => {
                // A device that hangs would be waited for without a bound when it is dropped.
                std::mem::forget((self.device.clone(), self.queue.clone()));
                Err(Error::Device(format!(
                    "{}: a submission did not end within {} s ({error}); try a smaller --submit-budget-ms",
                    self.summary,
                    HANG.as_secs()
                )))
            }
            Err(_) => {
                self.check()?;
                Err(Error::Device(format!("{}: the device was lost", self.summary)))
            }
        }
    }

    /// Gives the device up, as if the driver had lost it: everything that is done with it fails from now on.
    pub fn destroy(&self) {
        self.device.destroy();
    }

    /// Whether workgroups of these kernels fit the device.
    ///
    /// # Errors
    /// [`Error::Device`] with the limit that they break.
    pub fn fits(&self, products: Products) -> Result<()> {
        match exceeded(&self.device.limits(), products) {
            None => Ok(()),
            Some((what, needed, has)) => Err(Error::Device(format!(
                "{}: a workgroup of {products} kernels has {needed} {what}, and this device allows {has}",
                self.summary
            ))),
        }
    }

    /// The largest storage binding in bytes.
    pub(super) fn largest_binding(&self) -> u64 {
        let limits = self.device.limits();
        limits.max_storage_buffer_binding_size.min(limits.max_buffer_size)
    }

    /// Vectors of the largest part of a buffer that can be bound beside others.
    pub(super) fn largest_data_binding(&self) -> usize {
        let limits = self.device.limits();
        let alignment = u64::from(limits.min_storage_buffer_offset_alignment).max(16);
        let bytes = self.largest_binding() / alignment * alignment;
        usize::try_from(bytes / 16).unwrap_or(usize::MAX)
    }

    /// Compiles a module without wgpu's run-time checks, or with them.
    pub(super) fn module(&self, text: &str, checked: bool) -> wgpu::ShaderModule {
        let checks =
            if checked { wgpu::ShaderRuntimeChecks::checked() } else { wgpu::ShaderRuntimeChecks::unchecked() };
        let source = wgpu::ShaderSource::Wgsl(text.into());
        #[expect(
            unsafe_code,
            reason = "our own kernels stay inside their arenas and end their loops; tests run with checks"
        )]
        // SAFETY: see the reason above; `--checked` turns the checks on.
        unsafe {
            self.device
                .create_shader_module_trusted(wgpu::ShaderModuleDescriptor { label: Some("fori"), source }, checks)
        }
    }

    /// A compute pipeline of an entry point.
    pub(super) fn pipeline(
        &self,
        module: &wgpu::ShaderModule,
        layout: Option<&wgpu::PipelineLayout>,
        entry: &str,
    ) -> wgpu::ComputePipeline {
        self.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some(&format!("fori.{entry}")),
            layout,
            module,
            entry_point: Some(entry),
            compilation_options: wgpu::PipelineCompilationOptions {
                zero_initialize_workgroup_memory: false,
                ..Default::default()
            },
            cache: None,
        })
    }

    /// A buffer of `size` bytes that shaders and copies can use.
    pub(super) fn buffer(&self, label: &str, size: u64, usage: wgpu::BufferUsages) -> wgpu::Buffer {
        let descriptor =
            wgpu::BufferDescriptor { label: Some(&format!("fori.{label}")), size, usage, mapped_at_creation: false };
        self.device.create_buffer(&descriptor)
    }

    /// Reads a whole buffer that is mapped, and unmaps it.
    pub(super) fn take_mapped(&self, buffer: &wgpu::Buffer, bytes: u64) -> Result<Vec<u8>> {
        let view = buffer
            .get_mapped_range(..bytes)
            .map_err(|e| Error::Device(format!("{}: a result cannot be read: {e}", self.summary)))?;
        let copy = view.to_vec();
        drop(view);
        buffer.unmap();
        Ok(copy)
    }

    /// Copies a buffer to the host and waits for it.
    pub(super) fn read(&self, buffer: &wgpu::Buffer) -> Result<Vec<u8>> {
        let size = buffer.size();
        let staging = self.buffer("readback", size, wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST);
        let mut encoder = self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        encoder.copy_buffer_to_buffer(buffer, 0, &staging, 0, size);
        let submission = self.queue.submit([encoder.finish()]);
        staging.map_async(wgpu::MapMode::Read, .., |_| {});
        self.wait(&submission)?;
        self.take_mapped(&staging, size)
    }
}

/// Adds a fault to the list.
fn note(faults: &Mutex<Vec<String>>, text: String) {
    faults.lock().unwrap_or_else(PoisonError::into_inner).push(text);
}
