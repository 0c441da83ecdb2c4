//! Each module of the table in the languages of the drivers, so that a kernel that one of them cannot express is seen on
//! any machine.

use fori::plan::{Plan, Products};
use fori::shader::Walk;
use naga::back::{glsl, hlsl, msl, spv};
use naga::proc::{BoundsCheckPolicies, BoundsCheckPolicy};
use naga::valid::ModuleInfo;
use naga::{Module, ShaderStage};

use crate::modules::{describe, for_each};

/// The bounds checks of either way in which wgpu compiles a module: as trusted, and with its run-time checks.
fn policies(checked: bool) -> BoundsCheckPolicies {
    let policy = if checked { BoundsCheckPolicy::Restrict } else { BoundsCheckPolicy::Unchecked };
    BoundsCheckPolicies {
        index: policy,
        buffer: policy,
        image_load: policy,
        binding_array: BoundsCheckPolicy::Unchecked,
    }
}

/// Calls `write` with every module of the table, checked and trusted; it returns the text or says what was wrong.
fn write_all(write: impl Fn(&Plan, &Module, &ModuleInfo, bool) -> Result<usize, String>) {
    for_each(|plan: &Plan, walk: Walk, module, info| {
        for checked in [false, true] {
            match write(plan, module, info, checked) {
                Ok(length) => assert!(length > 0, "nothing was written of {}", describe(plan, walk)),
                Err(e) => panic!("{}: {e}", describe(plan, walk)),
            }
        }
    });
}

fn uses_subgroups(plan: &Plan) -> bool {
    matches!(plan.step.products, Products::Broadcast { .. })
}

#[test]
fn spirv_is_written() {
    write_all(|_, module, info, checked| {
        // Subgroup operations came with SPIR-V 1.3, that is, Vulkan 1.1.
        let options = spv::Options {
            lang_version: (1, 3),
            bounds_check_policies: policies(checked),
            force_loop_bounding: checked,
            zero_initialize_workgroup_memory: spv::ZeroInitializeWorkgroupMemoryMode::None,
            ..spv::Options::default()
        };
        spv::write_vec(module, info, &options, None).map(|words| words.len()).map_err(|e| e.to_string())
    });
}

#[test]
fn msl_is_written() {
    write_all(|_, module, info, checked| {
        let options = msl::Options {
            lang_version: (2, 4),
            bounds_check_policies: policies(checked),
            force_loop_bounding: checked,
            zero_initialize_workgroup_memory: false,
            ..msl::Options::default()
        };
        let written = msl::write_string(module, info, &options, &msl::PipelineOptions::default());
        let (text, translated) = written.map_err(|e| e.to_string())?;
        translated.entry_point_names.into_iter().collect::<Result<Vec<_>, _>>().map_err(|e| e.to_string())?;
        Ok(text.len())
    });
}

#[test]
fn hlsl_is_written() {
    write_all(|plan, module, info, checked| {
        // Wave operations came with shader model 6.0, that is, with DXC. The tiled kernels do with FXC.
        let shader_model = if uses_subgroups(plan) { hlsl::ShaderModel::V6_0 } else { hlsl::ShaderModel::V5_1 };
        let options = hlsl::Options {
            shader_model,
            restrict_indexing: checked,
            force_loop_bounding: checked,
            zero_initialize_workgroup_memory: false,
            ..hlsl::Options::default()
        };
        let (mut text, pipeline) = (String::new(), hlsl::PipelineOptions::default());
        let written = hlsl::Writer::new(&mut text, &options, &pipeline).write(module, info, None);
        let names = written.map_err(|e| e.to_string())?.entry_point_names;
        names.into_iter().collect::<Result<Vec<_>, _>>().map_err(|e| e.to_string())?;
        Ok(text.len())
    });
}

/// Writes every entry point in one version of GLSL.
fn glsl(module: &Module, info: &ModuleInfo, version: glsl::Version, checked: bool) -> Result<usize, String> {
    let options = glsl::Options { version, zero_initialize_workgroup_memory: false, ..glsl::Options::default() };
    let mut text = String::new();
    for entry in &module.entry_points {
        let pipeline = glsl::PipelineOptions {
            shader_stage: ShaderStage::Compute,
            entry_point: entry.name.clone(),
            multiview: None,
        };
        let writer = glsl::Writer::new(&mut text, module, info, &options, &pipeline, policies(checked));
        writer.and_then(|mut writer| writer.write()).map_err(|e| format!("{}: {e}", entry.name))?;
    }
    Ok(text.len())
}

#[test]
fn glsl_is_written() {
    write_all(|_, module, info, checked| {
        // Either version has the broadcast kernels too: naga asks for the extensions GL_KHR_shader_subgroup_*.
        let es = glsl(module, info, glsl::Version::new_gles(310), checked)?;
        Ok(es.min(glsl(module, info, glsl::Version::Desktop(430), checked)?))
    });
}
