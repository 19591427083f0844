// A picture as the library describes it (crates/boulevard/src/picture).

export type ColumnValues = (number | null)[] | string[];

export interface Axis {
  label: string;
  unit?: string;
  scale: "linear" | "log" | "ordinal";
  domain?: [number, number];
  categories?: string[];
}

export type MarkName = "line" | "step" | "area" | "points" | "bars" | "cells" | "ground" | "rule" | "rug";

export interface Layer {
  mark: MarkName;
  name: string;
  role: string;
  across?: number;
  columns: Record<string, ColumnValues>;
}

export interface Picture {
  id: string;
  title: string;
  sentence: string;
  x: Axis;
  y: Axis;
  layers: Layer[];
  select?: string;
  square?: boolean;
}

/** One row of a layer as an object. */
export type Row = Record<string, number | string | null>;

/** Columns that place a mark and are not told on hovering. */
export const PLACING = new Set(["x", "y", "x1", "x2", "y1", "y2", "value", "ring", "wrong", "key"]);

export function rowCount(layer: Layer): number {
  const first = Object.values(layer.columns)[0];
  return first === undefined ? 0 : first.length;
}

export function rowsOf(layer: Layer): Row[] {
  const names = Object.keys(layer.columns);
  return Array.from({ length: rowCount(layer) }, (_, i) => {
    const row: Row = {};
    for (const name of names) row[name] = layer.columns[name]![i] ?? null;
    return row;
  });
}
