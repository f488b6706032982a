# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""dynamic_on_fakes.py FAKES LIBRARY: what each driver is told of a launch's dynamic group memory. The fakes run the
kernel `room` of LIBRARY by writing how many bytes they were given; a group has at most 64 KiB of them."""

import os
import pathlib
import subprocess
import sys

fakes, library = pathlib.Path(sys.argv[1]), sys.argv[2]
loader = fakes / "driver" / "libze_fake.so.1"
DEVICES = ["cuda:sm_90 driver=13.0", "hip:gfx942:sramecc+:xnack- driver=7.0.0", "level_zero:pvc il=1.4",
           "opencl:spirv64 il=1.4 features=int64 platform=fake"]


def run(device, environment, *options):
    spec = f"{device} memory=1GiB max_block=1024 shared=64KiB shared_optin=64KiB"
    command = ["kdl", "run", library, "room", "--device=" + device.split(":")[0], *options, "--arg=buf:u32[2]",
               "--dump=arg0"]
    done = subprocess.run(command, env=dict(os.environ, KDL_FAKE_DEVICES=spec, **environment), capture_output=True,
                          text=True, check=False)
    return done.stdout.splitlines()[-1] if done.returncode == 0 else done.stderr.strip()


def check(name, device, environment):
    for options, expected in [(["--items=16"], "arg0 = 32 0"), (["--grid=2"], "arg0 = 32 0"),
                              (["--grid=2", "--shared=40"], "arg0 = 40 0"),
                              (["--grid=2", "--shared=16"], "arg0 = 32 0"),
                              (["--grid=2", "--shared=65536"], "arg0 = 65536 0")]:
        found = run(device, environment, *options)
        if found != expected:
            sys.exit(f"{name}: {options}: found '{found}', expected '{expected}'")
    print(f"{name}:", run(device, environment, "--grid=2", "--shared=65537"))


for device in DEVICES:
    for age in ("whole", "old"):
        check(f"{age} {device.split(':')[0]}", device, {"LD_LIBRARY_PATH": str(fakes / age)})
if loader.exists():
    check("loader level_zero", DEVICES[2], {"ZE_ENABLE_ALT_DRIVERS": str(loader)})
else:
    print("loader level_zero: not there")
