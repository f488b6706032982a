# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What state the GPU is in, by NVIDIA's management library. Nothing is set."""
import ctypes as ct


class Card:
    CLOCK_SM, CLOCK_MEMORY, TEMPERATURE_GPU = 1, 2, 0

    def __init__(self, index=0):
        self.lib, self.handle = ct.CDLL("libnvidia-ml.so.1"), ct.c_void_p()
        self.lib.nvmlInit_v2()
        self.lib.nvmlDeviceGetHandleByIndex_v2(index, ct.byref(self.handle))

    def text(self, function, *arguments):
        room = ct.create_string_buffer(128)
        getattr(self.lib, function)(*arguments, room, 128)
        return room.value.decode()

    def number(self, function, *arguments):
        value = ct.c_uint()
        return value.value if getattr(self.lib, function)(self.handle, *arguments, ct.byref(value)) == 0 else None

    def describe(self):
        return {"name": self.text("nvmlDeviceGetName", self.handle), "driver": self.text("nvmlSystemGetDriverVersion"),
                "power_limit_w": (self.number("nvmlDeviceGetEnforcedPowerLimit") or 0) / 1000,
                "largest_sm_mhz": self.number("nvmlDeviceGetMaxClockInfo", self.CLOCK_SM)}

    def state(self):
        return {"sm_mhz": self.number("nvmlDeviceGetClockInfo", self.CLOCK_SM),
                "memory_mhz": self.number("nvmlDeviceGetClockInfo", self.CLOCK_MEMORY),
                "watts": (self.number("nvmlDeviceGetPowerUsage") or 0) / 1000,
                "celsius": self.number("nvmlDeviceGetTemperature", self.TEMPERATURE_GPU)}
