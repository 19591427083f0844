// What browser tests share: a browser, a server, and questions to a page.

import { chromium } from "playwright-core";
import { mkdirSync, readFileSync } from "node:fs";
import { spawn, spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { join } from "node:path";

export const program = process.env.BOULEVARD;
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

export const launch = () => chromium.launch({ executablePath: process.env.BROWSER_PROGRAM, args: ["--no-sandbox", "--disable-gpu"] });

/** Runs the program to its end. */
export function boulevard(words, folder) {
  const done = spawnSync(program, words, { cwd: folder, encoding: "utf8" });
  if (done.status !== 0) throw new Error(`boulevard ${words.join(" ")}: ${done.stderr}`);
  return done.stdout;
}

/** Runs the program several times, two at a time. */
export async function together(commands, folder) {
  const waiting = [...commands];
  const worker = async () => {
    for (let words = waiting.shift(); words; words = waiting.shift()) {
      await new Promise((resolve, reject) => {
        const child = spawn(program, words, { cwd: folder });
        let errors = "";
        child.stderr.on("data", (part) => (errors += part));
        child.on("exit", (code) => (code === 0 ? resolve() : reject(new Error(`boulevard ${words.join(" ")}: ${errors}`))));
      });
    }
  };
  await Promise.all([worker(), worker()]);
}

/** Small tables of every kind, the same every time. */
export function tables() {
  let state = 12345;
  const chance = () => (state = (state * 1103515245 + 12345) % 2147483648) / 2147483648;
  const near = (center) => (center + (chance() + chance() + chance() - 1.5)).toFixed(3);
  const table = (head, rows, make) => [head, ...Array.from({ length: rows }, (_, i) => make(i).join(","))].join("\n") + "\n";
  return {
    // A class whose name would end a script, were it not escaped.
    "two.csv": table("width of it,height,depth,kind", 120, (i) => [near(i % 2), near((i % 2) * 0.8), near(0), i % 2 ? "yes </script>" : "no"]),
    "three.csv": table("a,b,kind", 120, (i) => [near(i % 3), near(i % 3 === 1 ? 1.5 : 0), ["first", "second", "third"][i % 3]]),
    "tasks.csv": table("a,b,c,d,site,y", 120, (i) => [near(i % 2), near(0), near((i % 2) * 0.7), near(0), `site ${i % 3}`, i % 2]),
    "labels.csv": table("a,b,p,q,r", 120, (i) => [near(i % 2), near(i % 3), i % 2, Number(i % 3 === 2), Number(i % 12 === 11)]),
    "numbers.csv": table("a,b,y", 100, () => {
      const [a, b] = [near(0), near(1)];
      return [a, b, (2 * a + b * b + 0.3 * near(0)).toFixed(4)];
    }),
  };
}

/** A table that takes a while to learn from. */
export function large(rows) {
  const lines = ["a,b,c,d,kind"];
  for (let i = 0; i < rows; i++) {
    const value = (k) => (((i * (k * 2654435761)) >>> 0) % 1000) / 500 - 1;
    const [a, b, c, d] = [value(1), value(3), value(7), value(13)];
    lines.push([a, b, c, d, a * b + c * d + 0.4 * value(17) > 0 ? 1 : 0].join(","));
  }
  return lines.join("\n") + "\n";
}

/** Servers that were started. */
export const started = [];

/** Starts the server and waits for its address. */
export function explore(words, folder) {
  // A folder for temporary files of its own: what stays behind is seen.
  const TMPDIR = join(folder, "temporary");
  mkdirSync(TMPDIR, { recursive: true });
  const child = spawn(program, ["explore", "--no-open", ...words], { cwd: folder, env: { ...process.env, TMPDIR } });
  started.push(child);
  let text = "";
  let errors = "";
  child.stderr.on("data", (part) => (errors += part));
  const url = new Promise((resolve, reject) => {
    child.stdout.on("data", (part) => {
      text += part;
      const found = /http:\S+/.exec(text);
      if (found) resolve(found[0]);
    });
    child.on("exit", (code) => reject(new Error(`the server ended with ${code}: ${errors}`)));
  });
  const ended = new Promise((resolve) => child.on("exit", (code, signal) => resolve({ code, signal })));
  return { child, url, ended, errors: () => errors };
}

/** A page that remembers what it complained about and whom it asked. */
export async function open(browser, url, { width = 1200, height = 900, scheme = "light" } = {}) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: scheme });
  const page = await context.newPage();
  const complaints = [];
  const asked = [];
  page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("request", (request) => asked.push(request.url()));
  await page.goto(url);
  return { page, complaints, asked, close: () => context.close() };
}

/** Pairs of texts of one drawing that lie over each other, and texts that are cut off at the drawing's edge. */
export const overlaps = (page) =>
  page.evaluate(() => {
    const found = [];
    for (const svg of document.querySelectorAll(".stage svg")) {
      const frame = svg.getBoundingClientRect();
      // The words that hovering shows are not there yet.
      const texts = Array.from(svg.querySelectorAll("text")).filter((text) => text.textContent.trim() && !text.closest('[aria-label="tip"]'));
      const boxes = texts.map((text) => ({ text: text.textContent, box: text.getBoundingClientRect() }));
      const name = svg.closest("[data-id]")?.dataset.id ?? "?";
      boxes.forEach((a, i) => {
        if (a.box.left < frame.left - 2 || a.box.right > frame.right + 2) found.push(`${name}: "${a.text}" is cut off`);
        for (const b of boxes.slice(i + 1)) {
          const wide = Math.min(a.box.right, b.box.right) - Math.max(a.box.left, b.box.left);
          const tall = Math.min(a.box.bottom, b.box.bottom) - Math.max(a.box.top, b.box.top);
          if (wide > 1 && tall > 2.5) found.push(`${name}: "${a.text}" and "${b.text}"`);
        }
      });
    }
    return found;
  });

/** Pixels by which the page is wider than the window. */
export const tooWide = (page) => page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);

/** Tables of the text that scroll sideways; those behind pictures may. */
export const scrolling = (page) =>
  page.evaluate(() => {
    const scrolls = (box) => box.scrollWidth > box.clientWidth + 1 && !box.closest(".behind");
    return Array.from(document.querySelectorAll(".scroll")).filter(scrolls).map((box) => box.innerText.slice(0, 80));
  });

/** What axe finds against a page. */
export async function violations(page) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  return violations.map((one) => `${one.id}: ${one.nodes.slice(0, 3).map((node) => node.html.slice(0, 160)).join(" | ")}`);
}

/** Waits until figures have their new size. */
export const settled = (page) => page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(resolve, 120)))));

/** Waits until a report has drawn everything. */
export async function drawn(page) {
  await page.waitForFunction(() => document.documentElement.dataset.ready === "yes", undefined, { timeout: 60_000 });
  await page.waitForTimeout(150);
}
