"""Reads pickles, and the `.pt` files that PyTorch makes of them, as data: nothing is imported, called or built.

A machine follows the opcodes. A name that a pickle imports stays a name; a call of a name becomes plain data if
the name is known (a tensor, an `OrderedDict`, a NumPy array), and a marker otherwise. So no pickle can do more than
describe data. Its steps, memory and time are bounded. PyTorch is not needed.
"""
