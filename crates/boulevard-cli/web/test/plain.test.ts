// What needs no browser: words, tables, ticks and what is told about a row.

import assert from "node:assert/strict";
import { test } from "node:test";
import { csvOf, tableOf } from "../src/csv.ts";
import { ends, linesOf, logTicks, spotsOf, ticksOf, told } from "../src/draw.ts";
import { isBarList } from "../src/bars.ts";
import { dash, dashAmong, symbol } from "../src/palette.ts";
import type { Picture } from "../src/types.ts";
import { axisLabel, logTick, partsOf, seconds, short, tick } from "../src/words.ts";

const picture: Picture = {
  id: "p",
  title: "P",
  sentence: "Look.",
  x: { label: "C", scale: "log" },
  y: { label: "error", unit: "%", scale: "linear" },
  layers: [
    { mark: "line", name: "hold-out", role: "holdout", columns: { x: [0.1, 1, 10], y: [30, 20, null], key: [0, 1, 2], margin: [1, 2, 3] } },
    { mark: "rule", name: "chosen", role: "chosen", columns: { x: [1] } },
    { mark: "ground", name: "", role: "neutral", across: 1, columns: { class: [0], value: [1] } },
  ],
};

test("numbers are short, percent has its sign", () => {
  assert.equal(short(0.30000000000000004), "0.3");
  assert.equal(short(-12.3456), "−12.35");
  assert.equal(short(1234567890), "1.23e9");
  assert.equal(short(1e-6), "1e−6");
  assert.equal(short(null), "–");
  assert.equal(short("a"), "a");
  assert.equal(tick(12, "%"), "12 %");
  assert.equal(axisLabel("error", "%"), "error (%)");
  assert.deepEqual([1e-6, 0.001, 1, 3e4, 1e4, 1e12].map((value) => logTick(value)), ["10⁻⁶", "0.001", "1", "30000", "10⁴", "10¹²"]);
  assert.deepEqual(partsOf("12 % of `a`"), [{ text: "12\u00a0% of ", name: false }, { text: "a", name: true }, { text: "", name: false }]);
  assert.deepEqual(partsOf("odd ` one").map((part) => part.text), ["odd ", "` one"]);
  assert.equal(seconds(0.25), "250 ms");
  assert.equal(seconds(130), "2 min 10 s");
});

test("the table has every layer but the ground, and CSV quotes", () => {
  const { names, rows } = tableOf(picture);
  assert.deepEqual(names, ["layer", "x", "y", "key", "margin"]);
  assert.deepEqual(rows[2], ["hold-out", 10, null, 2, 3]);
  assert.equal(rows.length, 4);
  const odd = { ...picture, layers: [{ mark: "bars", name: 'a, "b"', role: "neutral", columns: { x: [1], y: ["c\nd"] } }] } as Picture;
  assert.equal(csvOf(odd), 'layer,x,y\n"a, ""b""",1,"c\nd"\n');
});

test("names of axes take the lines they need", () => {
  const width = (text: string) => 7 * text.length;
  assert.deepEqual(linesOf("weight, added to the decision", 100, width), ["weight, added", "to the", "decision"]);
  assert.deepEqual(linesOf("margin", 300, width), ["margin"]);
});

test("axes take in all layers; percent starts at zero", () => {
  const [low, high] = ends(picture, "x");
  assert.ok(low < 0.1 && low > 0.05 && high > 10 && high < 20);
  assert.equal(ends(picture, "y")[0], 0);
  assert.deepEqual(ends({ ...picture, y: { ...picture.y, domain: [0, 50] } }, "y"), [0, 50]);
  assert.deepEqual(logTicks([0.001, 1000], 7), [0.001, 0.01, 0.1, 1, 10, 100, 1000]);
  assert.deepEqual(logTicks([1e-9, 1], 3).length, 4);
  assert.ok(logTicks([2, 9], 5).includes(5));
  const lofty = { ...picture, layers: [{ mark: "line", name: "", role: "neutral", columns: { x: [0, 1, 2], y: [21, 25, 24] } }] } as Picture;
  assert.ok(ends(lofty, "y")[0] > 20, "what lies high is looked at closely");
  const rounds = { ...lofty, x: { label: "rounds", scale: "linear" } } as Picture;
  assert.deepEqual(ticksOf(rounds, "x", [-0.06, 2.06], 7), [0, 1, 2]);
  assert.equal(ticksOf({ ...rounds, layers: [{ ...rounds.layers[0]!, columns: { x: [0.5], y: [1] } }] }, "x", [0, 1], 7), 7);
});

test("what is told about a row, and what can be chosen", () => {
  const spots = spotsOf(picture);
  assert.equal(spots.length, 2, "a row without a value has no place");
  assert.equal(spots[1]!.key, 1);
  assert.equal(told(picture, picture.layers[0]!, { x: 1, y: 20, key: 1, margin: 2 }), "hold-out\nC: 1\nerror: 20 %\nmargin: 2");
});

test("long names make a list, roles differ without color", () => {
  const bars = (name: string, label = "feature"): Picture => ({ ...picture, y: { label, scale: "ordinal", categories: [name] }, layers: [{ mark: "bars", name: "", role: "neutral", columns: { x: [1], y: [name] } }] });
  assert.ok(isBarList(bars("glucose > 127 AND age <= 30")));
  assert.ok(!isBarList(bars("x1")));
  assert.ok(isBarList(bars("x1 > 2", "rule")), "rules look the same however short they are");
  assert.equal(dashAmong([{ mark: "line", role: "holdout" }, { mark: "line", role: "baseline" }], "holdout"), undefined, "a curve alone is drawn through");
  assert.equal(dashAmong([{ mark: "line", role: "holdout" }, { mark: "line", role: "training" }], "holdout"), dash("holdout"));
  assert.equal(new Set(["training", "holdout", "estimate", "baseline", "chosen"].map((role) => String(dash(role)))).size, 5);
  assert.equal(new Set([0, 1, 2, 3, 4, 5, 6, 7].map((place) => symbol(`class${place}`))).size, 8);
});

test("what is clicked is the command line that is shown", async () => {
  const { commandOf } = await import("../src/form.ts");
  const asked = { method: "pareto", columns: { label: "the class" }, flags: { gamma: "0.5", calibrate: true, c: " " } };
  assert.equal(commandOf(asked, "my data.csv"), "boulevard train 'my data.csv' --method pareto '--label=the class' --gamma=0.5 --calibrate");
});

test("a threshold counts rows, and the matrix follows", async () => {
  const { confusionAt, countsAt, curveOf, inWords } = await import("../src/threshold.ts");
  const curve: Picture = {
    ...picture,
    layers: [{ mark: "line", name: "yes", role: "holdout", columns: { x: [0, 50, 100], y: [0, 100, 100], threshold: [null, 0.5, -1], "rows found": [0, 4, 4], "false alarms": [0, 3, 6] } }],
  };
  const layer = curveOf(curve)!;
  const counts = countsAt(layer, { "rows found": 4, "false alarms": 3 });
  assert.deepEqual(counts, { own: 4, others: 6, found: 4, alarms: 3 });
  assert.equal(inWords("yes", 0.5, counts), "Said yes from 0.5 on: 100 % of them found, 57.1 % of the alarms right, 50 % of the others alarmed, 30 % of all rows wrong.");
  const names = ["no", "yes"];
  const axis = { label: "c", scale: "ordinal" as const, categories: names };
  const matrix: Picture = { ...picture, x: axis, y: axis, layers: [{ mark: "cells", name: "share", role: "neutral", columns: { x: ["no", "yes", "no", "yes"], y: ["no", "no", "yes", "yes"], value: [0, 0, 0, 0], rows: [0, 0, 0, 0] } }] };
  assert.deepEqual(confusionAt(matrix, counts, "s").layers[0]!.columns["rows"], [3, 3, 0, 4]);
  assert.deepEqual(confusionAt(matrix, counts, "s").layers[0]!.columns["value"], [50, 50, 0, 100]);
  assert.equal(curveOf({ ...curve, layers: [...curve.layers, ...curve.layers] }), undefined, "several classes have no common threshold");
});

test("the list of rows is asked for by what is wanted", async () => {
  const { address } = await import("../src/rows.ts");
  assert.equal(address(3, null, { is: "", said: "", wrong: false }, 0), "/api/fits/3/rows");
  assert.equal(address(3, 7, { is: "a&b", said: "c", wrong: true }, 50), "/api/fits/3/rows?point=7&is=a%26b&said=c&wrong=true&from=50");
});
