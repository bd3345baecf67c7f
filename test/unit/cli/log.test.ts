import { expect, test } from "vitest";
import { createLog } from "../../../reconciler/cli/daemon/log.ts";

function written(format: "text" | "json", level: string): string[] {
  const lines: string[] = [];
  const log = createLog({ format, level, colour: false }, { write: (line) => void lines.push(line) });
  log.debug({ pipeline_id: "orders" }, "Debugging.");
  log.info({ pipeline_id: "orders" }, "Informing.");
  log.warn({}, "Warning.");
  log.error({}, "Failing.");
  return lines;
}

test("a JSON line has a time, a level by name, the sentence and its fields", () => {
  const [line = ""] = written("json", "info");
  expect(JSON.parse(line)).toEqual({
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
    level: "info",
    pipeline_id: "orders",
    msg: "Informing.",
  });
});

test.each([
  ["debug", 4],
  ["info", 3],
  ["warn", 2],
  ["error", 1],
])("level %s writes the lines from there on", (level, count) => {
  expect(written("json", level)).toHaveLength(count);
});

test("a line for people has the sentence, its fields, and texts of several lines below", () => {
  const lines: string[] = [];
  const log = createLog({ format: "text", level: "info", colour: false }, { write: (line) => void lines.push(line) });
  log.info({ pipeline_id: "orders", pid: 7, why: "two words", tags: ["a"], plan: "one\n  two\u001b[2J" }, "The plan.");
  expect(lines.join("").replace(/^\[[\d:.]+\] /, "")).toBe(
    [
      'INFO: The plan.  pipeline_id=orders  pid=7  why="two words"  tags=["a"]',
      "    one",
      "      two\\u001b[2J",
      "",
    ].join("\n"),
  );
});
