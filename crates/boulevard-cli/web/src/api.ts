// Questions to the server, and what it answers.

import type { Picture } from "./types.ts";

export interface Flag {
  name: string;
  help: string | null;
  switch: boolean;
  choices: string[];
  main: boolean;
}

export interface Method {
  name: string;
  help: string;
  flags: Flag[];
}

export interface Source {
  name: string;
  columns: string[];
  words: string;
  method: string;
  uneven: boolean;
}

export interface State {
  version: string;
  folder: string;
  source: Source | null;
  methods: Method[];
  builtIn: { name: string; words: string }[];
  fits: { id: number; title: string; command: string }[];
  running: boolean;
  mostUpload: number;
}

export interface News {
  state: "idle" | "running" | "done" | "failed";
  stage?: string;
  done?: number;
  total?: number | null;
  violation?: number | null;
  tolerance?: number | null;
  seconds?: number;
  fit?: number;
  stopped?: boolean;
  error?: string;
}

export interface Fit {
  id: number;
  title: string;
  command: string;
  sentence: string;
  facts: [string, string][];
  own: Picture[];
  good: Picture[];
  general: Picture[];
  hardest: Picture | null;
  points: number;
  picked: number | null;
  notes: string[];
  rows: number | null;
}

export interface Point {
  point: number;
  facts: [string, string][];
  pictures: Picture[];
  command: string;
}

export interface Comparison {
  a: number;
  b: number;
  differ: number;
  of: number;
  sentence: string;
  errors: [number, number];
  heldOut: boolean;
  rows: { row: number; is: string; a: string; b: string }[];
}

export interface Listed {
  total: number;
  heldOut: boolean;
  classes: string[];
  columns: string[];
  rows: { row: number; is: string; said: string; margin: number | null; values: string[] }[];
}

export interface Saved {
  path: string;
  command: string;
  predict: string;
  python: string;
}

export interface Explained {
  row: number;
  truth: string | null;
  said: string;
  changes: string[];
  pictures: Picture[];
  values: [string, string][];
}

/** A refusal with the server's own words. */
export class Refused extends Error {}

async function answer<T>(response: Response): Promise<T> {
  const value: unknown = await response.json().catch(() => null);
  if (response.ok) return value as T;
  const words = (value as { error?: string } | null)?.error;
  throw new Refused(words ?? `the server answered ${response.status}`);
}

async function reach(address: string, options?: RequestInit): Promise<Response> {
  try {
    return await fetch(address, options);
  } catch {
    throw new Refused("the server does not answer: is `boulevard explore` still running?");
  }
}

export async function ask<T>(address: string): Promise<T> {
  return answer<T>(await reach(address));
}

export async function tell<T>(address: string, value: unknown): Promise<T> {
  return answer<T>(await reach(address, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(value) }));
}

export async function send<T>(address: string, file: File): Promise<T> {
  return answer<T>(await reach(address, { method: "POST", body: file }));
}
