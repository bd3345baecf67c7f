import { afterEach, expect, test } from "vitest";
import { CrashReport } from "../../../reconciler/cli/daemon/crash-report.ts";
import { keptLog } from "../../support/engine.ts";

let report: CrashReport | undefined;
afterEach(() => report?.close());

test.each<[string, unknown, string | RegExp]>([
  ["an error", new Error("refused pa55word"), /^Error: refused \*\*\*\n +at /],
  ["a value without a text", Object.create(null), "a value without a text"],
  ["an error whose stack is none", Object.assign(new Error("refused"), { stack: undefined }), "refused"],
])("the process ends with its last line also where %s is thrown", async (_title, thrown, error) => {
  const log = keptLog();
  const code = await new Promise((exit) => {
    report = new CrashReport({ log, exit });
    report.hides(() => Promise.resolve(["pa55word"]));
    process.listeners("uncaughtException").at(-1)!(thrown as Error, "uncaughtException");
  });
  expect(code).toBe(1);
  expect(log.lines).toHaveLength(1);
  expect(log.lines[0]!.fields["error"]).toMatch(error);
});
