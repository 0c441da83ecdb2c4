"""Prints the arrays of an npz file as one JSON object: name -> [type, shape, values]."""

import json
import sys

import numpy as np

arrays = np.load(sys.argv[1])
print(json.dumps({name: [array.dtype.str, array.shape, array.tolist()] for name, array in arrays.items()}))
