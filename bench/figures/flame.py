# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Nested times of a dispatch, as bench/flame/run.py writes them: a row for each level, callers above what they
call, all peers of a mode on one scale."""
from svg import MARGIN, WIDTH, Drawing, duration, on, round_duration, text_width, ticks

ROW = 25
PEERS = {"kdl": "libkdl", "driver": "the driver, called directly", "liboffload": "LLVM's liboffload",
         "cudart": "the CUDA runtime", "mlir": "MLIR's CUDA wrapper", "opencl": "OpenCL, called directly", "plain": "dlopen, dlsym and a call",
         "omp": "LLVM's OpenMP target region"}
MODES = {"cold": "cold: a process from its start to its first result and its end",
         "warm": "warm: from bytes to a kernel, again", "hot": "hot: a launch of what is loaded, and the wait"}
PHASES = ("driver dlopen", "driver init", "enumerate", "context", "open", "select", "link", "load", "resolve",
          "arguments", "launch", "synchronise")
# Of NVIDIA's kernel module, by the numbers in its sources (nv_escape.h, nv-ioctl-numbers.h, uvm_ioctl.h).
RM = {0x27: "ALLOC_MEMORY", 0x29: "FREE", 0x2A: "CONTROL", 0x2B: "ALLOC", 0x34: "DUP_OBJECT", 0x4A: "VID_HEAP_CONTROL",
      0x4E: "MAP_MEMORY", 0x4F: "UNMAP_MEMORY", 0x57: "MAP_MEMORY_DMA", 0x58: "UNMAP_MEMORY_DMA",
      0x5E: "UPDATE_DEVICE_MAPPING_INFO", 200: "CARD_INFO", 201: "REGISTER_FD", 206: "ALLOC_OS_EVENT",
      207: "FREE_OS_EVENT", 210: "CHECK_VERSION_STR", 211: "IOCTL_XFER_CMD", 212: "ATTACH_GPUS_TO_FD", 214: "SYS_PARAMS",
      218: "WAIT_OPEN_COMPLETE"}
UVM = {0x30000001: "INITIALIZE", 0x30000002: "DEINITIALIZE", 23: "CREATE_RANGE_GROUP", 25: "REGISTER_GPU_VASPACE",
       26: "UNREGISTER_GPU_VASPACE", 27: "REGISTER_CHANNEL", 28: "UNREGISTER_CHANNEL", 33: "MAP_EXTERNAL_ALLOCATION",
       34: "FREE", 37: "REGISTER_GPU", 38: "UNREGISTER_GPU", 39: "PAGEABLE_MEM_ACCESS"}


def request_name(words):
    """ "/dev/nvidiactl 0xc020462a": which of the driver's requests it is."""
    path, _, number = words.rpartition(" ")
    number = int(number, 16)
    device = path.rpartition("/")[2] or "?"
    if device == "nvidia-uvm":
        return f"{device} {UVM.get(number, f'request {number}')}"
    return f"{device} {RM.get(number & 0xFF, f'request {number & 0xFF:#x}')}"


def group_calls(node):
    """System calls of one kind below a frame become one, with its requests below it."""
    children, kinds = [], {}
    for child in node.get("children", []):
        kind, _, words = child["name"].partition("() ")
        kind = kind.removesuffix("()")
        if not child["name"].startswith(f"{kind}()"):
            children.append(group_calls(child))
            continue
        group = kinds.setdefault(kind, {"name": kind, "system": True, "ns": 0, "count": 0, "children": {}})
        group["ns"] += child["ns"]
        group["count"] += child["count"]
        if words:
            name = request_name(words)
            request = group["children"].setdefault(name, {"name": name, "system": True, "ns": 0, "count": 0})
            request["ns"] += child["ns"]
            request["count"] += child["count"]
    for group in kinds.values():
        group["children"] = sorted(group["children"].values(), key=lambda each: -each["ns"])
    return node | {"children": children + sorted(kinds.values(), key=lambda each: -each["ns"])}


# Of what perf samples, by shared object.
OBJECTS = {"program": "step", "libkdl": "kdl", "libOpenCL": "opencl", "libpocl": "opencl", "libclang": "offload", "libLLVM": "offload",
           "the kernel": "system"}


def kind_of(node, peer, depth):
    name = node["name"]
    if name.startswith(("lib", "program: ", "the kernel")):
        return OBJECTS.get(name.split(":")[0], "library")
    if node.get("system"):
        return "system"
    word = name.lstrip("_")
    if word.startswith("cuda"):
        return "cudart"
    if word.startswith("mgpu"):
        return "mlir"
    if word[:2] in ("cu", "ol", "cl") and word[2:3].isupper():
        return {"cu": "cuda", "ol": "offload", "cl": "opencl"}[word[:2]]
    return "kdl" if peer == "kdl" and not name.startswith("process") and name != "arguments" else "step"


def depth_of(node, limit):
    """Levels that are wide enough to be seen."""
    below = [depth_of(child, limit) for child in node.get("children", []) if child["ns"] > limit]
    return 1 + max(below, default=0)


class Graph:
    def __init__(self, drawing, scale, peer, mode):
        self.out, self.scale, self.peer, self.mode = drawing, scale, peer, mode

    def block(self, node, x, y, depth):
        width = node["ns"] * self.scale
        kind = kind_of(node, self.peer, depth)
        count = node.get("count", 1)
        many = f" ×{count}" if count > 1 else ""
        self.out.rect(x, y, width, ROW - 1, kind, f"{node['name']}{many}: {duration(node['ns'])}", "edge")
        name = node["name"]
        label = name + (f" ×{count}" if count > 1 and node.get("system") else "")
        self.label((label, name, name.split(",")[0], name.split(": ")[0], name.split(" ")[-1]), x, y, width, on(kind))
        self.children(node, x, y + ROW, depth + 1, kind)

    def label(self, candidates, x, y, width, kind):
        """The first of them that fits; else the first in small letters, where that does; else its beginning."""
        fits = [(words, "") for words in candidates if text_width(words) < width - 5]
        fits += [(words, " small") for words in candidates if text_width(words, 12) < width - 5]
        cuts = (f"{candidates[0][:length]}…" for length in range(len(candidates[0]) - 1, 5, -1))
        fits += [(words, " small") for words in cuts if text_width(words, 13.5) < width - 5][:1]
        if fits:
            words, size = fits[0]
            self.out.add(f'<text x="{x + 4:.1f}" y="{y + 17:.1f}" class="{kind}{size}" pointer-events="none">{words}</text>')

    def children(self, node, x, y, depth, kind):
        below = node.get("children", [])
        for child in below:
            if child["ns"] * self.scale > 0.15:
                self.block(child, x, y, depth)
            x += child["ns"] * self.scale
        own = node["ns"] - sum(child["ns"] for child in below)
        if kind == "cuda" and own * self.scale > 3:
            self.out.add(f'<rect x="{x:.2f}" y="{y:.1f}" width="{own * self.scale:.2f}" height="{ROW - 1}" fill="url(#hatch)" '
                         f'class="edge"><title>within libcuda, which has no symbols: {duration(own)}</title></rect>')
            self.label(("within libcuda: not visible", "within libcuda", "libcuda"), x, y, own * self.scale, "on")


def draw_axis(drawing, top, scale, y):
    for tick in ticks(top, 4):
        x = MARGIN + tick * scale
        drawing.line(x, y, x, y + 5)
        drawing.text(min(x, WIDTH - MARGIN), y + 20, round_duration(tick) if tick else "0", "soft " + ("mid" if tick else ""))


def draw_mode(drawing, data, mode, heading=True):
    rows = [peer for peer in data["peers"] if mode in peer.get("modes", {})]
    device = data.get("device_ns") if mode == "hot" and "cuda" in data["device"] else None
    top = max(peer["modes"][mode]["tree"]["ns"] for peer in rows)
    scale = (WIDTH - 2 * MARGIN) / top
    if heading:
        drawing.y += 12
        drawing.text(MARGIN, drawing.y + 8, MODES[mode], "name")
        drawing.y += 18
    for peer in rows:
        tree = group_calls(peer["modes"][mode]["tree"])
        drawing.y += 10
        drawing.text(MARGIN, drawing.y + 14, PEERS.get(peer["name"], peer["name"]), "name")
        plain = peer["modes"][mode].get("plain")
        note = f", {duration(plain['median'])} without marks" if plain and mode != "cold" else ""
        drawing.text(WIDTH - MARGIN, drawing.y + 14, duration(tree["ns"]) + note, "end")
        drawing.y += 22
        limit = 0.15 / scale
        Graph(drawing, scale, peer["name"], mode).children(tree, MARGIN, drawing.y, 0, "step")
        hidden = any_hidden(tree, peer["name"], scale)
        drawing.y += ROW * (max(depth_of(tree, limit) - 1, hidden))
    if device:
        drawing.y += 10
        drawing.text(MARGIN, drawing.y + 14, "on the device, by events around the kernel", "name")
        drawing.text(WIDTH - MARGIN, drawing.y + 14, duration(device), "end")
        drawing.rect(MARGIN, drawing.y + 22, device * scale, ROW - 1, "driver", f"on the device: {duration(device)}")
        drawing.y += 22 + ROW
    draw_axis(drawing, top, scale, drawing.y + 4)
    drawing.y += 30


def any_hidden(node, peer, scale, depth=0):
    """The lowest row that has a hatched block."""
    deepest = 0
    for child in node.get("children", []):
        if child["ns"] * scale <= 0.15:
            continue
        own = child["ns"] - sum(each["ns"] for each in child.get("children", []))
        if kind_of(child, peer, depth) == "cuda" and own * scale > 3:
            deepest = max(deepest, depth + 2)
        deepest = max(deepest, any_hidden(child, peer, scale, depth + 1))
    return deepest


SAMPLED = {"step": "program", "kdl": "libkdl", "opencl": "libOpenCL, PoCL", "offload": "Clang, LLVM", "library": "libc and others",
           "system": "the kernel"}
KEYS = {"step": "step of the program", "kdl": "libkdl", "offload": "liboffload and its plugin", "cudart": "CUDA runtime",
        "mlir": "MLIR's wrapper", "cuda": "libcuda", "opencl": "OpenCL", "system": "system calls (ioctl, ...)"}


def draw(data, title, words, modes, keys, closing=""):
    drawing = Drawing(title, words)
    names = SAMPLED if "sampled" in data else KEYS
    drawing.keys([(key, names[key]) for key in keys])
    for mode in modes:
        draw_mode(drawing, data, mode, len(modes) > 1)
    if closing:
        drawing.paragraph(closing)
    return drawing
