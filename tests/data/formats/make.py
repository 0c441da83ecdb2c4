"""Writes the tiny tables of this folder with the tools that users have.

Made with numpy 2.4.6, pandas 3.1.1, pyarrow 26.0.1, safetensors 0.8.0 and pillow 13.0.0.
"""
import gzip, struct
import numpy as np, pandas as pd
from safetensors.numpy import save_file
from PIL import Image

x = np.array([[1.0, -2.5, 3.0], [4.0, 5.5, -6.0], [7.0, 8.0, 9.25], [0.5, 0.0, 1.0]])
y = np.array([3, 7, 9, 7])
names = np.array(["oak", "ash", "oak", "yew"])
np.save("matrix.npy", x)
np.save("fortran.npy", np.asfortranarray(x.astype(">f4")))
np.savez("stored.npz", x=x, y=y.astype(np.uint8), tree=names)
np.savez_compressed("packed.npz", x=x.astype(np.float16), y=y.astype(np.int16), tree=names.astype("S3"))
save_file({"x": x.astype(np.float32), "y": y}, "named.safetensors")
pixels = np.arange(4 * 2 * 3, dtype=np.uint8).reshape(4, 2, 3)
with gzip.GzipFile("tiny-images-idx3-ubyte.gz", "wb", mtime=0) as f:
    f.write(struct.pack(">HBBIII", 0, 8, 3, 4, 2, 3) + pixels.tobytes())
with open("tiny-labels-idx1-ubyte", "wb") as f:
    f.write(struct.pack(">HBBI", 0, 8, 1, 4) + y.astype(np.uint8).tobytes())
frame = pd.DataFrame({"x0": x[:, 0], "x1": [1, None, 3, 4], "tree": ["oak", None, "oak", "yew"], "sick": [True, False, False, True],
                      "y": y.astype(np.int32)})
frame["x1"] = frame["x1"].astype("Int64")
for codec in ["snappy", "zstd", "none"]:
    frame.to_parquet(f"{codec}.parquet", compression=None if codec == "none" else codec)
frame.to_csv("frame.tsv.gz", sep="\t", index=False, compression={"method": "gzip", "mtime": 0})
image = np.array([[[255, 0, 0], [0, 255, 0], [0, 0, 255]], [[0, 0, 0], [51, 102, 153], [255, 255, 255]]], dtype=np.uint8)
Image.fromarray(image).save("tiny.png")
Image.fromarray(np.full((8, 8, 3), (200, 100, 50), dtype=np.uint8)).save("flat.jpg", quality=95)
