// Reports in a real browser: what they hold, how they look at every width, what can be done with them. Run by scripts/test-web.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, statSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { boulevard, drawn, large, launch, open, overlaps, scrolling, settled, tables, together, tooWide, violations } from "./kit.mjs";

let browser;
let folder;
before(async () => {
  browser = await launch();
  folder = mkdtempSync(join(tmpdir(), "boulevard-browser-"));
  for (const [name, text] of Object.entries(tables())) writeFileSync(join(folder, name), text);
});
after(async () => {
  await browser.close();
  rmSync(folder, { recursive: true });
});

/** A report must hold at every width, in both lights, and on paper. Returns the pictures it has. */
async function checkReport(name, { light = true } = {}) {
  const file = join(folder, name);
  assert.ok(statSync(file).size < 1_500_000, `${name} has ${statSync(file).size} bytes`);
  const { page, complaints, asked, close } = await open(browser, `file://${file}`, { width: 1200 });
  await drawn(page);
  const pictures = await page.evaluate(() => JSON.parse(document.getElementById("pictures").textContent));
  const check = async (where) => {
    assert.deepEqual(await overlaps(page), [], `${name} ${where}`);
    assert.ok((await tooWide(page)) <= 0, `${name} ${where} scrolls sideways`);
    const empty = await page.evaluate(() => Array.from(document.querySelectorAll("figure.picture")).filter((figure) => figure.checkVisibility() && !figure.querySelector(".stage svg, .barlist")).map((figure) => figure.dataset.id));
    assert.deepEqual(empty, [], "every picture is drawn");
  };
  await check("at 1200");
  if (light) assert.deepEqual(await violations(page), [], name);
  // What is folded is unfolded once, so that it is checked too.
  await page.evaluate(() => document.querySelectorAll("details.fold").forEach((fold) => (fold.open = true)));
  await page.emulateMedia({ colorScheme: "dark" });
  await page.setViewportSize({ width: 800, height: 900 });
  await settled(page);
  await check("at 800, dark");
  assert.deepEqual(await violations(page), [], `${name} in the dark`);
  await page.setViewportSize({ width: 390, height: 800 });
  await settled(page);
  await check("at 390");
  assert.deepEqual(await scrolling(page), [], `${name} has tables that do not fit a phone`);
  await page.emulateMedia({ media: "print", colorScheme: "light" });
  await page.setViewportSize({ width: 700, height: 1000 });
  await settled(page);
  await check("on paper");
  assert.deepEqual(complaints, [], name);
  assert.deepEqual(asked.filter((url) => !/^(file|data|blob):/.test(url)), [], "a report asks nobody");
  await close();
  for (const picture of pictures) {
    for (const text of [picture.title, picture.sentence, picture.x.label, picture.y.label]) assert.ok(text, `${name}: ${picture.id} lacks words`);
  }
  return pictures.map((picture) => picture.id);
}

/** Whether all of these pictures are there. */
function holds(ids, wanted, name) {
  for (const id of wanted) assert.ok(ids.some((own) => own === id || own.startsWith(`${id}-`)), `${name} has no ${id}: ${ids.join(", ")}`);
}

const GOOD = ["confusion", "roc", "precision-recall", "calibration", "hardest"];

test("the tour's report holds every method's pictures", async () => {
  boulevard(["demo", "-q", "-o", "demo.html"], folder);
  holds(await checkReport("demo.html", { light: false }), ["front", "errors", "map", "rules", "switches", "rho-path", "error-by-samples", "labels", "round-errors", "round-weights", "agreement"], "demo.html");
});

test("reports of training with each of the five methods, and of evaluate, tune and reproduce", async () => {
  const wanted = {
    "pareto.html": [["train", "two.csv", "--method", "pareto", "--n-points", "30", "--scale", "standard"], [...GOOD, "front", "errors", "map", "dependence", "pulls", "nearest"]],
    "induce.html": [["train", "two.csv", "--method", "induce"], [...GOOD, "rules", "map", "dependence", "pulls"]],
    "select.html": [["train", "tasks.csv", "--method", "select", "--task", "site", "--rho", "0.05", "--c", "1"], ["hardest", "switches", "task-map", "rho-path"]],
    "gather.html": [["train", "two.csv", "--method", "gather", "--decide", "consensus"], ["confusion", "roc", "precision-recall", "calibration", "error-by-samples", "map", "dependence"]],
    "boost.html": [["train", "labels.csv", "--method", "boost", "--labels", "p,q,r", "--max-rounds", "4"], ["labels", "label-curves", "rounds"]],
    "evaluate.html": [["evaluate", "three.csv", "--method", "svc", "--method", "linear", "--folds", "3"], [...GOOD, "methods"]],
    "tune.html": [["tune", "numbers.csv", "--method", "svr", "--c-grid", "1,10", "--gamma-grid", "0.1,1", "--folds", "3"], ["search", "agreement", "hardest", "dependence", "pulls"]],
    "reproduce.html": [["reproduce", "esvm/table1", "--quick", "--only", "n=20", "--data", ".", "--out", "tables"], ["published"]],
  };
  await together(Object.entries(wanted).map(([file, [words]]) => [...words, "-q", "--report", file]), folder);
  for (const [file, [words, pictures]] of Object.entries(wanted)) {
    holds(await checkReport(file, { light: words[0] === "evaluate" }), pictures, file);
    const text = readFileSync(join(folder, file), "utf8");
    if (words[0] !== "reproduce") assert.ok(/<h2>The data<.*<th class="n">std\. dev\.</s.test(text), `${file} tells of the data`);
    assert.ok(text.includes("How it was made") && text.replaceAll(/<\/?span>/g, "").includes(`boulevard ${words[0]} ${words[1]}`), `${file} says how it was made`);
  }
});

test("a report can be hovered, zoomed, read as a table, downloaded, and its threshold dragged", async () => {
  const { page, complaints, close } = await open(browser, `file://${join(folder, "pareto.html")}`);
  await drawn(page);
  const figure = page.locator('figure[data-id="errors"]');
  const middle = async (one) => {
    await one.evaluate((node) => node.scrollIntoView({ block: "center" }));
    return one.boundingBox();
  };
  const box = await middle(figure.locator(".stage"));
  await page.mouse.move(box.x + 0.5 * box.width, box.y + 0.5 * box.height);
  await page.waitForFunction(() => document.querySelector('figure[data-id="errors"] [aria-label="tip"] text') !== null);
  const ticks = () => figure.locator('[aria-label="x-axis tick label"] text').allTextContents();
  const whole = await ticks();
  await page.mouse.move(box.x + 0.3 * box.width, box.y + 0.3 * box.height);
  await page.mouse.down();
  await page.mouse.move(box.x + 0.6 * box.width, box.y + 0.7 * box.height, { steps: 4 });
  await page.mouse.up();
  assert.notDeepEqual(await ticks(), whole, "dragging zooms");
  await figure.getByRole("button", { name: /whole picture/ }).click();
  assert.deepEqual(await ticks(), whole);
  await figure.getByRole("button", { name: /Zoom in/ }).click();
  assert.notDeepEqual(await ticks(), whole, "so does the button");
  const [download] = await Promise.all([page.waitForEvent("download"), figure.getByRole("button", { name: /Download/ }).click()]);
  assert.equal(download.suggestedFilename(), "errors.csv");
  const lines = readFileSync(await download.path(), "utf8").trim().split("\n");
  assert.match(lines[0], /^layer,x,/);
  assert.ok(lines.length > 60 && lines.some((line) => line.startsWith("training,")), "the data of every layer");
  await figure.locator("summary").click();
  await figure.locator("table tr").nth(20).waitFor();

  // The threshold: by keys on its slider, then with the mouse on the curve; words and matrix follow.
  const told = () => page.locator(".threshold output").textContent();
  const matrix = () => page.locator('figure[data-id="confusion"] svg [aria-label="text"] text').allTextContents();
  const [words, cells] = [await told(), await matrix()];
  const slider = page.locator(".threshold input");
  await slider.focus();
  for (let i = 0; i < 15; i++) await page.keyboard.press("ArrowRight");
  assert.notEqual(await told(), words);
  assert.notDeepEqual(await matrix(), cells);
  await page.getByRole("button", { name: "as trained" }).click();
  assert.deepEqual(await matrix(), cells);
  const stage = page.locator('figure[data-id="roc"] .stage');
  await middle(stage);
  const grip = await stage.locator(".grip").boundingBox();
  const frame = await stage.boundingBox();
  await page.mouse.move(grip.x + grip.width / 2, grip.y + grip.height / 2);
  await page.mouse.down();
  await page.mouse.move(frame.x + 0.9 * frame.width, frame.y + 0.1 * frame.height, { steps: 5 });
  await page.mouse.up();
  assert.notEqual(await told(), words, "dragging the point moves the threshold");
  assert.notDeepEqual(await matrix(), cells);
  assert.deepEqual(complaints, []);
  await close();
});

test("the first paint of a report of 20 000 rows takes less than a second", async () => {
  writeFileSync(join(folder, "large.csv"), large(20_000));
  boulevard(["train", "large.csv", "--method", "linear", "-q", "--report", "large.html"], folder);
  holds(await checkReport("large.html"), [...GOOD, "weights", "map", "dependence"], "large.html");
  const { page, close } = await open(browser, `file://${join(folder, "large.html")}`);
  await page.waitForFunction(() => performance.getEntriesByName("first-contentful-paint").length > 0);
  const paint = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0].startTime);
  assert.ok(paint < 1000, `first paint after ${paint} ms`);
  await close();
});
