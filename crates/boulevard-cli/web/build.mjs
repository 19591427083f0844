// Bundles the front end into dist/, which is checked in: `cargo build` needs no Node. `scripts/web` proves that it is what this makes.

import { build } from "esbuild";
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const out = process.argv[2] ?? "dist";
mkdirSync(out, { recursive: true });

const common = { bundle: true, minify: true, format: "iife", target: "es2022", charset: "utf8", legalComments: "none", metafile: true, write: false, logLevel: "warning" };

/** Packages whose code is in a bundle. */
function packagesOf(metafile) {
  const names = new Set();
  for (const [file, facts] of Object.entries(Object.values(metafile.outputs)[0].inputs)) {
    const match = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(file);
    if (match && facts.bytesInOutput > 0) names.add(match[1]);
  }
  return [...names].sort();
}

/** Licenses of packages: one text for all that share it, with everybody's copyright. */
function licensesOf(names) {
  const texts = new Map();
  for (const name of names) {
    const folder = join("node_modules", name);
    const file = readdirSync(folder).find((entry) => /^licen[sc]e/i.test(entry));
    const { version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    const lines = readFileSync(join(folder, file), "utf8").replaceAll("\r", "").split("\n");
    const own = lines.filter((line) => /^copyright (\(c\)|\d|©)/i.test(line.trim())).map((line) => line.trim());
    const rest = lines.filter((line) => !/^copyright (\(c\)|\d|©)/i.test(line.trim())).join("\n").replace(/\n{3,}/g, "\n\n").trim();
    const entry = texts.get(rest) ?? [];
    entry.push(`${name} ${version}: ${own.join("; ")}`);
    texts.set(rest, entry);
  }
  return [...texts].map(([text, who]) => `${who.join("\n")}\n\n${text}`).join("\n\n----\n\n");
}

let all = new Set();
for (const name of ["report", "explore"]) {
  const result = await build({ ...common, entryPoints: [`src/${name}.ts`], outfile: join(out, `${name}.js`) });
  const names = packagesOf(result.metafile);
  names.forEach((one) => all.add(one));
  const head = `/* Contains these packages:\n${licensesOf(names)}\n*/\n`;
  writeFileSync(join(out, `${name}.js`), head + result.outputFiles[0].text);
}
for (const name of ["style", "explore"]) {
  const result = await build({ ...common, entryPoints: [`src/${name}.css`], outfile: join(out, `${name}.css`) });
  writeFileSync(join(out, `${name}.css`), result.outputFiles[0].text);
}
writeFileSync(join(out, "LICENSES.txt"), `The front end contains these packages.\n\n${licensesOf([...all].sort())}\n`);
