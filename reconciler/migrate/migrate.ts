import { Document } from "../language/document.ts";
import { SourceText } from "../language/source-text.ts";
import { check } from "../validate/check.ts";
import { problem } from "../language/problem.ts";
import { convert, type MigrateOptions } from "./convert.ts";
import { nodeOf } from "./document.ts";
import { valueOf } from "./part.ts";
import { nowhere, withoutPlace, type Warning } from "./warning.ts";

export { MigrationError } from "./warning.ts";
export type { MigrateOptions } from "./convert.ts";
export type { Warning } from "./warning.ts";

export interface Migration {
  /**
   * The v3 document as a person would write it: defaults are not filled in, and what the v2 document lacks is missing.
   * It shares no object with the v2 document.
   */
  config: Record<string, unknown>;
  /** What the author must add or check. If none is an error, `config` is valid. */
  warnings: Warning[];
}

/** Valid v3 that Sluice does not run. */
const notRun: readonly string[] = ["NOT_SUPPORTED", "NOT_SUPPORTED_YET"];

/**
 * Converts a v2 document to v3 (docs/pipelines.md, Files of version v2). Pure. Errors of the result are among the
 * warnings, except those for features that Sluice does not run. Throws MigrationError for a document that is not of the
 * types of version v2 or whose join has no two sides, and nothing else.
 */
export function migrate(v2: unknown, options: MigrateOptions = {}): Migration {
  const { root, remarks } = convert(v2, options);
  const document = new Document(
    new SourceText("", ""),
    nodeOf(root, () => ({ key: 0, at: 0 })),
  );
  const missing = check(document).filter(({ code, severity }) => severity === "error" && !notRun.includes(code));
  const said = remarks.map(({ code, finding }) => problem(code, nowhere, finding));
  return { config: valueOf(root) as Record<string, unknown>, warnings: [...said, ...missing].map(withoutPlace) };
}
