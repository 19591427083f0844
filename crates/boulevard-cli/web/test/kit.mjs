// What browser tests share: a browser, a server, and questions to a page.

import { chromium } from "playwright-core";
import { readFileSync } from "node:fs";
import { spawn, spawnSync } from "node:child_process";
import { createRequire } from "node:module";

export const program = process.env.BOULEVARD;
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

export const launch = () => chromium.launch({ executablePath: process.env.BROWSER_PROGRAM, args: ["--no-sandbox", "--disable-gpu"] });

/** Runs the program to its end. */
export function boulevard(words, folder) {
  const done = spawnSync(program, words, { cwd: folder, encoding: "utf8" });
  if (done.status !== 0) throw new Error(`boulevard ${words.join(" ")}: ${done.stderr}`);
  return done.stdout;
}

/** Starts the server and waits for its address. */
export function explore(words, folder) {
  const child = spawn(program, ["explore", "--no-open", ...words], { cwd: folder });
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

/** What axe finds against a page. */
export async function violations(page) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  return violations.map((one) => `${one.id}: ${one.nodes.slice(0, 3).map((node) => node.html.slice(0, 160)).join(" | ")}`);
}

/** Waits until a report has drawn everything. */
export async function drawn(page) {
  await page.waitForFunction(() => document.documentElement.dataset.ready === "yes", undefined, { timeout: 60_000 });
  await page.waitForTimeout(150);
}
