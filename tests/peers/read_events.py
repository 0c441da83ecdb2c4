"""Prints what TensorBoard reads in a folder as one JSON object: run -> tag -> [[step, value], ...], "hparams", "text"."""

import json
import pathlib
import sys

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.hparams import plugin_data_pb2

folder = pathlib.Path(sys.argv[1])
runs = {}
for path in sorted({file.parent for file in folder.rglob("*tfevents*")}):
    events = EventAccumulator(str(path), size_guidance={"scalars": 0, "tensors": 0})
    events.Reload()
    tags = events.Tags()
    run = {tag: [[e.step, e.value] for e in events.Scalars(tag)] for tag in tags["scalars"]}
    if "configuration" in tags["tensors"]:
        run["text"] = events.Tensors("configuration")[0].tensor_proto.string_val[0].decode()
    try:
        contents = events.PluginTagToContent("hparams")
    except KeyError:
        contents = {}
    if "_hparams_/session_start_info" in contents:
        start = plugin_data_pb2.HParamsPluginData.FromString(contents["_hparams_/session_start_info"])
        values = start.session_start_info.hparams
        run["hparams"] = {name: getattr(value, value.WhichOneof("kind")) for name, value in values.items()}
    if "_hparams_/session_end_info" in contents:
        end = plugin_data_pb2.HParamsPluginData.FromString(contents["_hparams_/session_end_info"])
        run["status"] = end.session_end_info.status
    runs[str(path.relative_to(folder))] = run
print(json.dumps(runs).replace("NaN", "null").replace("-Infinity", "null").replace("Infinity", "null"))
