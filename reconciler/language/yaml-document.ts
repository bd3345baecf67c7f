/** A text that is written without quotes: nothing in it means something else to a YAML parser. */
const plain = /^[A-Za-z_/][A-Za-z0-9_./@%+-]*(?: [A-Za-z0-9_./@%+-]+)*$/;
/** Texts that are another value in some version of YAML. */
const otherValues = /^(?:null|true|false|yes|no|on|off|y|n|\.inf|\.nan)$/i;
/** Characters that control a terminal or change the shown text. */
const unsafe = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/**
 * A value of JSON as a YAML document, with a line end. Texts that need quotes are written as JSON writes them, so the same
 * value comes back from every parser, and a terminal obeys nothing in it.
 */
export function yamlDocument(value: unknown): string {
  // As JSON: without members that are not defined, and with dates as texts.
  const data = JSON.parse(JSON.stringify(value ?? null)) as unknown;
  return `${isCollection(data) ? block(data, "").join("\n") : scalar(data)}\n`;
}

type Collection = readonly unknown[] | Readonly<Record<string, unknown>>;

/** An empty one is written on the line of its key. */
function isCollection(value: unknown): value is Collection {
  return typeof value === "object" && value !== null && Object.keys(value).length > 0;
}

function block(value: Collection, indent: string): string[] {
  if (Array.isArray(value)) {
    return value.flatMap((entry: unknown) => {
      if (!isCollection(entry)) return [`${indent}- ${scalar(entry)}`];
      const [first = "", ...rest] = block(entry, `${indent}  `);
      return [`${indent}- ${first.slice(indent.length + 2)}`, ...rest];
    });
  }
  return Object.entries(value).flatMap(([key, entry]) => {
    const name = `${indent}${scalar(key)}:`;
    return isCollection(entry) ? [name, ...block(entry, `${indent}  `)] : [`${name} ${scalar(entry)}`];
  });
}

function scalar(value: unknown): string {
  if (typeof value !== "string") return JSON.stringify(value);
  return plain.test(value) && !otherValues.test(value) ? value : JSON.stringify(value).replace(unsafe, escaped);
}

function escaped(character: string): string {
  const code = character.codePointAt(0)!.toString(16);
  return code.length > 4 ? `\\U${code.padStart(8, "0")}` : `\\u${code.padStart(4, "0")}`;
}
