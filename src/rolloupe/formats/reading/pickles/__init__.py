"""Pickles, and the `.pt` files that PyTorch makes of them, read as data: nothing is imported, called or built.

A machine of ours follows the opcodes. A name that a pickle imports stays a name; a call of a name becomes plain data if
the name is one of a few whose meaning is known (a tensor, an `OrderedDict`, a NumPy array), and a marker otherwise. So
no pickle can do more than describe data. Its size in steps, memory and time is bounded. PyTorch is not needed.
"""

from rolloupe.formats.reading.pickles.json_values import Repetitive, ValueBudget, as_json
from rolloupe.formats.reading.pickles.machine import beginning, interpret
from rolloupe.formats.reading.pickles.torch_files import TorchFile, torch_file
from rolloupe.formats.reading.pickles.values import (
    ArrayValue,
    Blob,
    Name,
    NumberList,
    Opaque,
    StorageRef,
    Tensor,
    UnreadablePickle,
    Window,
    floats_of,
    simple,
)

__all__ = [
    "ArrayValue",
    "Blob",
    "Name",
    "NumberList",
    "Opaque",
    "Repetitive",
    "StorageRef",
    "Tensor",
    "TorchFile",
    "UnreadablePickle",
    "ValueBudget",
    "Window",
    "as_json",
    "beginning",
    "floats_of",
    "interpret",
    "simple",
    "torch_file",
]
