//! Which adapters there are, which of them can train, and which one is taken.

use std::fmt;

use serde::Serialize;

use crate::error::{Error, Result};
use crate::plan::Products;

/// What the command line says about the adapter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AdapterChoice {
    /// Part of its name, in any case of letters.
    pub name: Option<String>,
    /// `vulkan`, `metal`, `dx12` or `gl`.
    pub backend: Option<String>,
}

/// The backends by their names on the command line.
pub const BACKENDS: [&str; 4] = ["vulkan", "metal", "dx12", "gl"];

/// An adapter by what a user should know of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct AdapterSummary {
    /// Its name.
    pub name: String,
    /// `vulkan`, `metal`, `dx12` or `gl`.
    pub backend: String,
    /// `discrete`, `integrated`, `virtual`, `software` or `other`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Driver and its version.
    pub driver: String,
}

impl fmt::Display for AdapterSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}, {}", self.name, self.backend, self.kind)?;
        if !self.driver.is_empty() {
            write!(f, ", {}", self.driver)?;
        }
        f.write_str(")")
    }
}

/// An adapter found on this machine.
#[derive(Debug, Clone)]
pub struct Found {
    pub(super) adapter: wgpu::Adapter,
    /// What it is.
    pub summary: AdapterSummary,
    /// Subgroup widths: smallest and largest; 0 where there are no subgroups.
    pub subgroups: (u32, u32),
    /// Why it cannot train, if it cannot.
    pub unsuitable: Option<String>,
    rank: usize,
}

impl Found {
    fn new(adapter: wgpu::Adapter) -> Self {
        let info = adapter.get_info();
        let (rank, kind) = match info.device_type {
            wgpu::DeviceType::DiscreteGpu => (0, "discrete"),
            wgpu::DeviceType::IntegratedGpu => (1, "integrated"),
            wgpu::DeviceType::VirtualGpu => (2, "virtual"),
            wgpu::DeviceType::Other => (3, "other"),
            wgpu::DeviceType::Cpu => (4, "software"),
        };
        let driver = [info.driver, info.driver_info].iter().filter(|s| !s.is_empty()).cloned().collect::<Vec<_>>();
        let subgroups = if adapter.features().contains(wgpu::Features::SUBGROUP | wgpu::Features::SUBGROUP_BARRIER) {
            (info.subgroup_min_size, info.subgroup_max_size)
        } else {
            (0, 0)
        };
        let gl = info.backend == wgpu::Backend::Gl;
        Self {
            unsuitable: unsuitable(&adapter),
            summary: AdapterSummary {
                name: info.name,
                backend: info.backend.to_str().into(),
                kind: kind.into(),
                driver: driver.join(" "),
            },
            subgroups,
            rank: 2 * rank + usize::from(gl),
            adapter,
        }
    }

    /// Whether it computes on the processor.
    pub fn is_software(&self) -> bool {
        self.summary.kind == "software"
    }

    /// The kernels that fit it: broadcasts on software adapters of a fixed subgroup width, staged tiles elsewhere, deep ones where
    /// a workgroup has the memory.
    pub fn products(&self) -> Products {
        fitting(self.is_software(), self.subgroups, &self.adapter.limits())
    }

    /// The limits and features that matter, as `name value` pairs.
    pub fn facts(&self) -> Vec<(&'static str, String)> {
        let limits = self.adapter.limits();
        let features = self.adapter.features();
        let yes = |feature| if features.contains(feature) { "yes" } else { "no" }.to_string();
        vec![
            ("storage buffers per stage", limits.max_storage_buffers_per_shader_stage.to_string()),
            ("largest storage binding", format!("{} MiB", limits.max_storage_buffer_binding_size >> 20)),
            ("workgroup memory", format!("{} KiB", limits.max_compute_workgroup_storage_size >> 10)),
            ("invocations per workgroup", limits.max_compute_invocations_per_workgroup.to_string()),
            (
                "subgroup width",
                match self.subgroups {
                    (0, _) => "none".into(),
                    (min, max) if min == max => min.to_string(),
                    (min, max) => format!("{min} to {max}"),
                },
            ),
            ("timestamp queries", yes(wgpu::Features::TIMESTAMP_QUERY)),
            ("half precision", yes(wgpu::Features::SHADER_F16)),
        ]
    }
}

/// The kernels for an adapter, given the least and the largest width of its subgroups.
fn fitting(software: bool, subgroups: (u32, u32), limits: &wgpu::Limits) -> Products {
    let deep = Products::Deep { side: 16 };
    match subgroups {
        (min, max) if software && min == max && min >= 4 => Products::Broadcast { width: min as usize },
        _ if exceeded(limits, deep).is_none() => deep,
        _ => Products::Tiled { side: 16 },
    }
}

/// The limit that workgroups of these kernels exceed, if there is one: its name, what they need, and what it is.
pub(super) fn exceeded(limits: &wgpu::Limits, products: Products) -> Option<(&'static str, usize, u32)> {
    let (lanes, bytes) = (products.lanes(), products.workgroup_bytes());
    let needs = [
        ("invocations", lanes, limits.max_compute_invocations_per_workgroup),
        ("invocations along x", lanes, limits.max_compute_workgroup_size_x),
        ("bytes of memory", bytes, limits.max_compute_workgroup_storage_size),
    ];
    needs.into_iter().find(|&(_, needed, has)| needed > has as usize)
}

/// What every kernel needs, all of it within WebGPU's default limits.
fn unsuitable(adapter: &wgpu::Adapter) -> Option<String> {
    let limits = adapter.limits();
    if !adapter.get_downlevel_capabilities().flags.contains(wgpu::DownlevelFlags::COMPUTE_SHADERS) {
        return Some("it has no compute shaders".into());
    }
    let needs = [
        ("storage buffers per stage", limits.max_storage_buffers_per_shader_stage, 8),
        ("invocations per workgroup", limits.max_compute_invocations_per_workgroup, 256),
        ("invocations along x", limits.max_compute_workgroup_size_x, 256),
        ("bytes of workgroup memory", limits.max_compute_workgroup_storage_size, 8192),
        ("workgroups per dimension", limits.max_compute_workgroups_per_dimension, 65_535),
    ];
    let short = needs.iter().find(|(_, has, needed)| has < needed);
    short.map(|(what, has, needed)| format!("it has {has} {what}, and the kernels need {needed}"))
}

/// All adapters, best first: real GPUs before software ones, native interfaces before OpenGL.
pub fn adapters() -> Vec<Found> {
    let backends = wgpu::Backends::PRIMARY | wgpu::Backends::GL;
    let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
    descriptor.backends = backends;
    let instance = wgpu::Instance::new(descriptor);
    let found = pollster::block_on(instance.enumerate_adapters(backends));
    let mut found: Vec<_> = found.into_iter().map(Found::new).collect();
    found.sort_by_key(|f| (f.unsuitable.is_some(), f.rank));
    found
}

/// The adapter to train on: the best one that fits the choice. `None` when the machine has none at all and none was asked
/// for.
///
/// # Errors
/// [`Error::Device`] when adapters exist, or one was asked for, and none fits.
pub fn choose(choice: &AdapterChoice) -> Result<Option<Found>> {
    let found = adapters();
    let fitting: Vec<_> = found.iter().filter(|f| choice.fits(&f.summary)).collect();
    if let Some(best) = fitting.iter().find(|f| f.unsuitable.is_none()) {
        return Ok(Some((*best).clone()));
    }
    if let Some(first) = fitting.first() {
        let reason = first.unsuitable.clone().unwrap_or_default();
        return Err(Error::Device(format!("{} cannot train: {reason}; see `fori adapters`", first.summary)));
    }
    if *choice == AdapterChoice::default() {
        return Ok(None);
    }
    let names: Vec<_> = found.iter().map(|f| f.summary.to_string()).collect();
    let have =
        if names.is_empty() { format!("there is none. {INSTALL}") } else { format!("there are: {}", names.join("; ")) };
    let asked = [("--adapter", &choice.name), ("--backend", &choice.backend)];
    let asked: Vec<_> =
        asked.iter().filter_map(|(flag, value)| value.as_ref().map(|v| format!("{flag} {v}"))).collect();
    Err(Error::Device(format!("no adapter fits {}: {have}", asked.join(" "))))
}

/// What a machine without any adapter lacks.
pub const INSTALL: &str = "WebGPU needs a driver for a GPU, or a software adapter (Debian and Ubuntu: apt install \
                           mesa-vulkan-drivers libvulkan1)";

impl AdapterChoice {
    /// Whether an adapter is one of those that were asked for.
    fn fits(&self, summary: &AdapterSummary) -> bool {
        let text = format!("{} {}", summary.name, summary.driver).to_lowercase();
        let backend = self.backend.as_ref().is_none_or(|backend| *backend == summary.backend);
        backend && self.name.as_ref().is_none_or(|name| text.contains(&name.to_lowercase()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_follow_what_an_adapter_offers() {
        let limits = |bytes| wgpu::Limits { max_compute_workgroup_storage_size: bytes, ..wgpu::Limits::default() };
        let tiled = Products::Tiled { side: 16 };
        assert_eq!(fitting(false, (32, 32), &wgpu::Limits::default()), tiled, "WebGPU's default limits");
        assert_eq!(fitting(false, (32, 32), &limits(32_767)), tiled, "a byte too few");
        assert_eq!(fitting(false, (32, 64), &limits(32_768)), Products::Deep { side: 16 }, "room for deep tiles");
        assert_eq!(fitting(true, (8, 8), &limits(32_768)), Products::Broadcast { width: 8 }, "a processor's vectors");
        assert_eq!(fitting(true, (4, 16), &wgpu::Limits::default()), tiled, "a processor whose subgroups vary");
        assert_eq!(
            fitting(true, (0, 0), &limits(32_768)),
            Products::Deep { side: 16 },
            "a processor without subgroups"
        );
    }
}
