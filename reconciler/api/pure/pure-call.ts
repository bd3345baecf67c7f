import { parseExactly } from "../../../engine/language.ts";
import { evaluate } from "./evaluate.ts";
import { previewMigration } from "./migrate-preview.ts";
import { PureError } from "./request.ts";
import { validateFilter } from "./validate-filter.ts";

/** An answer of a pure call: a body of JSON, and headers besides those of every answer. */
export interface PureAnswer {
  status: number;
  body: string;
  headers?: Record<string, string>;
}

/** A question that changes nothing: what it answers depends on the body alone (and on the clock, for `now()`). */
export interface PureCall {
  /** Throws PureError for what is wrong with the body, and nothing else unless we are at fault. */
  answer: (body: unknown) => PureAnswer;
  /** The answer to a body that needs more time or memory than one call may use. */
  exhausted: { status: number; code: string };
}

/** The pure calls by their paths (docs/api.md, Calls that compute). */
export const pureCalls = {
  "/api/v1/filter/validate": { answer: validateFilter, exhausted: { status: 400, code: "validation_error" } },
  "/api/v1/transform/expression/evaluate": {
    answer: evaluate,
    exhausted: { status: 400, code: "transformation_error" },
  },
  "/api/v1/pipeline/migrate-preview": {
    answer: previewMigration,
    exhausted: { status: 422, code: "unprocessable_entity" },
  },
} as const satisfies Record<string, PureCall>;

export type PurePath = keyof typeof pureCalls;

/** Answers one call, whatever the bytes are. Throws only where we are at fault. */
export function answerPurely(path: PurePath, bytes: Buffer): PureAnswer {
  try {
    return pureCalls[path].answer(parsed(bytes));
  } catch (error) {
    if (!(error instanceof PureError)) throw error;
    return { status: error.body.status, body: JSON.stringify(error.body) };
  }
}

function parsed(bytes: Buffer): unknown {
  const text = bytes.toString("utf8");
  if (text.trim() === "") throw new PureError(400, "bad_request", "expected a body that is JSON, found an empty one");
  try {
    return parseExactly(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new PureError(400, "bad_request", "expected a body that is JSON, found text that is not");
  }
}
