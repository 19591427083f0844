// Screenshots of every report and of the page, to be looked at: three widths, light and dark.
// BOULEVARD=program BROWSER_PROGRAM=chromium node test/shots.mjs FOLDER [data sets] [names...]

import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { drawn, explore, launch, open, settled, tables, together } from "./kit.mjs";

const [out = "shots", data = "", ...names] = process.argv.slice(2);
const folder = resolve(out);
mkdirSync(folder, { recursive: true });
for (const [name, text] of Object.entries(tables())) writeFileSync(join(folder, name), text);
const real = (name, instead) => (existsSync(join(data, name)) ? join(resolve(data), name) : instead);
const pima = real("pima.csv", "two.csv");

const reports = {
  demo: ["demo", "-q", "-o", "demo.html"],
  pareto: ["train", pima, "--method", "pareto", "--scale", "standard", "--n-points", "40"],
  induce: ["train", pima, "--method", "induce"],
  select: ["train", "tasks.csv", "--method", "select", "--task", "site"],
  one: ["train", pima, "--method", "select"],
  gather: ["train", "two.csv", "--method", "gather"],
  boost: ["train", "labels.csv", "--method", "boost", "--labels", "p,q,r", "--max-rounds", "6"],
  svc: ["train", "three.csv", "--method", "svc", "--calibrate"],
  linear: ["train", pima, "--method", "linear", "--scale", "standard"],
  evaluate: ["evaluate", pima, "--method", "svc", "--method", "induce", "--scale", "standard", "--folds", "4"],
  tune: ["tune", "numbers.csv", "--method", "svr", "--folds", "4"],
  reproduce: ["reproduce", "esvm/table1", "esvm/figure2", "--quick", "--data", ".", "--out", "tables"],
};
const wanted = Object.entries(reports).filter(([name]) => !names.length || names.includes(name));
const missing = wanted.filter(([name]) => !readdirSync(folder).includes(`${name}.html`));
await together(missing.map(([name, words]) => (name === "demo" ? words : [...words, "-q", "--report", `${name}.html`])), folder);

const browser = await launch();
const VIEWS = [[1200, "light"], [1200, "dark"], [800, "light"], [800, "dark"], [390, "light"], [390, "dark"]];
const shoot = async (page, name) => {
  await page.evaluate(() => document.querySelectorAll("details.fold").forEach((fold) => (fold.open = true)));
  for (const [width, colorScheme] of VIEWS) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: 900 });
    await settled(page);
    await page.screenshot({ path: join(folder, `${name}-${width}-${colorScheme}.png`), fullPage: true });
  }
};
for (const [name] of wanted) {
  const { page, close } = await open(browser, `file://${join(folder, `${name}.html`)}`);
  await drawn(page);
  await shoot(page, name);
  await close();
}
if (!names.length || names.includes("explore")) {
  const server = explore([pima], folder);
  const { page, close } = await open(browser, await server.url);
  await page.fill("#flag-n-points", "60");
  await page.click("#train");
  await page.waitForSelector('#own figure[data-id="front"] svg', { timeout: 120_000 });
  await page.waitForSelector("#rows tbody tr");
  await page.click("#explain");
  await page.waitForSelector("#row figure");
  await shoot(page, "explore");
  await close();
  server.child.kill("SIGINT");
  await server.ended;
}
await browser.close();
