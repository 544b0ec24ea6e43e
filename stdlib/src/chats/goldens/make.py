"""Makes `expected.json`: what transformers makes of `chats.json` with the templates beside this file.

pip install transformers jinja2; python make.py
"""

import json
from pathlib import Path

import tokenizers
import transformers
from transformers import PreTrainedTokenizerFast
from transformers.utils.chat_template_utils import _compile_jinja_template

HERE = Path(__file__).parent
SPECIALS = [
    "<s>", "</s>", "<|im_start|>", "<|im_end|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>", "[INST]", "[/INST]",
    "<start_of_turn>", "<end_of_turn>", "<|user|>", "<|assistant|>", "<|system|>", "<｜User｜>", "<｜Assistant｜>", "<｜end▁of▁sentence｜>",
]


def tokenizer():
    file = json.loads((HERE / "../../tokens/goldens/tokenizer.json").read_text())
    first = max(it["id"] for it in file["added_tokens"]) + 1
    for at, text in enumerate(SPECIALS):
        file["added_tokens"].append(dict(file["added_tokens"][0], id=first + at, content=text))
    # Offsets of tokens have the space that they begin with.
    file["post_processor"] = None
    model = tokenizers.Tokenizer.from_str(json.dumps(file))
    return PreTrainedTokenizerFast(tokenizer_object=model, bos_token="<s>", eos_token="</s>")


def marked(model, template, chat, prompt):
    out = model.apply_chat_template(
        chat, chat_template=template, add_generation_prompt=prompt, tokenize=True, return_dict=True,
        return_assistant_tokens_mask=True)
    return out["input_ids"], out["assistant_masks"]


def grown(model, template, chat, prompt):
    """What messages of the assistant add to the text of those before them, and to what stands before an answer."""
    def text(upto, prompt):
        if upto == 0:
            # `apply_chat_template` refuses this, but templates can say what stands before the first message.
            tokens = model.special_tokens_map
            return _compile_jinja_template(template).render(messages=[], add_generation_prompt=prompt, **tokens)
        return model.apply_chat_template(chat[:upto], chat_template=template, add_generation_prompt=prompt, tokenize=False)

    whole = text(len(chat), prompt)
    out = model(whole, add_special_tokens=False)
    mask = [0] * len(out["input_ids"])
    for at, message in enumerate(chat):
        if message["role"] != "assistant":
            continue
        before, upto = text(at, True), text(at + 1, False)
        if not upto.startswith(before) or not whole.startswith(upto):
            return None
        for token, (begin, end) in enumerate(out.encodings[0].offsets):
            if begin < len(upto) and end > len(before):
                mask[token] = 1
    return out["input_ids"], mask


def runs(mask):
    """Where ones begin and end."""
    edges = [at for at in range(len(mask) + 1) if ([0] + mask + [0])[at] != ([0] + mask + [0])[at + 1]]
    return [edges[at:at + 2] for at in range(0, len(edges), 2)]


def main():
    model = tokenizer()
    chats = json.loads((HERE / "chats.json").read_text())
    rows = []
    for path in sorted(HERE.glob("*.jinja")):
        template = path.read_text()
        make = marked if "{% generation" in template or "{%- generation" in template else grown
        for number, chat in enumerate(chats):
            for prompt in (False, True) if number < 2 else (False,):
                row = {"template": path.stem, "chat": number, "prompt": prompt}
                try:
                    found = make(model, template, chat, prompt)
                except Exception as error:
                    row["error"] = f"{type(error).__name__}: {error}"
                else:
                    if found is None:
                        row["error"] = "does not grow"
                    else:
                        ids, mask = found
                        row["ids"] = list(ids)
                        row["loss"] = runs(mask)
                rows.append(json.dumps(row, ensure_ascii=False, separators=(",", ":")))
    head = json.dumps({"transformers": transformers.__version__, "specials": SPECIALS}, ensure_ascii=False)
    (HERE / "expected.json").write_text(head[:-1] + ',"rows":[\n' + ",\n".join(rows) + "\n]}\n")


main()
