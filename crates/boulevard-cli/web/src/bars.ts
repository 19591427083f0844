// Bars with long names: a list in which names wrap, instead of an axis from which they would be cut.

import { color } from "./palette.ts";
import { rowsOf, PLACING, type Picture } from "./types.ts";
import { axisLabel, short } from "./words.ts";

/** What bars of lists are of: sentences rather than names, so that pictures of the same kind look the same however long these are. */
const SENTENCES = new Set(["part", "row", "rule", "support vector"]);

/** Whether a picture is one layer of bars whose names need room. */
export function isBarList(picture: Picture): boolean {
  const bars = picture.layers.filter((layer) => layer.mark === "bars");
  return bars.length === 1 && picture.layers.length === 1 && picture.y.scale === "ordinal" && (SENTENCES.has(picture.y.label) || (picture.y.categories ?? []).some((name) => name.length > 14));
}

export function barList(picture: Picture): HTMLElement {
  const rows = rowsOf(picture.layers[0]!);
  const values = rows.map((row) => Number(row["x"] ?? 0));
  const low = Math.min(0, ...values);
  const high = Math.max(0, ...values);
  const span = high - low || 1;
  const list = document.createElement("ol");
  list.className = "barlist";
  rows.forEach((row, i) => {
    const value = values[i]!;
    const item = document.createElement("li");
    const name = document.createElement("span");
    name.className = "barname";
    name.textContent = String(row["y"]);
    const number = document.createElement("span");
    number.className = "barvalue";
    number.textContent = `${low < 0 && value > 0 ? "+" : ""}${short(value, 3)}${picture.x.unit ? ` ${picture.x.unit}` : ""}`;
    const track = document.createElement("span");
    track.className = "track";
    const bar = document.createElement("span");
    bar.className = "bar";
    bar.style.left = `${(100 * (Math.min(0, value) - low)) / span}%`;
    bar.style.width = `${Math.max(0.4, (100 * Math.abs(value)) / span)}%`;
    bar.style.background = low < 0 ? color(value < 0 ? "class0" : "class1") : color(picture.layers[0]!.role);
    track.append(bar);
    if (low < 0) {
      const zero = document.createElement("span");
      zero.className = "zero";
      zero.style.left = `${(-100 * low) / span}%`;
      track.append(zero);
    }
    const told = Object.entries(row).filter(([key]) => !PLACING.has(key)).map(([key, v]) => `${key}: ${short(v)}`);
    item.title = told.join("\n");
    item.append(name, number, track);
    list.append(item);
  });
  const caption = document.createElement("p");
  caption.className = "barcaption";
  caption.textContent = axisLabel(picture.x.label, picture.x.unit);
  const box = document.createElement("div");
  box.append(caption, list);
  return box;
}
