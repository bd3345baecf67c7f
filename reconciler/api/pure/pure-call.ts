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

/** A call without side effects: its answer depends on the body alone (and on the clock, for `now()`). */
export interface PureCall {
  /** Throws PureError for an invalid body; any other error is a defect. */
  answer: (body: unknown) => PureAnswer;
  /** The error for a body that needs more time or memory than one call may use. */
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

/** Answers one call, whatever the bytes are. Any error that it throws is a defect. */
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
