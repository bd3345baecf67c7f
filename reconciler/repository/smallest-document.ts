import { isDeepStrictEqual } from "node:util";
import {
  documentOf,
  engineOptions,
  isObject,
  normalise,
  schemaErrors,
  type Path,
  type PipelineV3,
} from "../../schemas/index.ts";

type Value = Readonly<Record<string, unknown>>;

/**
 * The document with the fewest fields that means the same as `document`, which is valid by the schema: without what is a
 * default. Keys that only a reconciler reads stay as they are.
 */
export function smallestDocument(document: PipelineV3): PipelineV3 {
  const meant = meaningOf(document);
  const { "x-sluice": directives = {} } = document;
  const whole: Value = { ...documentOf(meant.config, Object.keys(directives).length > 0 ? directives : undefined) };
  const isEnough = (candidate: Value): boolean =>
    schemaErrors(candidate).length === 0 && isDeepStrictEqual(meaningOf(candidate as unknown as PipelineV3), meant);
  return removable(whole, []).reduce((kept, path) => smaller(kept, path, isEnough), whole) as unknown as PipelineV3;
}

function meaningOf(document: PipelineV3): {
  config: ReturnType<typeof normalise>;
  options: ReturnType<typeof engineOptions>;
} {
  return { config: normalise(document), options: engineOptions(document) };
}

/** The ways to all fields but those of `x-sluice`, each before what it holds, and the last entry of a list first. */
function removable(value: unknown, path: Path): Path[] {
  if (Array.isArray(value)) {
    const entries = [...value.entries()].toReversed();
    return entries.flatMap(([index, entry]) => [
      ...(isComponent(path) ? [[...path, index]] : []),
      ...removable(entry, [...path, index]),
    ]);
  }
  if (!isObject(value)) return [];
  const entries = Object.entries(value).filter(([key]) => key !== "x-sluice");
  return entries.flatMap(([key, entry]) => [[...path, key], ...removable(entry, [...path, key])]);
}

/** The entries of these lists may be left out; those of others are what the pipeline is. */
function isComponent([section, list, ...rest]: Path): boolean {
  return section === "resources" && (list === "sources" || list === "transform") && rest.length === 0;
}

function smaller(kept: Value, path: Path, isEnough: (candidate: Value) => boolean): Value {
  if (!has(kept, path)) return kept;
  const candidate = without(kept, path) as Value;
  return isEnough(candidate) ? candidate : kept;
}

function has(value: unknown, [key, ...rest]: Path): boolean {
  if (key === undefined) return true;
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return false;
  return has((value as Record<string | number, unknown>)[key], rest);
}

function without(value: unknown, [key, ...rest]: Path): unknown {
  if (Array.isArray(value)) {
    return value.flatMap((entry: unknown, index) => {
      if (index !== key) return [entry];
      return rest.length === 0 ? [] : [without(entry, rest)];
    });
  }
  const entries = Object.entries(value as Value).flatMap(([name, entry]): [string, unknown][] => {
    if (name !== key) return [[name, entry]];
    return rest.length === 0 ? [] : [[name, without(entry, rest)]];
  });
  return Object.fromEntries(entries);
}
