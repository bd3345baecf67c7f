import type { SourceFile } from "../../language/source-text.ts";
import type { Preview } from "../../preview/preview.ts";
import { testsOfPipeline } from "../../validate/orphaned-tests.ts";
import type { Invocation } from "../invocation/invocation.ts";
import type { TestsOfChange } from "./plan-tests.ts";

/** A preview with what becomes of the events of the tests beside its changed pipelines. Without tests, no engine is loaded. */
export async function withTests(
  preview: Preview,
  files: readonly SourceFile[],
  invocation: Pick<Invocation, "progress">,
): Promise<Preview> {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const found = preview.changes.flatMap((change): TestsOfChange[] => {
    if (change.sides === undefined) return [];
    const beside = testsOfPipeline(change.sides.after.file).flatMap((path) => byPath.get(path) ?? []);
    return beside.map((file) => ({ change, file }));
  });
  if (found.length === 0) return preview;
  const { withOutcomes } = await import("./plan-tests.ts");
  return withOutcomes(preview, found, invocation);
}
