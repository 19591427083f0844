// Runs the unit tests: bundled by esbuild, run by Node's own runner.

import { build } from "esbuild";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const out = mkdtempSync(join(tmpdir(), "boulevard-web-"));
const files = readdirSync("test").filter((name) => name.endsWith(".test.ts"));
await build({ entryPoints: files.map((name) => join("test", name)), bundle: true, platform: "node", format: "esm", outdir: out, outExtension: { ".js": ".mjs" }, logLevel: "warning" });
const done = spawnSync(process.execPath, ["--test", ...files.map((name) => join(out, name.replace(/\.ts$/, ".mjs")))], { stdio: "inherit" });
rmSync(out, { recursive: true });
process.exit(done.status ?? 1);
