// The page of `boulevard explore` in a real browser: from a click to a saved model, and everything that must be refused. Run by scripts/test-web.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, readdirSync, writeFileSync } from "node:fs";
import { request as plainRequest } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { boulevard, explore, large, launch, open, overlaps, started, tooWide, violations } from "./kit.mjs";

let browser;
let folder;
before(async () => {
  browser = await launch();
  folder = mkdtempSync(join(tmpdir(), "boulevard-browser-"));
});
after(async () => {
  // A test that failed may have left its server behind.
  for (const child of started) child.kill("SIGKILL");
  await browser.close();
  rmSync(folder, { recursive: true });
});

test("train on the page, choose on the front, save, and predict with it", async () => {
  const server = explore(["--folder", folder], folder);
  const { page, complaints, close } = await open(browser, await server.url);
  assert.ok(!page.url().includes("token"), "the token does not stay in the address");
  await page.selectOption("#builtin", "banana");
  await page.waitForSelector("#train:not([disabled])");
  assert.equal(await page.inputValue("#method"), "pareto");
  await page.fill("#flag-gamma", "1");
  assert.match(await page.textContent("#command"), /^boulevard train banana.csv --method pareto .*--gamma=1$/);
  await page.click("#train");
  await page.waitForSelector('#own figure[data-id="front"] svg', { timeout: 60_000 });
  await page.waitForSelector('#map figure[data-id="map"] svg');
  const facts = () => page.textContent("#facts");
  const start = await facts();
  const stage = page.locator('#own figure[data-id="front"] .stage');
  const dot = page.locator('#own figure[data-id="front"] .stage g[aria-label="dot"] path, #own figure[data-id="front"] .stage g[aria-label="dot"] circle').nth(12);
  const place = await dot.boundingBox();
  await page.mouse.move(place.x + place.width / 2, place.y + place.height / 2);
  await page.mouse.click(place.x + place.width / 2, place.y + place.height / 2);
  await page.waitForFunction((start) => document.getElementById("facts").textContent !== start, start);
  const chosen = await facts();
  assert.match(chosen, /equivalent C/);
  assert.match(chosen, /support vectors/);
  assert.match(await page.textContent("#command"), /--pick=\d+ --no-refit$/);
  assert.ok(await page.locator('#point-pictures figure[data-id="confusion"] svg').count());
  // The same by keyboard, against a pinned point.
  await page.click("#pin");
  await stage.focus();
  for (let i = 0; i < 25; i++) await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Enter");
  await page.waitForFunction((chosen) => document.getElementById("facts").textContent !== chosen, chosen);
  await page.waitForFunction(() => /They differ on/.test(document.getElementById("comparison").textContent));
  await page.click("#explain");
  await page.waitForSelector('#row figure[data-id="pulls"]');
  // Rows by cell of the confusion matrix, and why one of them is decided so.
  await page.waitForSelector("#rows tbody tr");
  const all = await page.textContent("#rows [role=status]");
  await page.check("#rows input[type=checkbox]");
  await page.waitForFunction((all) => document.querySelector("#rows [role=status]").textContent !== all, all);
  assert.equal(await page.locator("#rows tbody tr:not(.wrong)").count(), 0);
  const first = await page.locator("#rows tbody button").first().textContent();
  await page.locator("#rows tbody button").first().click();
  await page.waitForFunction((first) => document.querySelector("#row h2").textContent.startsWith(`Row ${first}:`), first);
  const last = page.locator('#point-pictures figure[data-id="confusion"] svg rect').last();
  await last.scrollIntoViewIfNeeded();
  const cell = await last.boundingBox();
  await page.mouse.move(cell.x + cell.width / 2, cell.y + cell.height / 2);
  await page.mouse.click(cell.x + cell.width / 2, cell.y + cell.height / 2);
  await page.waitForFunction(() => document.querySelectorAll("#rows select")[0].value !== "" && document.querySelector("#rows tbody tr.wrong") === null);
  // Keys.
  await page.locator("#center").focus();
  await page.keyboard.press("?");
  await page.waitForSelector("#help[open]");
  assert.deepEqual(await violations(page), []);
  await page.keyboard.press("Escape");
  await page.fill("#save-name", "../outside.model");
  await page.click("#save");
  await page.waitForFunction(() => /not the name of a file/.test(document.getElementById("message").textContent));
  await page.fill("#save-name", "chosen.model");
  await page.click("#save");
  await page.waitForFunction(() => /^Saved to/.test(document.getElementById("saved").textContent));
  const command = (await page.textContent("#command")).split(" ").slice(1);
  const said = boulevard(["predict", "chosen.model", "banana.csv", "-q"], folder);
  assert.equal(said.trim().split("\n").length, 401);
  // The command that is shown makes the same model.
  boulevard([...command.map((word) => (word === "chosen.model" ? "typed.model" : word)), "-q"], folder);
  assert.equal(boulevard(["predict", "typed.model", "banana.csv", "-q"], folder), said);
  assert.match(await page.textContent("#python"), /boulevard\.load\("chosen\.model"\)/);
  assert.deepEqual(await violations(page), []);
  assert.deepEqual(await overlaps(page), []);
  await page.reload();
  await page.waitForFunction(() => /point \d+ of the front/.test(document.getElementById("chosen-title").textContent));
  await page.setViewportSize({ width: 390, height: 800 });
  await page.waitForTimeout(300);
  assert.ok((await tooWide(page)) <= 0, "no sideways scrolling on a phone");
  assert.deepEqual(await overlaps(page), []);
  assert.deepEqual(complaints.filter((text) => !/422/.test(text)), [], "only the refused name was complained about");
  await close();
  server.child.kill("SIGINT");
  assert.equal((await server.ended).code, 0);
  assert.equal(server.errors(), "");
  // The saved model opens with its front.
  const again = explore(["chosen.model", "--data", "banana.csv"], folder);
  const second = await open(browser, await again.url);
  await second.page.waitForSelector('#own figure[data-id="front"] svg');
  await second.close();
  again.child.kill("SIGTERM");
  assert.equal((await again.ended).code, 0);
  // Without its table there are no rows to ask about.
  const alone = explore(["chosen.model"], folder);
  const third = await open(browser, await alone.url);
  await third.page.waitForSelector('#own figure[data-id="front"] svg');
  assert.ok(!(await third.page.isVisible("#why")) && !(await third.page.isVisible("#rows")) && !(await third.page.isVisible("#report")));
  assert.deepEqual(third.complaints, []);
  await third.close();
  alone.child.kill("SIGINT");
  assert.equal((await alone.ended).code, 0);
});

/** A question outside the browser, with any headers. */
function ask(url, { path = "/", method = "GET", headers = {}, body } = {}) {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const question = plainRequest({ hostname, port, path, method, headers }, (answer) => {
      let text = "";
      answer.on("data", (part) => (text += part));
      answer.on("end", () => resolve({ status: answer.statusCode, headers: answer.headers, text }));
    });
    question.on("error", reject);
    question.end(body);
  });
}

test("strangers, stale tokens, broken and huge files are refused in words", async () => {
  const server = explore(["--max-upload", "1"], folder);
  const url = await server.url;
  const { port, searchParams } = new URL(url);
  const token = searchParams.get("token");
  const host = `127.0.0.1:${port}`;
  assert.equal((await ask(url, { path: `/?token=${"0".repeat(48)}`, headers: { host } })).status, 403);
  assert.match((await ask(url, { path: "/api/state", headers: { host } })).text, /stale/);
  assert.equal((await ask(url, { path: `/?token=${token}`, headers: { host: `evil.example:${port}` } })).status, 421);
  const first = await ask(url, { path: `/?token=${token}`, headers: { host } });
  assert.equal(first.status, 303);
  assert.match(first.headers["set-cookie"][0], /HttpOnly; SameSite=Strict/);
  assert.match(first.headers["content-security-policy"], /default-src 'self'/);
  const cookie = first.headers["set-cookie"][0].split(";")[0];
  const own = { host, cookie, origin: `http://${host}` };
  assert.equal((await ask(url, { path: "/api/state", headers: own })).status, 200);
  assert.equal((await ask(url, { path: "/api/state", headers: { ...own, origin: "http://evil.example" } })).status, 403);
  assert.equal((await ask(url, { path: "/api/stop", method: "POST", headers: { host, cookie } })).status, 403, "changing things needs an origin");
  const upload = (name, body) => ask(url, { path: `/api/upload?name=${name}`, method: "POST", headers: { ...own, "content-length": Buffer.byteLength(body) }, body });
  const huge = await upload("huge.csv", "a,b\n" + "1,2\n".repeat(400_000));
  assert.equal(huge.status, 413);
  assert.match(huge.text, /more than 1 MB/);
  const broken = await upload("broken.csv", "a,b,c\n1,2,x\n1,2\n\0\0,,,\n");
  assert.equal(broken.status, 422);
  assert.match(JSON.parse(broken.text).error, /broken.csv:3: 2 fields/);
  assert.equal((await upload("empty.csv", "")).status, 422);
  assert.equal((await upload("..", "a,b\n1,2\n")).status, 422);
  assert.equal((await ask(url, { path: "/api/fits/99", headers: own })).status, 422);
  assert.equal((await ask(url, { path: "/../etc/passwd", headers: own })).status, 404);
  const train = (value) => ask(url, { path: "/api/train", method: "POST", headers: { ...own, "content-type": "application/json" }, body: JSON.stringify(value) });
  assert.match((await train({ method: "svc" })).text, /no data yet/);
  // A broken file dropped on the page leaves a message there, and the page goes on.
  const { page, close } = await open(browser, url);
  writeFileSync(join(folder, "bad.csv"), "a,b\n1,yes\n2\n");
  await page.setInputFiles("#file", join(folder, "bad.csv"));
  await page.waitForFunction(() => /bad.csv/.test(document.getElementById("message").textContent));
  await page.selectOption("#builtin", "spiral");
  await page.waitForSelector("#train:not([disabled])");
  assert.equal(await page.isHidden("#message"), true);
  await close();
  server.child.kill("SIGINT");
  assert.equal((await server.ended).code, 0);
});

test("the page answers during a long fit, refuses a second one, and survives being closed", async () => {
  writeFileSync(join(folder, "large.csv"), large(20_000));
  const server = explore(["large.csv"], folder);
  const { page, close } = await open(browser, await server.url);
  await page.selectOption("#method", "svc");
  await page.fill("#flag-c", "1000");
  await page.fill("#flag-gamma", "30");
  await page.click("#train");
  await page.waitForSelector("#stop:not([hidden])");
  const start = Date.now();
  const second = await page.evaluate(() => fetch("/api/train", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ method: "svc" }) }).then(async (answer) => ({ status: answer.status, words: (await answer.json()).error })));
  assert.equal(second.status, 409);
  assert.match(second.words, /one training at a time: `boulevard train large.csv --method svc/);
  assert.ok(Date.now() - start < 2000, "the page answers while a fit runs");
  // Neither the server nor the page's own thread waits for the solver.
  const waits = await page.evaluate(async () => {
    const waits = [];
    for (let i = 0; i < 15; i++) {
      const start = performance.now();
      await fetch("/api/state");
      await new Promise((resolve) => requestAnimationFrame(resolve));
      waits.push(performance.now() - start);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    return waits.sort((a, b) => a - b);
  });
  assert.ok(await page.isVisible("#stop"), "the fit still runs");
  assert.ok(waits[7] < 200 && waits[14] < 1500, `answers while a fit runs took ${waits.map(Math.round)} ms`);
  await close();
  // The browser is gone; the server is not, and neither is the training.
  await new Promise((resolve) => setTimeout(resolve, 300));
  assert.equal(server.child.exitCode, null);
  const third = await open(browser, await server.url);
  await third.page.waitForSelector("#stop:not([hidden])");
  await third.page.click("#stop");
  await third.page.waitForFunction(() => /stopped after|done in/.test(document.getElementById("status").textContent), undefined, { timeout: 60_000 });
  await third.page.click("#train");
  await third.page.waitForSelector("#stop:not([hidden])");
  await third.close();
  const began = Date.now();
  server.child.kill("SIGINT");
  assert.equal((await server.ended).code, 0, "Ctrl-C in the middle of a training ends cleanly");
  assert.ok(Date.now() - began < 5000, `ended after ${Date.now() - began} ms`);
  assert.deepEqual(readdirSync(join(folder, "temporary")), [], "no temporary folder stays");
});
