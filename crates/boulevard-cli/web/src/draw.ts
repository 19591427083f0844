// A picture as SVG, by Observable Plot.

import * as Plot from "@observablehq/plot";
import { groundImage } from "./ground.ts";
import { color, dash, dashAmong, symbol } from "./palette.ts";
import { PLACING, rowsOf, type Axis, type Layer, type Picture, type Row } from "./types.ts";
import { axisLabel, logTick, short, tick } from "./words.ts";

export interface View {
  width: number;
  /** Zoomed ends of both axes. */
  x?: [number, number];
  y?: [number, number];
  /** The chosen key. */
  key?: number | undefined;
  /** The row that carries the mark that can be dragged. */
  mark?: Row | undefined;
  themed: Element;
}

/** A row to hover over, with the words that are told. */
export interface Spot {
  x: number | string;
  y: number | string;
  title: string;
  key: number | null;
  row: number | null;
  cell: boolean;
}

/** What is told about a row. */
export function told(picture: Picture, layer: Layer, row: Row): string {
  const lines = layer.name ? [layer.name] : [];
  const say = (axis: Axis, value: number | string | null | undefined) => {
    if (value !== null && value !== undefined) lines.push(`${axis.label}: ${typeof value === "number" ? tick(value, axis.unit) : value}`);
  };
  say(picture.x, row["x"]);
  say(picture.y, row["y"]);
  if (layer.mark === "cells") lines.push(`${layer.name}: ${short(row["value"])}`);
  for (const [name, value] of Object.entries(row)) if (!PLACING.has(name)) lines.push(`${name}: ${short(value)}`);
  if (row["ring"] === 1) lines.push("support vector");
  if (row["wrong"] === 1) lines.push("on the wrong side");
  return (layer.mark === "cells" ? lines.slice(1) : lines).join("\n");
}

export function spotsOf(picture: Picture): Spot[] {
  const spots: Spot[] = [];
  for (const layer of picture.layers) {
    if (["ground", "area", "rule", "rug"].includes(layer.mark)) continue;
    for (const row of rowsOf(layer)) {
      if (row["x"] === null || row["y"] === null || row["x"] === undefined || row["y"] === undefined) continue;
      spots.push({ x: row["x"]!, y: row["y"]!, title: told(picture, layer, row), key: (row["key"] as number | undefined) ?? null, row: (row["row"] as number | undefined) ?? null, cell: layer.mark === "cells" });
    }
  }
  return spots;
}

let measure: CanvasRenderingContext2D | null | undefined;
function widthOf(text: string): number {
  measure ??= document.createElement("canvas").getContext("2d");
  if (!measure) return 7 * text.length;
  measure.font = "12px system-ui, sans-serif";
  return measure.measureText(text).width;
}

function clipped(text: string, most: number): string {
  if (widthOf(text) <= most) return text;
  let end = text.length;
  while (end > 1 && widthOf(text.slice(0, end) + "…") > most) end--;
  return text.slice(0, end) + "…";
}

/** An axis' name in as many lines as it needs: names are never cut. */
export function linesOf(text: string, most: number, width: (text: string) => number = widthOf): string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const longer = lines.length ? `${lines.at(-1)} ${word}` : word;
    if (lines.length && width(longer) <= most) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
}

/** The ends of an axis over all layers. */
export function ends(picture: Picture, which: "x" | "y"): [number, number] {
  const axis = picture[which];
  if (axis.domain) return axis.domain;
  let [low, high] = [Infinity, -Infinity];
  for (const layer of picture.layers)
    for (const name of [which, `${which}1`, `${which}2`])
      for (const value of layer.columns[name] ?? [])
        if (typeof value === "number" && (axis.scale !== "log" || value > 0)) [low, high] = [Math.min(low, value), Math.max(high, value)];
  if (low > high) return [0, 1];
  const bars = picture.layers.some((layer) => layer.mark === "bars");
  // Shares begin at zero, unless all of them lie so high that nothing could be told apart.
  const high0 = low > 0.7 * high && !bars;
  if (bars || (axis.unit === "%" && axis.scale === "linear" && !high0)) low = Math.min(0, low);
  if (bars) high = Math.max(0, high);
  if (axis.scale === "log") return low === high ? [low / 2, high * 2] : [low / (high / low) ** 0.02, high * (high / low) ** 0.02];
  const pad = low === high ? Math.abs(low) || 1 : 0.03 * (high - low);
  return [low === 0 ? 0 : low - pad, high + pad];
}

/** Ticks of an axis of logarithms: powers of ten, or a few in between where there are hardly any. */
export function logTicks([low, high]: [number, number], most: number): number[] {
  const decades = Math.log10(high / low);
  const all: number[] = [];
  const steps = decades < 1 ? [1, 2, 3, 5, 7] : decades < 2.5 ? [1, 3] : [1];
  const skip = Math.max(1, Math.ceil(decades / Math.max(1, most)));
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++)
    if (power % skip === 0) for (const step of steps) all.push(step * 10 ** power);
  const inside = all.filter((value) => value >= low * 0.9999 && value <= high * 1.0001).map((value) => Number(value.toPrecision(6)));
  return inside.length ? inside : [low, high].map((value) => Number(value.toPrecision(2)));
}

/** Ticks of an axis: of whole numbers (rounds, rules, samples) whole ones only. */
export function ticksOf(picture: Picture, which: "x" | "y", domain: [number, number], most: number): number[] | number {
  if (picture[which].scale === "log") return logTicks(domain, most);
  const whole = picture.layers.every((layer) => [which, `${which}1`, `${which}2`].every((name) => (layer.columns[name] ?? []).every((value) => value === null || Number.isInteger(value))));
  const [low, high] = [Math.ceil(domain[0]), Math.floor(domain[1])];
  return whole && high - low < most ? Array.from({ length: Math.max(0, high - low + 1) }, (_, i) => low + i) : most;
}

function numeric(axis: Axis): boolean {
  return axis.scale !== "ordinal";
}

function marksOf(picture: Picture, layer: Layer, view: View): Plot.Markish[] {
  const rows = rowsOf(layer);
  const stroke = color(layer.role);
  const horizontal = !numeric(picture.y);
  // Everything lies within the ends of the axes, until somebody zooms: then only what is inside is drawn. Clipping always would halve the
  // marks at an edge, for example at 100 %.
  const clip = view.x !== undefined || view.y !== undefined;
  switch (layer.mark) {
    case "line":
    case "step": {
      const curve = layer.mark === "step" ? "step-after" : "linear";
      const line = Plot.line(rows, { x: "x", y: "y", stroke, strokeWidth: layer.role === "baseline" ? 1.3 : 2.2, strokeDasharray: dashAmong(picture.layers, layer.role) ?? null, curve, clip } as Plot.LineOptions);
      const few = rows.length <= 14 && layer.role !== "baseline";
      return few ? [line, Plot.dot(rows, { x: "x", y: "y", fill: stroke, r: 3, clip })] : [line];
    }
    case "area":
      return [Plot.areaY(rows, { x: "x", y1: "y1", y2: "y2", fill: stroke, fillOpacity: 0.18, clip })];
    case "rule": {
      const vertical = layer.columns["x"] !== undefined;
      const options = { stroke, strokeWidth: 1.8, strokeDasharray: dash(layer.role) ?? null, clip };
      return [vertical ? Plot.ruleX(layer.columns["x"] as number[], options as Plot.RuleXOptions) : Plot.ruleY(layer.columns["y"] as number[], options as Plot.RuleYOptions)];
    }
    case "rug":
      return [Plot.ruleX(rows, { x: "x", stroke, strokeOpacity: 0.5, insetTop: 10_000, clip: true, render: rug })];
    case "points": {
      if (horizontal) return [Plot.dot(rows, { x: "x", y: "y", stroke: "var(--card)", strokeWidth: 1, fill: stroke, symbol: symbol(layer.role), r: 5 })];
      const small = rows.length > 300 ? 2.6 : 3.4;
      const special = layer.role === "chosen" || layer.role === "baseline";
      const marks: Plot.Markish[] = [
        Plot.dot(rows, { x: "x", y: "y", fill: stroke, fillOpacity: special ? 1 : 0.85, stroke: (row: Row) => (row["ring"] === 1 ? "var(--ink)" : "none"), strokeWidth: rows.length > 200 ? 0.8 : 1.2, symbol: symbol(layer.role), r: special ? 6 : small, clip }),
      ];
      const wrong = rows.filter((row) => row["wrong"] === 1);
      if (wrong.length) marks.push(Plot.dot(wrong, { x: "x", y: "y", symbol: "times", stroke: "var(--ink)", strokeWidth: 1.3, r: 3.4, clip }));
      const chosen = view.key === undefined ? [] : rows.filter((row) => row["key"] === view.key);
      if (chosen.length) marks.push(Plot.dot(chosen, { x: "x", y: "y", r: 9, stroke: "var(--chosen)", strokeWidth: 3, fill: "none" }));
      return marks;
    }
    case "bars": {
      // Marks on top of bars must be seen.
      const fillOpacity = picture.layers.some((other) => other.mark === "points") ? 0.45 : 1;
      const whiskers = layer.columns["x1"] === undefined ? [] : [Plot.ruleY(rows, { y: "y", x1: "x1", x2: "x2", stroke: "var(--ink)", strokeWidth: 2 }), Plot.tickX(rows, { x: "x1", y: "y", stroke: "var(--ink)", strokeWidth: 2, inset: 8 }), Plot.tickX(rows, { x: "x2", y: "y", stroke: "var(--ink)", strokeWidth: 2, inset: 8 })];
      if (horizontal) return [Plot.barX(rows, { x: "x", y: "y", fill: stroke, fillOpacity: whiskers.length ? 0.6 : fillOpacity, insetTop: 2, insetBottom: 2 }), ...whiskers, Plot.ruleX([0], { stroke: "var(--soft)" })];
      return [Plot.barY(rows, { x: "x", y: "y", fill: stroke, insetLeft: 2, insetRight: 2 }), Plot.ruleY([0], { stroke: "var(--soft)" })];
    }
    case "cells":
      return cellsOf(picture, rows, view);
    case "ground": {
      const [x, y] = [ends(picture, "x"), ends(picture, "y")];
      const image = Plot.image([{}], { x: (x[0] + x[1]) / 2, y: (y[0] + y[1]) / 2, src: () => groundImage(layer, view.themed), preserveAspectRatio: "none", imageRendering: "auto", width: 1, height: 1, clip: true, render: stretched(x, y) } as unknown as Plot.ImageOptions);
      return [image];
    }
  }
}

/** Images have sizes in pixels: this one takes its ends from the scales. */
function stretched(x: [number, number], y: [number, number]) {
  return (index: number[], scales: Plot.ScaleFunctions, values: Plot.ChannelValues, dimensions: Plot.Dimensions, context: Plot.Context, next?: Plot.RenderFunction) => {
    const node = next?.(index, scales, values, dimensions, context) ?? null;
    const image = node?.querySelector("image") ?? (node as Element | null);
    const [left, right, top, bottom] = [scales.x!(x[0]), scales.x!(x[1]), scales.y!(y[1]), scales.y!(y[0])] as number[];
    for (const one of node ? Array.from(node.querySelectorAll("image")).concat(image instanceof SVGImageElement ? [image] : []) : []) {
      one.setAttribute("x", String(left));
      one.setAttribute("y", String(top));
      one.setAttribute("width", String(right! - left!));
      one.setAttribute("height", String(bottom! - top!));
    }
    return node;
  };
}

/** Strokes of a rug: eight pixels above the lower end. */
function rug(index: number[], scales: Plot.ScaleFunctions, values: Plot.ChannelValues, dimensions: Plot.Dimensions, context: Plot.Context, next?: Plot.RenderFunction): SVGElement | null {
  const node = next?.(index, scales, values, dimensions, context) ?? null;
  const low = dimensions.height - dimensions.marginBottom;
  for (const line of node ? Array.from(node.querySelectorAll("line")) : []) {
    line.setAttribute("y1", String(low));
    line.setAttribute("y2", String(low - 9));
  }
  return node;
}

/** Cells with their numbers: a shade by value, both signs apart where there are both. */
function cellsOf(picture: Picture, rows: Row[], view: View): Plot.Markish[] {
  const values = rows.map((row) => Number(row["value"] ?? NaN)).filter((value) => !Number.isNaN(value));
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const signed = low < 0 && high > 0;
  const most = Math.max(Math.abs(low), Math.abs(high)) || 1;
  const part = (row: Row) => {
    const value = Number(row["value"] ?? NaN);
    if (Number.isNaN(value)) return 0;
    if (signed) return Math.abs(value) / most;
    // Shades start at zero, unless all values are far from it.
    const start = low > 0.5 * high ? low : Math.min(low, 0);
    return high > start ? (value - start) / (high - start) : 0.5;
  };
  const hue = (row: Row) => (signed && Number(row["value"]) < 0 ? "var(--class0)" : "var(--class1)");
  const room = (view.width - 90) / Math.max(1, (picture.x.categories ?? []).length);
  const share = (row: Row) => (room > 110 ? ` (${short(row["value"], 3)} %)` : "");
  const text = (row: Row) => (row["rows"] !== undefined ? short(row["rows"]) + share(row) : short(row["value"], room > 46 ? 3 : 2));
  const marks: Plot.Markish[] = [
    Plot.cell(rows, { x: "x", y: "y", fill: "var(--card)", inset: 0.5 }),
    Plot.cell(rows, { x: "x", y: "y", fill: hue, fillOpacity: (row: Row) => 0.06 + 0.62 * part(row), inset: 0.5, stroke: (row: Row) => (row["ring"] === 1 ? "var(--ink)" : "none"), strokeWidth: 2.5 }),
  ];
  if (room > 30) marks.push(Plot.text(rows, { x: "x", y: "y", text, fill: "var(--ink)", fontSize: 12 }));
  return marks;
}

/** Height of a line of an axis' name, in pixels. */
const LINE = 15;

/** Draws a picture. */
export function draw(picture: Picture, view: View): SVGSVGElement {
  const [wide, narrow] = [view.width, view.width < 480];
  const ordinalY = !numeric(picture.y);
  const names = picture.y.categories ?? [];
  const nameRoom = Math.min(0.42 * wide, 190);
  const xDomain = numeric(picture.x) ? (view.x ?? ends(picture, "x")) : undefined;
  const yDomain = numeric(picture.y) ? (view.y ?? ends(picture, "y")) : undefined;
  const marginLeft = ordinalY ? Math.ceil(Math.min(nameRoom, Math.max(20, ...names.map(widthOf))) + 14) : 58;
  const marginRight = 18;
  const inner = wide - marginLeft - marginRight;
  // Names along the horizontal axis stand upright where there is no room for them side by side.
  const across = picture.x.categories ?? [];
  const upright = across.length > 0 && Math.max(...across.map(widthOf)) + 8 > inner / across.length;
  const xNameRoom = upright ? Math.min(110, Math.max(...across.map(widthOf)) + 6) : 0;
  const yName = linesOf(`↑ ${axisLabel(picture.y.label, ordinalY ? undefined : picture.y.unit)}`, wide - 8);
  const xName = linesOf(`${axisLabel(picture.x.label, picture.x.unit)} →`, wide - 8);
  const marginBottom = 46 + xNameRoom + LINE * (xName.length - 1);
  const marginTop = 26 + LINE * (yName.length - 1);
  const cells = picture.layers.some((layer) => layer.mark === "cells");
  // A few cells are large enough to be seen as a table, many are as low as a line of text.
  const row = cells ? Math.max(34, Math.min(62, Math.round(190 / Math.max(1, names.length)))) : 26;
  const height = ordinalY ? marginTop + marginBottom + Math.max(2, names.length) * row : picture.square ? Math.min(inner, 400) + marginTop + marginBottom : Math.round(Math.min(400, Math.max(250, 0.56 * wide)));
  const ticksX = Math.max(2, Math.floor(inner / (picture.x.unit ? 74 : 66)));
  const scale = (axis: Axis, domain: [number, number] | undefined) =>
    domain ? { type: axis.scale as "linear" | "log", domain, label: null } : { type: "band" as const, domain: axis.categories ?? [], label: null, padding: cells ? 0 : 0.12 };
  const format = (axis: Axis) => (value: number | string) => (typeof value === "number" ? (axis.scale === "log" ? logTick : tick)(value, axis.unit) : value);
  const axes: Plot.Markish[] = [
    Plot.axisX({ anchor: "bottom", label: null, color: "var(--soft)", fontSize: 12, tickFormat: upright ? (value: string) => clipped(value, 100) : format(picture.x), ...(upright ? { tickRotate: -90 } : {}), ...(xDomain ? { ticks: ticksOf(picture, "x", xDomain, ticksX) } : {}) } as Plot.AxisXOptions),
    Plot.axisY({ anchor: "left", label: null, color: "var(--soft)", fontSize: 12, tickFormat: ordinalY ? (value: string) => clipped(value, nameRoom) : format(picture.y), ...(yDomain ? { ticks: ticksOf(picture, "y", yDomain, 6) } : {}), ...(ordinalY ? { tickSize: 0 } : {}) } as Plot.AxisYOptions),
  ];
  if (xDomain) axes.unshift(Plot.gridX({ stroke: "var(--line)", strokeOpacity: 1, ticks: ticksOf(picture, "x", xDomain, ticksX) } as Plot.GridXOptions));
  if (yDomain) axes.unshift(Plot.gridY({ stroke: "var(--line)", strokeOpacity: 1, ticks: ticksOf(picture, "y", yDomain, 6) } as Plot.GridYOptions));
  const grounds = picture.layers.filter((layer) => layer.mark === "ground");
  const others = picture.layers.filter((layer) => layer.mark !== "ground");
  const chosenLine = view.key === undefined ? [] : others.flatMap((layer) => (layer.mark === "line" ? rowsOf(layer).filter((r) => r["key"] === view.key) : []));
  const spots = spotsOf(picture);
  const pointer = numeric(picture.x) && numeric(picture.y) ? Plot.pointer : ordinalY ? Plot.pointerY : Plot.pointerX;
  const svg = Plot.plot({
    width: wide,
    height,
    marginLeft,
    marginRight,
    marginTop,
    marginBottom,
    style: { background: "transparent", color: "var(--ink)", fontFamily: "inherit", fontSize: "12px", overflow: "visible" },
    x: scale(picture.x, xDomain),
    y: scale(picture.y, yDomain),
    marks: [
      ...grounds.flatMap((layer) => marksOf(picture, layer, view)),
      ...axes,
      ...others.flatMap((layer) => marksOf(picture, layer, view)),
      ...(chosenLine.length ? [Plot.dot(chosenLine, { x: "x", y: "y", r: 5, fill: "var(--chosen)", stroke: "var(--card)" })] : []),
      ...(view.mark ? [Plot.dot([view.mark], { x: "x", y: "y", r: 9, fill: "var(--chosen)", fillOpacity: 0.25, stroke: "var(--chosen)", strokeWidth: 2.5, className: "grip" } as Plot.DotOptions)] : []),
      Plot.text([yName.join("\n")], { frameAnchor: "top-left", dx: -marginLeft + 2, dy: -marginTop + 4, textAnchor: "start", lineAnchor: "top", lineHeight: LINE / 12, fill: "var(--soft)", fontSize: 12, text: (name: string) => name } as Plot.TextOptions),
      Plot.text([xName.join("\n")], { frameAnchor: "bottom-right", dy: marginBottom - 6, dx: marginRight - 4, textAnchor: "end", lineAnchor: "bottom", lineHeight: LINE / 12, fill: "var(--soft)", fontSize: 12, text: (name: string) => name } as Plot.TextOptions),
      Plot.tip(spots, pointer({ x: "x", y: "y", title: "title", fill: "var(--card)", stroke: "var(--line)", fontSize: 12, maxRadius: narrow ? 30 : 40, lineWidth: 24 } as Plot.TipOptions)),
    ],
  });
  svg.setAttribute("aria-hidden", "true");
  (svg as SVGSVGElement & { frame?: unknown }).frame = { marginLeft, marginRight, marginTop, marginBottom, wide, height, xDomain, yDomain };
  return svg as SVGSVGElement;
}
