"""Pages of our own making and what they say: `python make.py > pages.jsonl` with html5lib 1.1.

The text of a page is found slowly: by recursion through the tree that html5lib makes, then with regular expressions.
"""
import json
import random
import re

import html5lib

SKIPPED = set("audio canvas iframe noembed noframes noscript object script style svg template video".split())
PLAIN = set("listing plaintext pre xmp".split())
CELLS = {"td", "th"}
BLOCKS = set(
    """address article aside blockquote body br caption center dd details dialog dir div dl dt fieldset figcaption figure
    footer form frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html legend li main menu nav ol optgroup option p search
    section select summary table tbody tfoot thead title tr ul""".split()
)
# Stand for what collapsing must not touch: a line's end, a tab between cells, white space of `pre`.
BREAK, TAB, KEPT_SPACE, KEPT_TAB = "\ue000\ue001\ue002\ue003"


def flatten(node, plain, out):
    if not isinstance(node.tag, str):
        return
    name = node.tag.split("}")[-1]
    if name in SKIPPED:
        return
    plain = plain or name in PLAIN
    edge = BREAK if name in BLOCKS or name in PLAIN else TAB if name in CELLS else ""

    def add(text):
        if text and plain:
            text = text.replace("\n", BREAK).replace(" ", KEPT_SPACE).replace("\t", KEPT_TAB)
        out.append(text or "")

    out.append(edge)
    add(node.text)
    for child in node:
        flatten(child, plain, out)
        add(child.tail)
    out.append(edge)


def text_of(page):
    out, lines = [], []
    flatten(html5lib.parse(page, namespaceHTMLElements=False, scripting=True), False, out)
    for line in "".join(out).split(BREAK):
        line = re.sub(f"[ \n\t\r\f]*({TAB}[ \n\t\r\f]*)+", TAB, line)
        line = re.sub("[ \n\t\r\f]+", " ", line)
        line = re.sub(f"^[ {TAB}]+|[ {TAB}{KEPT_SPACE}{KEPT_TAB}]+$", "", line)
        line = line.replace(TAB, "\t").replace(KEPT_SPACE, " ").replace(KEPT_TAB, "\t")
        if line.strip():
            lines.append(line)
    return "\n".join(lines)


# A no-break space stands for a space within a piece.
PIECES = """<p> </p> <div> </div> <b> </b> <i> </i> <a\xa0href=x> </a> <br> </br> <ul> <li> </ul> <ol> </ol> <table> <tr> <td>
<th> </td> </tr> </table> <caption> <tbody> <pre> </pre> <h1> </h1> <h2\xa0class='x\xa0y'> </h2> <title>A\xa0title</title>
<script>a<b\xa0"</p>"</script> <style>p{}</style> <noscript>n</noscript> <!--c--> <!-- <![CDATA[x]]> <span\xa0a=1\xa0b="2>3"> </span>
<em> </em> <code> </code> <dl> <dt> <dd> </dl> <form> </form> <button> </button> <textarea>t</textarea> <nobr> </nobr> <center>
</center> <blockquote> </blockquote> <hr> <img\xa0alt=y> <input> <font\xa0color=1> </font> <u> </u> <p\xa0/> <section> </section>
<body\xa0a=b> </body> </html> <head> </head> <iframe>f</iframe> <video>v</video> </script> &amp; &lt;p> &#65; &nbsp; &eacute; &notit;
&copy &#x1F600; word word another text. Gr\xfc\xdfe \u65e5\u672c 1 , < > &"""
PIECES = re.split("[ \n]+", PIECES)
SPACES = ["", "", " ", "  ", "\n", "\t", " \n "]


def soup(dice):
    words = ["one", "two", "three,", "four."]
    piece = lambda: dice.choice(dice.choice([PIECES, PIECES, words])).replace("\xa0", " ") + dice.choice(SPACES)
    pieces = (piece() for _ in range(dice.randrange(40)))
    return dice.choice(["", "<!DOCTYPE html>", "<!DOCTYPE html>\n<html lang=en>"]) + "".join(pieces)


if __name__ == "__main__":
    dice = random.Random(17)
    for _ in range(400):
        page = soup(dice)
        print(json.dumps([page, text_of(page)], ensure_ascii=False))
