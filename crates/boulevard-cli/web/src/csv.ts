// The data of a picture as one CSV text: all layers below each other, a column for the layer's name.

import { rowCount, type Picture } from "./types.ts";

function cell(value: number | string | null | undefined): string {
  if (value === null || value === undefined) return "";
  const text = String(value);
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Columns of a picture's table: those of all layers, in the order in which they come. */
export function tableOf(picture: Picture): { names: string[]; rows: (number | string | null)[][] } {
  const layers = picture.layers.filter((layer) => layer.mark !== "ground");
  const names: string[] = [];
  for (const layer of layers) for (const name of Object.keys(layer.columns)) if (!names.includes(name)) names.push(name);
  const rows = layers.flatMap((layer) =>
    Array.from({ length: rowCount(layer) }, (_, i) => [layer.name, ...names.map((name) => layer.columns[name]?.[i] ?? null)]),
  );
  return { names: ["layer", ...names], rows };
}

export function csvOf(picture: Picture): string {
  const { names, rows } = tableOf(picture);
  return [names, ...rows].map((row) => row.map(cell).join(",")).join("\n") + "\n";
}
