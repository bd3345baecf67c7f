import { parseExactly } from "../../event/exact-json.ts";
import type { Call, FunctionDefinition } from "./catalog.ts";
import { printed, writeJson } from "../values/printing.ts";
import { characters } from "../values/text.ts";
import { integer, text, unknown } from "../values/types.ts";
import { int, isMap, kindOf, sizeOf } from "../values/values.ts";

/** The names that `type` returns for kinds without a name in the language. */
const typeNames: Readonly<Partial<Record<ReturnType<typeof kindOf>, string>>> = {
  time: "time.Time",
  duration: "time.Duration",
  timezone: "unknown",
  month: "time.Month",
  weekday: "time.Weekday",
};

function len({ budget }: Call, value: unknown): unknown {
  if (typeof value === "string") {
    budget.read(value.length);
    return int(characters(value));
  }
  return int(isMap(value) ? sizeOf(value) : (value as readonly unknown[]).length);
}

function fromJson({ budget, fail }: Call, source: unknown): unknown {
  budget.make((source as string).length);
  try {
    const value = parseExactly(source as string);
    if (isFinite(value)) return value;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  return fail("fromJSON expects a text that is JSON, found another text");
}

/** Whether all numbers in a value are finite: JSON.parse reads 1e400 as infinite. */
function isFinite(root: unknown): boolean {
  const open = [root];
  while (open.length > 0) {
    const value = open.pop();
    if (value === Infinity || value === -Infinity) return false;
    if (typeof value === "object" && value !== null) for (const inner of Object.values(value)) open.push(inner);
  }
  return true;
}

function fromBase64({ budget, fail }: Call, source: unknown): unknown {
  budget.make((source as string).length);
  const encoded = (source as string).replaceAll(/[\r\n]/g, "");
  const isValid = encoded.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(encoded);
  return isValid
    ? Buffer.from(encoded, "base64").toString()
    : fail("fromBase64 expects base64 with padding, found another text");
}

/** The functions from one kind to another. */
export const conversionFunctions: Readonly<Record<string, FunctionDefinition>> = {
  len: { takes: ["sized"], gives: integer, run: len },
  type: { takes: ["any"], gives: text, run: (_, value) => typeNames[kindOf(value)] ?? kindOf(value) },
  string: { takes: ["any"], gives: text, run: ({ budget }, value) => printed(value, budget) },
  toJSON: { takes: ["any"], gives: text, run: ({ budget, fail }, value) => writeJson(value, budget, fail) },
  fromJSON: { takes: ["string"], gives: unknown, run: fromJson },
  toBase64: {
    takes: ["string"],
    gives: text,
    run: ({ budget }, value) => {
      budget.make((value as string).length);
      return Buffer.from(value as string).toString("base64");
    },
  },
  fromBase64: { takes: ["string"], gives: text, run: fromBase64 },
};
