#!/usr/bin/env python3
"""What bench/peers.py computes and draws. Usage: check_peers.py ROOT"""

import pathlib
import sys
import tempfile
import unittest
import xml.etree.ElementTree as xml

sys.path.insert(0, str(pathlib.Path(sys.argv.pop()) / "bench"))
import peers  # noqa: E402
import plots  # noqa: E402


def record(model="a.gguf", threads=2, depth=0, **more):
    behind = f" @ d{depth}" if depth else ""
    rounds = [{"mlxn": {"pp512" + behind: 300, "tg64" + behind: 80}, "llama.cpp": {"pp512" + behind: 90, "tg64" + behind: 50}},
              {"mlxn": {"pp512" + behind: 240, "tg64" + behind: 100}, "llama.cpp": {"pp512" + behind: 100, "tg64" + behind: 40}}]
    return {"model": model, "threads": threads, "depth": depth, "rounds": rounds, "bytes": 250_000_000,
            "parameters": 134_515_008, "format": "q4_0",
            "limits": [{"read_gb_s": 50, "barrier_ns": 40}, {"read_gb_s": 40, "barrier_ns": 400}]} | more


class Rows(unittest.TestCase):
    def test_best_of_the_rounds_and_what_follows(self):
        prompt, answer = peers.rows_of(record(model="folder/a.gguf"))
        self.assertEqual((prompt["model"], prompt["test"]), ("a.gguf", "pp512"))
        self.assertEqual((prompt["mlxn"], prompt["llama.cpp"]), (300, 100))
        self.assertAlmostEqual(prompt["ratio"], 3)
        self.assertEqual(prompt["spread"], {"mlxn": 240 / 300, "llama.cpp": 90 / 100})
        self.assertIsNone(prompt["share_of_read_rate"])
        self.assertAlmostEqual(answer["ratio"], 2)
        # 100 tokens of 250 MB in a second, of the best 50 GB.
        self.assertAlmostEqual(answer["share_of_read_rate"], 0.5)

    def test_settings_of_the_first_model_only(self):
        self.assertEqual(peers.settings(["a", "b"], [2, 1], [0, 512, 4096]),
                         [("a", 2, 0), ("a", 2, 512), ("a", 2, 4096), ("a", 1, 0), ("b", 2, 0)])


class Series(unittest.TestCase):
    def setUp(self):
        self.records = [record("135m-q4_0.gguf"), record("135m-q4_0.gguf", depth=4096), record("135m-q4_0.gguf", depth=512),
                        record("135m-q4_0.gguf", threads=1), record("135m-f16.gguf", format="f16"),
                        record("1b-q4_0.gguf", parameters=1_235_814_400)]

    def test_each_plot_has_what_differs_in_one_thing(self):
        series = peers.series(self.records)
        labels = {name: [label for label, _ in groups] for name, (_, groups) in series.items()}
        self.assertEqual(labels, {"by-format.svg": ["135m-q4_0", "135m-f16"], "by-size.svg": ["135M", "1.2B"],
                                  "by-depth.svg": ["0", "512", "4096"], "by-threads.svg": ["1", "2"]})
        for _, groups in series.values():
            for _, ratios in groups:
                self.assertEqual([round(ratio, 9) for ratio in ratios], [3, 2])

    def test_a_plot_of_one_value_is_left_out(self):
        self.assertEqual(peers.series(self.records[:1]), {})

    def test_what_was_not_measured_has_no_ratio(self):
        one = record()
        for figures in one["rounds"]:
            for side in figures.values():
                del side["pp512"]
        ratios = peers.ratios_of(one)
        self.assertIsNone(ratios[0])
        self.assertAlmostEqual(ratios[1], 2)

    def test_what_stays_the_same_is_said(self):
        self.assertEqual(peers.what_stays(self.records, "by-format.svg"), "135M, 2 threads")
        self.assertEqual(peers.what_stays(self.records, "by-size.svg"), "q4_0, 2 threads")
        self.assertEqual(peers.what_stays(self.records, "by-threads.svg"), "135M q4_0")


class Plots(unittest.TestCase):
    def test_ticks_are_round_and_reach_the_largest(self):
        self.assertEqual(plots.ticks(5.9), [0, 1, 2, 3, 4, 5, 6])
        self.assertEqual(plots.ticks(6), [0, 1, 2, 3, 4, 5, 6])
        self.assertEqual(plots.ticks(6.1), [0, 2, 4, 6, 8])
        self.assertEqual(plots.ticks(0.55), [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
        self.assertEqual(plots.ticks(3248), [0, 1000, 2000, 3000, 4000])
        self.assertEqual(plots.ticks(0), [0, 1])

    def test_lengths_are_in_proportion(self):
        self.assertEqual(plots.place(3, [0, 2, 4, 6], 600), 300)
        self.assertEqual(plots.place(0, [0, 1], 600), 0)

    def drawn(self, groups, **more):
        root = xml.fromstring(plots.bars("a < b", "note", groups, ["one", "two"], **more))
        space = "{http://www.w3.org/2000/svg}"
        bars = [bar for bar in root.iter(space + "rect") if bar.get("height") == str(plots.BAR - 2)]
        return root, [float(bar.get("width")) for bar in bars], [text.text for text in root.iter(space + "text")]

    def test_bars_and_their_numbers(self):
        _, widths, texts = self.drawn([("x & y", [4, 2]), ("z", [None, 1])], line=1)
        self.assertEqual(widths, [plots.WIDTH, plots.WIDTH / 2, plots.WIDTH / 4])
        for text in ("a < b", "x & y", "4.00", "2.00", "1.00", "one", "two"):
            self.assertIn(text, texts)

    def test_a_line_beyond_all_bars_is_on_the_plot(self):
        root, widths, _ = self.drawn([("x", [0.5, 0.25])], line=1)
        self.assertEqual(widths, [plots.WIDTH / 2, plots.WIDTH / 4])
        dashed = [line for line in root.iter() if line.get("stroke-dasharray")]
        self.assertEqual([float(line.get("x1")) for line in dashed], [plots.LABEL + plots.WIDTH])

    def test_files_are_written(self):
        with tempfile.TemporaryDirectory() as folder:
            peers.write_plots(folder, [record(), record(threads=1)])
            files = sorted(path.name for path in pathlib.Path(folder).iterdir())
            self.assertEqual(files, ["by-threads.svg"])
            xml.parse(pathlib.Path(folder) / "by-threads.svg")


if __name__ == "__main__":
    unittest.main()
