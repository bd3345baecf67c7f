import { expect, test } from "vitest";
import { createLog } from "../../../reconciler/cli/log.ts";

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
