// The page: data, method and parameters on the left, pictures in the middle, the chosen model on the right.

import { ask, Refused, send, tell, type Comparison, type Explained, type Fit, type News, type Point, type Saved, type Source, type State } from "./api.ts";
import { PictureFigure } from "./figure.ts";
import { commandOf, flagFields, read, roleFields } from "./form.ts";
import { listenToKeys } from "./keys.ts";
import { RowList } from "./rows.ts";
import { linkThreshold } from "./threshold.ts";
import type { Picture } from "./types.ts";
import { say, seconds, short } from "./words.ts";

function by<T extends HTMLElement = HTMLElement>(id: string): T {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no #${id}`);
  return found as T;
}

let state: State;
let source: Source | null = null;
let fit: Fit | null = null;
let point: number | null = null;
let pinned: number | null = null;
let choosable: PictureFigure[] = [];
let curve: [number, number][] = [];
let liveStart = 0;
const rowList = new RowList(by("rows"), explainRow, attempt);

function complain(error: unknown): void {
  const message = by("message");
  message.hidden = error === null;
  message.textContent = error === null ? "" : error instanceof Refused ? error.message : String(error);
}

/** Runs something that may be refused. */
function attempt(act: () => Promise<void>): void {
  complain(null);
  act().catch(complain);
}

/** The command line; a word is broken only where it is longer than a line. */
function writeCommand(command: string): void {
  by("command").replaceChildren(
    ...command.split(" ").flatMap((word, i) => {
      const whole = document.createElement("span");
      whole.textContent = word;
      return i ? [document.createTextNode(" "), whole] : [whole];
    }),
  );
}

function showFacts(list: HTMLElement, facts: [string, string][]): void {
  list.replaceChildren(
    ...facts.flatMap(([name, value]) => {
      const [term, told] = [document.createElement("dt"), document.createElement("dd")];
      term.textContent = name;
      say(told, value.trim());
      return [term, told];
    }),
  );
}

/** A cell of the confusion matrix shows its rows. */
function onCell(said: string, is: string): void {
  rowList.refine({ is, said, wrong: false });
  by("rows").scrollIntoView({ block: "nearest" });
}

function figures(box: HTMLElement, pictures: Picture[], options: { onPick?: (key: number) => void; key?: number | undefined } = {}): PictureFigure[] {
  const made = pictures.map((picture) => {
    const pick = picture.select === undefined ? undefined : options.onPick;
    return new PictureFigure(picture, { ...(pick ? { onPick: pick } : {}), key: pick ? options.key : undefined, onRow: explainRow, onCell });
  });
  box.replaceChildren(...made.map((figure) => figure.node));
  return made;
}

// ---- data

function showSource(next: Source | null): void {
  source = next;
  by("source").textContent = next ? `${next.name}: ${next.words}` : "no data yet: drop a file or take a built-in set";
  by<HTMLButtonElement>("train").disabled = !next;
  roleFields(by("columns"), next);
  if (next) by<HTMLSelectElement>("method").value = next.method;
  showMethod();
}

function takeFile(file: File | undefined): void {
  if (!file) return;
  attempt(async () => {
    if (file.size > state.mostUpload) throw new Refused(`${file.name} has ${Math.round(file.size / 2 ** 20)} MB, and this page takes ${Math.round(state.mostUpload / 2 ** 20)} (--max-upload); start boulevard explore with the file instead`);
    by("status").textContent = `reading ${file.name}`;
    try {
      showSource(await send<Source>(`/api/upload?name=${encodeURIComponent(file.name)}`, file));
    } finally {
      by("status").textContent = "";
    }
  });
}

// ---- method and command

function showMethod(): void {
  const method = state.methods.find((one) => one.name === by<HTMLSelectElement>("method").value) ?? state.methods[0]!;
  by("method-help").textContent = method.help;
  flagFields(method, by("main-flags"), by("other-flags"), source);
  showCommand();
}

function showCommand(): void {
  writeCommand(source ? commandOf(read(by("form"), by<HTMLSelectElement>("method").value), source.name) : "boulevard explore");
}

// ---- training

function hear(news: News): void {
  const running = news.state === "running";
  by<HTMLButtonElement>("train").disabled = running || !source;
  by("stop").hidden = !running;
  if (running) {
    const of = news.total ? ` ${news.done} of ${news.total}` : news.done ? ` step ${news.done}` : "";
    const left = news.total && news.done && news.seconds && news.done > 1 ? `, about ${seconds((news.seconds / news.done) * (news.total - news.done))} left` : "";
    by("status").textContent = `${news.stage}${of}, ${seconds(news.seconds ?? 0)}${left}`;
    showLive(news);
    return;
  }
  by("live").hidden = true;
  curve = [];
  if (news.state === "failed") {
    by("status").textContent = "";
    complain(new Refused(news.error ?? "the training failed"));
  } else if (news.state === "done" && news.fit !== undefined) {
    by("status").textContent = `${news.stopped ? "stopped after" : "done in"} ${seconds(news.seconds ?? 0)}`;
    if (fit?.id !== news.fit) attempt(() => showFit(news.fit!));
  }
}

/** The solver's violation as it falls, for fits that take long enough to watch. */
function showLive(news: News): void {
  if (!news.violation || !news.seconds) return;
  curve.push([news.seconds, news.violation]);
  if (curve.length < 3 || performance.now() - liveStart < 400) return;
  liveStart = performance.now();
  const layers: Picture["layers"] = [{ mark: "line", name: "violation", role: "training", columns: { x: curve.map((one) => one[0]), y: curve.map((one) => one[1]) } }];
  if (news.tolerance) layers.push({ mark: "rule", name: "goal", role: "chosen", columns: { y: [news.tolerance] } });
  const picture: Picture = { id: "convergence", title: "Training now", sentence: `The violation of the optimality conditions is ${short(news.violation, 2)}${news.tolerance ? `; it has to come down to ${short(news.tolerance, 2)}` : ""}.`, x: { label: "time", unit: "s", scale: "linear" }, y: { label: "violation", scale: "log" }, layers };
  by("live").hidden = false;
  by("live").replaceChildren(new PictureFigure(picture).node);
}

// ---- a model

async function showFit(id: number): Promise<void> {
  fit = await ask<Fit>(`/api/fits/${id}`);
  point = null;
  pinned = null;
  const shown = fit;
  say(by("sentence"), shown.sentence);
  by("chosen").hidden = false;
  by("chosen-title").textContent = `${shown.title}: as it was trained`;
  showFacts(by("all-facts"), shown.facts);
  showFacts(by("facts"), shown.facts.slice(0, 6));
  by("point-pictures").replaceChildren();
  by("comparison").replaceChildren();
  by("saved").textContent = "";
  by("python").hidden = true;
  by("row").hidden = true;
  // Without the table it learnt from a model has no report, and no rows to explain.
  by("why").hidden = by("report").hidden = shown.rows === null;
  by("comparing").hidden = shown.points < 2;
  by<HTMLAnchorElement>("report").href = `/api/fits/${id}/report`;
  writeCommand(shown.command);
  if (shown.notes.length) complain(new Refused(shown.notes.join(" ")));
  choosable = figures(by("own"), shown.own, { onPick: (key) => pick(key), key: shown.picked ?? undefined }).filter((figure) => figure.picture.select === "pick");
  figures(by("map"), shown.general.slice(0, 1));
  linkThreshold(figures(by("good"), [...shown.good, ...(shown.hardest ? [shown.hardest] : [])]), by("good"));
  figures(by("general"), shown.general.slice(1));
  remember();
  if (shown.points > 0 && shown.picked !== null) await showPoint(shown.picked, false);
  else await rowList.show(id, null);
}

/** A key was chosen in a picture: a point of the front, or a value of a flag. */
function pick(key: number): void {
  if (fit && fit.points > 0) {
    attempt(() => showPoint(key, true));
    return;
  }
  const flag = fit?.own.find((picture) => picture.select !== undefined)?.select;
  const input = flag ? by("form").querySelector<HTMLInputElement>(`[data-flag="${flag}"]`) : null;
  if (!input) return;
  input.value = String(key);
  input.closest("details")?.setAttribute("open", "");
  input.focus();
  showCommand();
  by("status").textContent = `--${flag} ${key} is set: train again to have it`;
}

async function showPoint(place: number, asked: boolean): Promise<void> {
  if (!fit) return;
  const found = await ask<Point>(`/api/fits/${fit.id}/points/${place}`);
  point = asked ? place : null;
  for (const figure of choosable) figure.choose(place);
  by("chosen-title").textContent = asked ? `point ${place} of the front, as it stands on it` : `${fit.title}: point ${place} was picked`;
  showFacts(by("facts"), found.facts);
  figures(by("point-pictures"), found.pictures.filter((picture) => picture.id === "confusion"));
  const maps = found.pictures.filter((picture) => picture.id === "map");
  if (maps.length) figures(by("map"), maps);
  if (asked) writeCommand(found.command);
  if (pinned !== null && pinned !== place) await showComparison(pinned, place);
  remember();
  await rowList.show(fit.id, asked ? place : null);
}

async function showComparison(a: number, b: number): Promise<void> {
  if (!fit) return;
  const found = await ask<Comparison>(`/api/fits/${fit.id}/compare?a=${a}&b=${b}`);
  const box = by("comparison");
  const words = document.createElement("p");
  const which = found.heldOut ? "held-out rows" : "training rows";
  words.textContent = `Point ${a}: ${short(100 * found.errors[0], 3)} % wrong, point ${b}: ${short(100 * found.errors[1], 3)} % wrong on ${found.of} ${which}. They differ on ${found.differ}. ${found.sentence}`;
  box.replaceChildren(words);
  if (found.rows.length) {
    const details = document.createElement("details");
    const summary = document.createElement("summary");
    summary.textContent = "rows on which they differ";
    const list = document.createElement("ul");
    for (const one of found.rows) {
      const item = document.createElement("li");
      const button = Object.assign(document.createElement("button"), { type: "button", textContent: `row ${one.row}` });
      button.addEventListener("click", () => explainRow(one.row));
      item.textContent = `: is ${one.is}, point ${a} says ${one.a}, point ${b} says ${one.b}`;
      item.prepend(button);
      list.append(item);
    }
    details.append(summary, list);
    box.append(details);
  }
}

function explainRow(row: number): void {
  const shown = fit;
  if (!shown) return;
  attempt(async () => {
    const told = await ask<Explained>(`/api/fits/${shown.id}/rows/${row}${point === null ? "" : `?point=${point}`}`);
    const box = by("row");
    const heading = document.createElement("h2");
    heading.textContent = `Row ${told.row}: said ${told.said}${told.truth ? `, is ${told.truth}` : ""}`;
    const values = document.createElement("p");
    values.className = "soft";
    values.textContent = told.values.map(([name, value]) => `${name} ${value}`).join(", ");
    const cards = document.createElement("div");
    cards.className = "cards";
    const list = document.createElement("ul");
    for (const change of told.changes) {
      const item = document.createElement("li");
      item.textContent = change;
      list.append(item);
    }
    box.replaceChildren(heading, values, list, cards);
    box.hidden = false;
    figures(cards, told.pictures);
    by<HTMLInputElement>("row-number").value = String(row);
    box.scrollIntoView({ block: "nearest" });
  });
}

/** What is looked at stays in the address, so that a reload keeps it. */
function remember(): void {
  const parts = fit ? [`fit=${fit.id}`, ...(point === null ? [] : [`point=${point}`])] : [];
  history.replaceState(null, "", parts.length ? `#${parts.join("&")}` : location.pathname);
}

async function start(): Promise<void> {
  state = await ask<State>("/api/state");
  const methods = by<HTMLSelectElement>("method");
  for (const method of state.methods) methods.add(new Option(method.name, method.name));
  const sets = by<HTMLSelectElement>("builtin");
  sets.add(new Option("choose", ""));
  for (const one of state.builtIn) sets.add(new Option(`${one.name}: ${one.words}`, one.name));
  showSource(state.source);
  const news = new EventSource("/api/events");
  news.onmessage = (event) => hear(JSON.parse(event.data as string) as News);
  news.onerror = () => (by("status").textContent = "the server does not answer");
  news.onopen = () => (by("status").textContent = "");
  const asked = new URLSearchParams(location.hash.slice(1));
  const last = asked.has("fit") ? Number(asked.get("fit")) : (state.fits.at(-1)?.id ?? null);
  if (last !== null && state.fits.some((one) => one.id === last)) {
    await showFit(last);
    if (asked.has("point")) await showPoint(Number(asked.get("point")), true);
  }
}

function listen(): void {
  by("form").addEventListener("submit", (event) => event.preventDefault());
  by("form").addEventListener("input", showCommand);
  by("method").addEventListener("change", showMethod);
  by<HTMLInputElement>("file").addEventListener("change", (event) => takeFile((event.target as HTMLInputElement).files?.[0]));
  by<HTMLSelectElement>("builtin").addEventListener("change", (event) => {
    const name = (event.target as HTMLSelectElement).value;
    if (name) attempt(async () => showSource(await tell<Source>("/api/source", { built_in: name })));
  });
  // The whole page takes files, not only the frame.
  addEventListener("dragover", (event) => {
    event.preventDefault();
    by("drop").classList.add("over");
  });
  addEventListener("dragleave", () => by("drop").classList.remove("over"));
  addEventListener("drop", (event) => {
    event.preventDefault();
    by("drop").classList.remove("over");
    takeFile(event.dataTransfer?.files[0]);
  });
  by("train").addEventListener("click", () => attempt(async () => {
    const told = await tell<{ command: string }>("/api/train", read(by("form"), by<HTMLSelectElement>("method").value));
    writeCommand(told.command);
  }));
  by("stop").addEventListener("click", () => attempt(async () => void (await tell("/api/stop", {}))));
  by("copy").addEventListener("click", () => attempt(async () => {
    await navigator.clipboard.writeText(by("command").textContent ?? "");
    by("status").textContent = "copied";
  }));
  by("pin").addEventListener("click", () => {
    pinned = point ?? fit?.picked ?? null;
    by("comparison").textContent = pinned === null ? "" : `Point ${pinned} is pinned: choose another one to compare.`;
  });
  by("explain").addEventListener("click", () => explainRow(Number(by<HTMLInputElement>("row-number").value)));
  by("save").addEventListener("click", () => attempt(async () => {
    if (!fit) return;
    by("saved").textContent = "";
    const asked = { name: by<HTMLInputElement>("save-name").value, point, overwrite: by<HTMLInputElement>("overwrite").checked };
    const told = await tell<Saved>(`/api/fits/${fit.id}/save`, asked);
    by("saved").textContent = `Saved to ${told.path}. Use it: ${told.predict}`;
    writeCommand(told.command);
    by("python").textContent = told.python;
    by("python").hidden = false;
  }));
  listenToKeys(by<HTMLDialogElement>("help"), by("keys"));
}

listen();
attempt(start);
