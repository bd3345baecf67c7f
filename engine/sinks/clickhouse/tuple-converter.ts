import type { Converter } from "./converter.ts";
import { isObject } from "./reading.ts";
import type { Read } from "./reading.ts";
import { shortened } from "./shortened.ts";

/** A tuple without names is made of an array of its length. Null becomes a tuple of what each element has for nothing. */
export function tupleConverter(read: Read, elements: readonly Converter[], empty: string | undefined): Converter {
  const isOfLength = (value: unknown): value is unknown[] => Array.isArray(value) && value.length === elements.length;
  const write = (values: readonly unknown[]): string | undefined => {
    const texts = elements.map((element, at) => element.convert(values[at]));
    return texts.includes(undefined) ? undefined : `[${texts.join(",")}]`;
  };
  return {
    convert: (value) => {
      if (value === null || value === undefined) return empty ?? write([]);
      const values = read(value);
      return isOfLength(values) ? write(values) : undefined;
    },
    explain: (value) => {
      const values: unknown = value ?? Array.from(elements, () => undefined);
      if (!isOfLength(values)) return `expected an array of length ${elements.length}, got ${shortened(value)}`;
      const at = elements.findIndex((element, index) => element.convert(values[index]) === undefined);
      return `element ${at}: ${elements[at]?.explain(values[at] ?? null)}`;
    },
  };
}

/**
 * A tuple with names is made of an object's own keys, whatever they are called. A key that is not there counts as a field
 * that is missing, and one that the tuple does not name is left out, as a field is that no mapping names.
 */
export function namedTupleConverter(
  read: Read,
  elements: ReadonlyMap<string, Converter>,
  empty: string | undefined,
): Converter {
  const parts = [...elements].map(([name, converter]) => ({ name, key: `${JSON.stringify(name)}:`, converter }));
  const write = (object: Record<string, unknown>): string | undefined => {
    const texts: string[] = [];
    for (const { name, key, converter } of parts) {
      const text = converter.convert(own(object, name));
      if (text === undefined) return undefined;
      texts.push(key + text);
    }
    return `{${texts.join(",")}}`;
  };
  return {
    convert: (value) => {
      if (value === null || value === undefined) return empty ?? write({});
      const object = read(value);
      return isObject(object) ? write(object) : undefined;
    },
    explain: (value) => {
      const object = value ?? {};
      if (!isObject(object)) return `expected an object, got ${shortened(value)}`;
      const bad = parts.find(({ name, converter }) => converter.convert(own(object, name)) === undefined);
      return `key ${shortened(bad?.name)}: ${bad?.converter.explain(own(object, bad.name))}`;
    },
  };
}

function own(object: Record<string, unknown>, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}
