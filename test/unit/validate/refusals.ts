import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { main } from "../../../reconciler/cli/main.ts";
import { validate } from "../../../reconciler/desired/load.ts";
import { fileOf } from "../../support/pipeline-file.ts";

/** A file that is refused, and what must be said about it. */
export interface Bad {
  title: string;
  content: string | Uint8Array;
  file?: string;
  code: string;
  /** Line and column. */
  at: [number, number];
  path?: string;
  expected?: string;
  found: string;
  suggestion?: string;
}

/** One test for each file: the problem is there, and every message has subject, expectation and what was found. */
export function refuses(files: readonly Bad[]): void {
  test.each(files)("$title: $code", ({ title: _title, content, file = "orders.yaml", at: [line, column], ...said }) => {
    const one = fileOf(content, file);
    const problems = validate([one], new Set([one.path]));
    expect(problems).toContainEqual(
      expect.objectContaining({ severity: "error", file, line, column, path: "", ...said }),
    );
    for (const { path: of, expected, found, message } of problems) {
      const subjects = of === "" ? ["file", "document"] : [of];
      expect(subjects.map((subject) => `${subject}: expected ${expected}, got ${found}`)).toContain(message);
    }
  });

  test.each(files)(
    "$title: sluice validate says so and ends with 1",
    async ({ content, file, code, at: [line, column] }) => {
      const folder = await mkdtemp(join(tmpdir(), "sluice-bad-"));
      const path = join(folder, file ?? "orders.yaml");
      const printed: string[] = [];
      try {
        await writeFile(path, content);
        const ended = await main(["validate", path], {
          terminal: { out: (text) => void printed.push(text), err: (text) => void printed.push(text) },
          env: {},
          untilStopped: () => AbortSignal.abort(),
        });
        expect(ended).toBe(1);
      } finally {
        await rm(folder, { recursive: true });
      }
      expect(printed.join("\n")).toContain(`${path}:${line}:${column}: error ${code}: `);
    },
  );
}
