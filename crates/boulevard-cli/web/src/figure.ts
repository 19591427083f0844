// A picture in its frame: heading, sentence, legend, the drawing, tools (zoom, data, table), keyboard and choice.

import { barList, isBarList } from "./bars.ts";
import { csvOf, tableOf } from "./csv.ts";
import { draw, ends, spotsOf, type Spot } from "./draw.ts";
import { color, dash, dashAmong, symbol } from "./palette.ts";
import type { Picture, Row } from "./types.ts";
import { axisLabel, say, short } from "./words.ts";

export interface FigureOptions {
  /** Called with the key of a chosen point. */
  onPick?: (key: number) => void;
  /** Called with the number of a row (from 1) that was clicked. */
  onRow?: (row: number) => void;
  /** Called with the names of a cell that was clicked. */
  onCell?: (x: string, y: string) => void;
  key?: number | undefined;
  /** Whether heading and sentence are there already. */
  bare?: boolean;
}

interface Frame {
  marginLeft: number;
  marginRight: number;
  marginTop: number;
  marginBottom: number;
  wide: number;
  height: number;
  xDomain?: [number, number];
  yDomain?: [number, number];
}

interface Place {
  x: number;
  y: number;
}

/** A mark on a curve: where it is, where it can be, and who is told when it is moved. */
export interface Mark {
  row: Row;
  rows: Row[];
  onMove: (row: Row) => void;
}

const MOST_TABLE_ROWS = 500;

function element<K extends keyof HTMLElementTagNameMap>(tag: K, className = "", text = ""): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text) made.textContent = text;
  return made;
}

/** A swatch per named layer: line style or symbol and color. */
function legend(picture: Picture): HTMLElement | null {
  const named = picture.layers.filter((layer) => layer.name && layer.mark !== "ground" && layer.mark !== "cells");
  if (named.length < 2) return null;
  const list = element("ul", "legend");
  for (const layer of named) {
    const item = element("li");
    const swatch = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    swatch.setAttribute("width", "26");
    swatch.setAttribute("height", "12");
    swatch.setAttribute("aria-hidden", "true");
    const shape = (name: string, attributes: Record<string, string>) => {
      const made = document.createElementNS("http://www.w3.org/2000/svg", name);
      for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
      swatch.append(made);
    };
    const hue = color(layer.role);
    if (layer.mark === "area") shape("rect", { x: "1", y: "1", width: "24", height: "10", fill: hue, "fill-opacity": "0.25" });
    else if (layer.mark === "bars") shape("rect", { x: "1", y: "2", width: "24", height: "8", fill: hue, "fill-opacity": picture.layers.some((other) => other.mark === "points") ? "0.45" : "1" });
    else if (layer.mark === "rug") for (const x of ["7", "11", "13", "18"]) shape("line", { x1: x, x2: x, y1: "1", y2: "11", stroke: hue });
    else if (layer.mark === "points") {
      const paths: Record<string, string> = { circle: "M9 6a4 4 0 1 0 8 0a4 4 0 1 0-8 0", triangle: "M13 1l5 9h-10z", square: "M9 2h8v8h-8z", diamond: "M13 0l5 6l-5 6l-5-6z", star: "M13 0l1.8 4 4.2.4-3.200 2.800 1 4.200-3.800-2.200-3.800 2.200 1-4.200-3.200-2.800 4.200-.4z", cross: "M11 1h4v3h3v4h-3v3h-4v-3h-3v-4h3z", wye: "M13 6l5-4M13 6l-5-4M13 6v6", times: "M9 2l8 8M17 2l-8 8" };
      const name = symbol(layer.role);
      shape("path", { d: paths[name]!, fill: name === "wye" || name === "times" ? "none" : hue, stroke: hue });
    } else shape("line", { x1: "1", x2: "25", y1: "6", y2: "6", stroke: hue, "stroke-width": "2.4", "stroke-dasharray": (layer.mark === "rule" ? dash(layer.role) : dashAmong(picture.layers, layer.role)) ?? "none" });
    item.append(swatch, element("span", "", layer.name));
    list.append(item);
  }
  return list;
}

function table(picture: Picture): HTMLElement {
  const { names, rows } = tableOf(picture);
  const made = element("table");
  const head = made.createTHead().insertRow();
  for (const name of names) {
    const cell = element("th", "", name);
    cell.scope = "col";
    head.append(cell);
  }
  const body = made.createTBody();
  for (const row of rows.slice(0, MOST_TABLE_ROWS)) {
    const line = body.insertRow();
    for (const value of row) {
      const cell = line.insertCell();
      cell.textContent = short(value, 6);
      if (typeof value === "number") cell.className = "n";
    }
  }
  const box = element("div", "scroll");
  box.tabIndex = 0;
  box.setAttribute("role", "group");
  box.setAttribute("aria-label", `Data of ${picture.title}`);
  box.append(made);
  if (rows.length > MOST_TABLE_ROWS) box.append(element("p", "soft", `The first ${MOST_TABLE_ROWS} of ${rows.length} rows; all are in the CSV file.`));
  return box;
}

export function download(name: string, text: string, type = "text/csv"): void {
  const link = element("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/** A figure that draws itself anew when its width or the colors change. */
export class PictureFigure {
  readonly node: HTMLElement;
  private readonly stage: HTMLDivElement;
  private readonly status: HTMLElement;
  private view: { x?: [number, number]; y?: [number, number] } = {};
  private width = 0;
  private hovered: Spot | null = null;
  private readonly keys: number[];
  private readonly reset: HTMLButtonElement;

  constructor(
    public picture: Picture,
    private readonly options: FigureOptions = {},
    host?: HTMLElement,
  ) {
    this.node = host ?? element("figure", "picture");
    this.node.dataset["id"] = picture.id;
    if (!options.bare) {
      const sentence = element("p", "sentence");
      say(sentence, picture.sentence);
      this.node.append(element("h3", "", picture.title), sentence);
    }
    const swatches = legend(picture);
    if (swatches) this.node.append(swatches);
    this.stage = element("div", "stage");
    this.status = element("span", "status");
    this.status.setAttribute("aria-live", "polite");
    this.keys = [...new Set(spotsOf(picture).flatMap((spot) => (spot.key === null ? [] : [spot.key])))].sort((a, b) => a - b);
    this.node.append(this.stage);
    const tools = element("div", "tools");
    const button = (text: string, label: string, act: () => void) => {
      const made = element("button", "", text);
      made.type = "button";
      made.setAttribute("aria-label", `${label}: ${picture.title}`);
      made.title = label;
      made.addEventListener("click", act);
      tools.append(made);
      return made;
    };
    const list = isBarList(picture);
    const zooms = !list && picture.x.scale !== "ordinal" && picture.y.scale !== "ordinal";
    if (zooms) {
      button("+", "Zoom in", () => this.zoom(0.5));
      button("−", "Zoom out", () => this.zoom(2));
    }
    this.reset = button("whole", "Show the whole picture", () => this.show({}));
    this.reset.hidden = true;
    button("data", "Download the data as CSV", () => download(`${picture.id}.csv`, csvOf(picture)));
    const details = element("details", "behind");
    details.append(element("summary", "", "table"));
    details.addEventListener("toggle", () => {
      if (details.open && details.childElementCount === 1) details.append(table(picture));
    });
    tools.append(this.status);
    this.node.append(tools, details);
    if (list) {
      this.stage.append(barList(picture));
      return;
    }
    this.makeReachable();
    this.makeDraggable(zooms);
    this.stage.addEventListener("click", (event) => this.clicked(event));
    new ResizeObserver(() => this.redraw()).observe(this.stage);
    // A figure that left the page is forgotten with the next change of colors.
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    const colors = () => (this.node.isConnected ? this.redraw(true) : scheme.removeEventListener("change", colors));
    scheme.addEventListener("change", colors);
  }

  /** Marks another key as chosen. */
  choose(key: number | undefined): void {
    this.options.key = key;
    if (key !== undefined && this.picture.select) this.stage.setAttribute("aria-valuenow", String(key));
    this.redraw(true);
  }

  private get drawing(): (SVGSVGElement & { frame?: Frame; value?: Spot | null }) | null {
    return this.stage.querySelector("svg");
  }

  private redraw(force = false): void {
    const width = Math.floor(this.stage.clientWidth);
    if (width < 40 || (!force && width === this.width)) return;
    this.width = width;
    const svg = draw(this.picture, { width, key: this.options.key, mark: this.mark?.row, themed: this.node, ...this.view });
    svg.addEventListener("input", () => (this.hovered = (svg as unknown as { value: Spot | null }).value));
    this.stage.replaceChildren(svg);
  }

  private show(view: { x?: [number, number]; y?: [number, number] }): void {
    this.view = view;
    this.reset.hidden = view.x === undefined && view.y === undefined;
    this.redraw(true);
  }

  /** Zooms around the middle; a factor below one comes nearer. */
  private zoom(factor: number): void {
    const part = (which: "x" | "y"): [number, number] => {
      const [low, high] = this.view[which] ?? ends(this.picture, which);
      const log = this.picture[which].scale === "log";
      const [a, b] = log ? [Math.log(low), Math.log(high)] : [low, high];
      const [middle, half] = [(a + b) / 2, ((b - a) / 2) * factor];
      const found: [number, number] = [middle - half, middle + half];
      return log ? [Math.exp(found[0]), Math.exp(found[1])] : found;
    };
    this.show({ x: part("x"), y: part("y") });
  }

  /** Dragging over the drawing zooms to what was marked; dragging the mark on a curve moves it. */
  private makeDraggable(zooms: boolean): void {
    const box = element("div", "marked");
    const at = (event: PointerEvent) => {
      const frame = this.stage.getBoundingClientRect();
      return { x: event.clientX - frame.left, y: event.clientY - frame.top };
    };
    // On the way down: the drawing keeps presses for itself where it shows a tip.
    this.stage.addEventListener("pointerdown", (down) => {
      const [start, frame] = [at(down), this.drawing?.frame];
      const mark = frame && this.markPlace(frame);
      const moves = mark !== undefined && Math.hypot(mark.x - start.x, mark.y - start.y) < 16;
      if (down.button !== 0 || !frame || !(moves || (zooms && down.pointerType === "mouse"))) return;
      if (moves) down.preventDefault();
      const move = (event: PointerEvent) => {
        const to = at(event);
        if (moves) {
          this.dragged = true;
          this.moveMark(frame, to);
          return;
        }
        if (Math.abs(to.x - start.x) < 6 && Math.abs(to.y - start.y) < 6) return;
        Object.assign(box.style, { left: `${Math.min(start.x, to.x)}px`, top: `${Math.min(start.y, to.y)}px`, width: `${Math.abs(to.x - start.x)}px`, height: `${Math.abs(to.y - start.y)}px` });
        if (!box.isConnected) this.stage.append(box);
      };
      const listening = new AbortController();
      const listen = { capture: true, signal: listening.signal };
      window.addEventListener("pointermove", move, listen);
      window.addEventListener("pointercancel", () => (listening.abort(), box.remove()), listen);
      window.addEventListener("pointerup", (event) => {
        listening.abort();
        const marked = box.isConnected;
        box.remove();
        setTimeout(() => (this.dragged = false), 0);
        if (!marked) return;
        this.dragged = true;
        this.zoomTo(frame, start, at(event));
      }, listen);
    }, { capture: true });
    if (zooms) this.stage.addEventListener("dblclick", () => this.show({}));
  }
  private dragged = false;

  /** Zooms to what lies between two places of the drawing. */
  private zoomTo(frame: Frame, start: Place, to: Place): void {
    if (!frame.xDomain || !frame.yDomain) return;
    const value = (share: number, [low, high]: [number, number], log: boolean) => (log ? low * (high / low) ** share : low + share * (high - low));
    const [wide, tall] = [frame.wide - frame.marginLeft - frame.marginRight, frame.height - frame.marginTop - frame.marginBottom];
    const across = [start.x, to.x].sort((a, b) => a - b).map((x) => Math.min(1, Math.max(0, (x - frame.marginLeft) / wide)));
    const up = [start.y, to.y].sort((a, b) => b - a).map((y) => Math.min(1, Math.max(0, 1 - (y - frame.marginTop) / tall)));
    if (across[1]! - across[0]! < 0.02 || up[1]! - up[0]! < 0.02) return;
    const [xLog, yLog] = [this.picture.x.scale === "log", this.picture.y.scale === "log"];
    this.show({ x: [value(across[0]!, frame.xDomain, xLog), value(across[1]!, frame.xDomain, xLog)], y: [value(up[0]!, frame.yDomain, yLog), value(up[1]!, frame.yDomain, yLog)] });
  }

  /** Where a row of the picture lies in the drawing; marks are on linear axes only. */
  private placeOf(frame: Frame, row: Row): Place | undefined {
    if (!frame.xDomain || !frame.yDomain || typeof row["x"] !== "number" || typeof row["y"] !== "number") return undefined;
    const share = (value: number, [low, high]: [number, number]) => (value - low) / (high - low);
    return {
      x: frame.marginLeft + share(row["x"], frame.xDomain) * (frame.wide - frame.marginLeft - frame.marginRight),
      y: frame.height - frame.marginBottom - share(row["y"], frame.yDomain) * (frame.height - frame.marginTop - frame.marginBottom),
    };
  }

  private markPlace(frame: Frame): Place | undefined {
    return this.mark ? this.placeOf(frame, this.mark.row) : undefined;
  }

  private moveMark(frame: Frame, to: Place): void {
    let [best, least] = [null as Row | null, Infinity];
    for (const row of this.mark?.rows ?? []) {
      const place = this.placeOf(frame, row);
      const far = place ? Math.hypot(place.x - to.x, place.y - to.y) : Infinity;
      if (far < least) [best, least] = [row, far];
    }
    if (best && best !== this.mark?.row) this.mark?.onMove(best);
  }

  /** Puts a mark that can be dragged onto one of the rows of a curve. */
  setMark(mark: Mark): void {
    this.mark = mark;
    this.redraw(true);
  }
  private mark: Mark | null = null;

  /** Draws other data in the same frame. */
  change(picture: Picture): void {
    this.picture = picture;
    const sentence = this.node.querySelector(".sentence");
    if (sentence) say(sentence as HTMLElement, picture.sentence);
    this.redraw(true);
  }

  private clicked(_event: MouseEvent): void {
    const spot = this.hovered;
    if (this.dragged || !spot) return;
    if (spot.cell && this.options.onCell) this.options.onCell(String(spot.x), String(spot.y));
    if (spot.key !== null && this.options.onPick) this.options.onPick(spot.key);
    else if (spot.row !== null && this.options.onRow) this.options.onRow(spot.row);
  }

  /** A name for screen readers; where something can be chosen, the keys of a slider. */
  private makeReachable(): void {
    const { picture, stage } = this;
    const words = `${picture.title}. ${axisLabel(picture.y.label, picture.y.unit)} over ${axisLabel(picture.x.label, picture.x.unit)}.`;
    stage.setAttribute("aria-label", words);
    if (!this.options.onPick || this.keys.length < 2) {
      stage.setAttribute("role", "img");
      stage.setAttribute("aria-label", `${words} ${picture.sentence}`);
      return;
    }
    const tell = (key: number) => {
      const spot = spotsOf(picture).find((one) => one.key === key);
      const text = spot ? spot.title.replaceAll("\n", ", ") : `point ${key}`;
      stage.setAttribute("aria-valuetext", text);
      this.status.textContent = text;
    };
    stage.tabIndex = 0;
    stage.setAttribute("role", "slider");
    stage.setAttribute("aria-valuemin", String(this.keys[0]));
    stage.setAttribute("aria-valuemax", String(this.keys[this.keys.length - 1]));
    stage.setAttribute("aria-valuenow", String(this.options.key ?? this.keys[0]));
    let focused: number | undefined;
    stage.addEventListener("keydown", (event) => {
      const now = this.keys.indexOf(focused ?? this.options.key ?? this.keys[0]!);
      const steps: Record<string, number> = { ArrowRight: now + 1, ArrowUp: now + 1, ArrowLeft: now - 1, ArrowDown: now - 1, Home: 0, End: this.keys.length - 1, PageUp: now + 10, PageDown: now - 10 };
      if (event.key === "Enter" || event.key === " ") {
        if (focused !== undefined) this.options.onPick?.(focused);
        event.preventDefault();
      } else if (event.key in steps) {
        const place = Math.min(this.keys.length - 1, Math.max(0, steps[event.key]!));
        focused = this.keys[place]!;
        stage.setAttribute("aria-valuenow", String(focused));
        tell(focused);
        const before = this.options.key;
        this.options.key = focused;
        this.redraw(true);
        this.options.key = before;
        event.preventDefault();
      }
    });
  }
}
