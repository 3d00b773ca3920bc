// Members of documents that others wrote: what is not of the kind that was asked for is as if it were not there.
import type { Json, JsonObject } from "../documents.ts";

type From = Json | undefined;

export function isObject(value: From): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function member(from: From, key: string): Json | undefined {
  return isObject(from) && Object.hasOwn(from, key) ? from[key] : undefined;
}

export function objectAt(from: From, key: string): JsonObject | null {
  const value = member(from, key);
  return isObject(value) ? value : null;
}

export function listAt(from: From, key: string): Json[] {
  const value = member(from, key);
  return Array.isArray(value) ? value : [];
}

export function objectsAt(from: From, key: string): JsonObject[] {
  return listAt(from, key).filter(isObject);
}

export function textAt(from: From, key: string): string {
  const value = member(from, key);
  return typeof value === "string" ? value : "";
}

export function numberAt(from: From, key: string): number | null {
  const value = member(from, key);
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}

export function numbersAt(from: From, key: string): number[] {
  return listAt(from, key).filter((value) => typeof value === "number");
}

export function pairAt(from: From, key: string): [number, number] | null {
  const [low, high] = listAt(from, key);
  return typeof low === "number" && typeof high === "number" ? [low, high] : null;
}

// On one line: "rtol 0.0001, atol 0".
export function inline(value: From): string {
  if (value === undefined || value === null) return "–";
  if (typeof value === "number") return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(6)));
  if (typeof value !== "object") return String(value);
  if (Array.isArray(value)) return value.length === 0 ? "none" : value.map(inline).join(", ");
  return Object.entries(value)
    .map(([key, each]) => `${key} ${inline(each)}`)
    .join(", ");
}

// What a table says of a word that may be any.
export function lookup<Value>(table: Record<string, Value>, word: string): Value | undefined {
  return Object.hasOwn(table, word) ? table[word] : undefined;
}
