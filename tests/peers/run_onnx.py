"""Runs each NAME.onnx of a folder with onnxruntime on NAME.input, and writes each output to NAME.OUTPUT (32-bit floats)."""

import pathlib
import sys

import numpy as np
import onnxruntime

for path in sorted(pathlib.Path(sys.argv[1]).glob("*.onnx")):
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    (described,) = session.get_inputs()
    rows = np.fromfile(path.with_suffix(".input"), dtype="<f4").reshape(-1, described.shape[1])
    names = [output.name for output in session.get_outputs()]
    for name, values in zip(names, session.run(names, {described.name: rows})):
        values.astype("<f4").tofile(path.with_suffix(f".{name}"))
    metadata = session.get_modelmeta().custom_metadata_map
    path.with_suffix(".names").write_text(metadata["input_names"] + "\n" + metadata["output_names"], encoding="utf-8")
