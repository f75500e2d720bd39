"""Calls a shared object that has Fairlead inside."""

import ctypes
import sys

plugin = ctypes.CDLL(sys.argv[1])
sys.exit(0 if plugin.plugin_sum_of_squares(10) == 385 else 1)
