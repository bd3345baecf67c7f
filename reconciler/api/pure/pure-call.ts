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

/**
 * The pure calls by their paths (docs/api.md, Calls that compute): without side effects, the answer depends on the body alone
 * (and on the clock, for `now()`). Each throws PureError for an invalid body; any other error is a defect.
 */
const pureCalls = {
  "/api/v1/filter/validate": validateFilter,
  "/api/v1/transform/expression/evaluate": evaluate,
  "/api/v1/pipeline/migrate-preview": previewMigration,
} as const satisfies Record<string, (body: unknown) => PureAnswer>;

export type PurePath = keyof typeof pureCalls;

/** Answers one call, whatever the bytes are. Any error that it throws is a defect. */
export function answerPurely(path: PurePath, bytes: Buffer): PureAnswer {
  try {
    return pureCalls[path](parsed(bytes));
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
