// One threshold for the pictures of two classes: it is dragged on a curve or moved with a slider, and all of them follow.

import type { PictureFigure } from "./figure.ts";
import { rowsOf, type Layer, type Picture, type Row } from "./types.ts";
import { say, short } from "./words.ts";

/** The curve of a picture that tells the threshold of every point; none where several classes have one each. */
export function curveOf(picture: Picture): Layer | undefined {
  const found = picture.layers.filter((layer) => layer.mark === "line" && layer.columns["threshold"] !== undefined);
  return found.length === 1 ? found[0] : undefined;
}

/** Rows of both kinds, and those that are said to be of the class: rightly and wrongly. */
export interface Counts {
  own: number;
  others: number;
  found: number;
  alarms: number;
}

export function countsAt(layer: Layer, row: Row): Counts {
  const most = (name: string) => Math.max(...(layer.columns[name] as number[]));
  return { own: most("rows found"), others: most("false alarms"), found: Number(row["rows found"]), alarms: Number(row["false alarms"]) };
}

export function inWords(name: string, threshold: number, { own, others, found, alarms }: Counts): string {
  const share = (part: number, all: number) => `${short(all > 0 ? (100 * part) / all : 0, 3)} %`;
  const wrong = share(own - found + alarms, own + others);
  return `Said ${name} from ${short(threshold, 3)} on: ${share(found, own)} of them found, ${share(found, found + alarms)} of the alarms right, ${share(alarms, others)} of the others alarmed, ${wrong} of all rows wrong.`;
}

/** A confusion matrix (the class of the curve is its second) with other counts. */
export function confusionAt(picture: Picture, { own, others, found, alarms }: Counts, sentence: string): Picture {
  const layer = picture.layers[0]!;
  const [first, second] = picture.x.categories as [string, string];
  const count = (truth: string, said: string) => (truth === second ? (said === second ? found : own - found) : said === second ? alarms : others - alarms);
  const cells = rowsOf(layer).map((row) => ({ said: String(row["x"]), truth: String(row["y"]) }));
  const rows = cells.map((cell) => count(cell.truth, cell.said));
  const value = cells.map((cell, i) => (100 * rows[i]!) / Math.max(1, cell.truth === first ? others : own));
  return { ...picture, sentence, layers: [{ ...layer, columns: { ...layer.columns, value, rows } }] };
}

/** Links the pictures among these that share a threshold, and puts its slider before them. */
export function linkThreshold(figures: PictureFigure[], box: HTMLElement): void {
  const curves = figures.flatMap((figure) => {
    const layer = curveOf(figure.picture);
    return layer ? [{ figure, layer, rows: rowsOf(layer).filter((row) => row["threshold"] !== null) }] : [];
  });
  const matrix = figures.find((figure) => figure.picture.id === "confusion" && figure.picture.x.categories?.length === 2);
  const main = curves[0];
  if (!main || main.rows.length < 2) return;
  const whole = matrix?.picture;
  const thresholds = main.rows.map((row) => Number(row["threshold"]));
  // Where it stands as it was trained: the point of the curve that lies under the star.
  const star = main.figure.picture.layers.find((layer) => layer.mark === "points" && layer.role === "chosen");
  const far = (row: Row) => Math.hypot(Number(row["x"]) - Number(star?.columns["x"]?.[0] ?? 0), Number(row["y"]) - Number(star?.columns["y"]?.[0] ?? 0));
  const start = star ? main.rows.reduce((best, row, i) => (far(row) < far(main.rows[best]!) ? i : best), 0) : Math.floor(main.rows.length / 2);

  const panel = document.createElement("div");
  panel.className = "threshold";
  const label = document.createElement("label");
  label.textContent = `threshold for ${main.layer.name}`;
  const slider = document.createElement("input");
  slider.type = "range";
  slider.min = "0";
  slider.max = String(main.rows.length - 1);
  slider.value = String(start);
  label.append(slider);
  const told = document.createElement("output");
  const back = document.createElement("button");
  back.type = "button";
  back.textContent = "as trained";
  panel.append(label, back, told);
  box.prepend(panel);

  const show = (place: number) => {
    const threshold = thresholds[place]!;
    slider.value = String(place);
    slider.setAttribute("aria-valuetext", short(threshold, 3));
    const counts = countsAt(main.layer, main.rows[place]!);
    const words = inWords(main.layer.name, threshold, counts);
    say(told, words);
    for (const { figure, rows } of curves) {
      const row = rows.find((one) => one["threshold"] === threshold) ?? rows[0]!;
      figure.setMark({ row, rows, onMove: (to) => show(Math.max(0, thresholds.indexOf(Number(to["threshold"])))) });
    }
    if (matrix && whole) matrix.change(place === start ? whole : confusionAt(whole, counts, words));
  };
  slider.addEventListener("input", () => show(Number(slider.value)));
  back.addEventListener("click", () => show(start));
  show(start);
}
