"""What Jupyter shows: pages in frames, and behind them what stands there where frames, scripts and styles are dropped."""

import html
import json
import os
import re
import sys
import tempfile
import unittest
import xml.dom.minidom
from html.parser import HTMLParser

import rehearse
from rehearse import _html

JOB = {"model": "gpt2-xl", "device": "h100", "devices": 8, "global_batch": 64}
EMPTY = {"br", "col", "hr", "img", "input", "link", "meta", "wbr"}


class Reader(HTMLParser):
    """Tags, which have to be closed in order, and texts; frames and styles are dropped with what is in them, as sanitizers do."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.attributes, self.texts, self.wrong = [], [], [], [], []
        self.feed(text)
        self.close()
        self.wrong += self.open

    def handle_starttag(self, tag, attrs):
        if tag not in EMPTY:
            self.open.append(tag)
        if "iframe" not in self.open and "style" not in self.open:
            self.tags.append(tag)
            self.attributes += attrs

    def handle_startendtag(self, tag, attrs):
        if "iframe" not in self.open:
            self.tags.append(tag)

    def handle_endtag(self, tag):
        if tag not in EMPTY and (not self.open or self.open.pop() != tag):
            self.wrong.append(tag)

    def handle_data(self, data):
        if "iframe" not in self.open and "style" not in self.open:
            self.texts.append(data)


class Html(unittest.TestCase):
    def shown(self, answer):
        text = answer._repr_html_()
        reader = Reader(text)
        self.assertEqual(reader.wrong, [])
        self.assertNotIn("script", reader.tags)
        self.assertFalse([name for name, _ in reader.attributes if name.startswith("on") or name in ("id", "srcdoc")])
        return text, " ".join(reader.texts)

    def test_a_page_is_in_a_frame_of_its_own(self):
        plan = rehearse.plan(**JOB)
        text, said = self.shown(plan)
        page = plan.write("page")
        begin = page.index('<figure class="draw" data-draw="planner"')
        self.assertIn(html.escape(page[: begin]), text)
        self.assertNotIn("planner-engine", _html.without_planner('a<script type="application/octet-stream" id="planner-engine">b</script>c'))
        self.assertNotIn(html.escape(_html.PLANNER[0]), text)
        self.assertIn(html.escape(_html.PLANNER[0]), rehearse.explorer(**JOB)._repr_html_())
        self.assertIn('sandbox="allow-scripts allow-downloads"', text)
        self.assertIn("Where the iteration goes", said)
        self.assertIn("expected", said)
        hidden = re.search(r'<div class="(rehearse-\w+)">', text)[1]
        self.assertIn(f"<style>.{hidden} {{display: none}}</style>", text)
        self.assertNotIn(hidden, rehearse.plan(**JOB, fix={"mbs": 2})._repr_html_())

    def test_every_answer_draws_itself(self):
        plan = rehearse.plan(**JOB)
        for answer in (
            rehearse.plan(**{**JOB, "devices": "4..8"}),
            rehearse.simulate(plan),
            rehearse.simulate(plan, compare=True),
            rehearse.simulate(schedule="zb-v", stages=2, microbatches=3),
            rehearse.sweep(model="gpt2-xl", device="h100", devices="2,4", global_batch=8, fix=["mbs=1"]),
            rehearse.elastic(nodes=8, mtbf="50000h", seeds=1),
            rehearse.cost(model="gpt2-xl", devices="h100"),
            rehearse.cost(list=True),
            rehearse.feed(list=True),
            rehearse.validate(),
            plan.stages,
            plan.iteration,
            plan.made_by,
            rehearse.explorer(),
        ):
            with self.subTest(repr(answer)[:60]):
                self.assertGreater(len(self.shown(answer)[1].split()), 5)

    def test_a_run_has_its_timeline(self):
        played = rehearse.simulate(schedule="zb-v", stages=4, microbatches=8)
        self.assertIn('alt="Timeline of zb-v" src="data:image/svg+xml;base64,', played._repr_html_())
        svg = _html.timeline(played.tasks, "a < b")
        document = xml.dom.minidom.parseString(svg)
        texts = [node.firstChild.data for node in document.getElementsByTagName("text")]
        self.assertEqual(texts, ["device 0", "device 1", "device 2", "device 3", "0 s", "25.5 s", "forward", "input gradient", "weight gradient"])
        self.assertEqual(sum(path.getAttribute("d").count("M") for path in document.getElementsByTagName("path")), len(played.tasks.begin))

    def test_names_are_text(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "profile.json")
            profile = rehearse.cost(model="gpt2", devices="h100").to_dict()
            profile["layers"][0]["name"] = "</td><script>alert(1)</script>"
            profile["model"] = '"><img src=x onerror=alert(1)>'
            with open(path, "w", encoding="utf-8") as file:
                json.dump(profile, file)
            read = rehearse.profile_show(path)
            self.assertIn("alert(1)", self.shown(read)[1])
            self.assertIn("alert(1)", self.shown(read.layers)[1])

    def test_a_table_says_units_and_what_is_left_out(self):
        layers = rehearse.cost(model="gpt2-xl", devices="h100").layers
        text, said = self.shown(layers)
        self.assertIn("parameter_bytes", said)
        self.assertIn("… 30 more rows", said)
        self.assertIn("[B]", said)
        self.assertIn("–", self.shown(rehearse.plan(**JOB).stages)[1])

    def test_the_explorer_is_the_page_of_plan(self):
        explorer = rehearse.explorer(height=700, **JOB)
        text = explorer._repr_html_()
        self.assertIn("height: 700px", text)
        self.assertLess(text.index(html.escape(_html.PLANNER[0])), text.index(html.escape("<header>")))
        self.assertIn("Explorer: <rehearse.Plan: gpt2-xl", repr(explorer))
        with tempfile.TemporaryDirectory() as folder:
            path, other = os.path.join(folder, "a.html"), os.path.join(folder, "b.html")
            explorer.save(path)
            rehearse.plan(**JOB, page=other)
            with open(path, encoding="utf-8") as file, open(other, encoding="utf-8") as page:
                self.assertEqual(file.read(), page.read())


if __name__ == "__main__":
    sys.exit(unittest.main())
