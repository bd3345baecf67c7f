import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { load } from "../../../reconciler/desired/load.ts";
import { createTelemetry } from "../../../reconciler/status/telemetry.ts";
import { keptLog } from "../../support/engine.ts";
import { pipelineText } from "../../support/pipeline-text.ts";

/** A text that names nothing that is read: a warning. */
const warned = pipelineText({ id: "orders", name: "${NAME}" });
const link = { path: "link.yaml", reason: "a link" };

/** What is logged of the files of each revision, besides that it was read. */
function logged(...revisions: { text: string; skipped?: (typeof link)[] }[]): string[][] {
  const log = keptLog();
  const telemetry = createTelemetry(log, new Registry());
  return revisions.map(({ text, skipped = [] }, at) => {
    const files = [{ path: "orders.yaml", bytes: Buffer.from(text) }];
    const revision = { id: `main@sha1:${at}`, sha: `${at}`, files, skipped };
    const turn = { trigger: "poll", started: new Date(), began: 0, revision, desired: load(files) } as const;
    const from = log.lines.length;
    telemetry.revisionLoaded(turn);
    return log.lines.slice(from + 1).map(({ level, sentence, fields }) => {
      const { code = "", count = "" } = fields as { code?: string; count?: number };
      return `${level} ${sentence} ${code}${count}`.trim();
    });
  });
}

test("a warning, a note and a file that is not read are logged once, while they stay; then they are counted", () => {
  const [said, same] = [
    ["warn A file was not read.", "warn A pipeline file has a warning. REFERENCE"],
    "info The other warnings and notes of files are as before.",
  ];
  expect(
    logged(
      { text: warned, skipped: [link] },
      { text: `# moved\n${warned}`, skipped: [link] },
      { text: pipelineText({ id: "orders" }), skipped: [link] },
      { text: warned, skipped: [link] },
    ),
  ).toEqual([said, [`${same} 2`], [`${same} 1`], [said[1], `${same} 1`]]);
});

test("an error is logged for each revision that has it", () => {
  const text = warned.replace("type: int", "type: itn");
  const [first, second] = logged({ text }, { text });
  expect(first).toContain("error A pipeline file cannot be used. VALUE");
  expect(second).toContain("error A pipeline file cannot be used. VALUE");
});
