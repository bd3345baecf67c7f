/** @module-tag rest */
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Daemon, Reconcile } from "../../examples/quickstart/daemon.ts";
import { pipelineFile, token, tokenEnv, Workplace } from "../support/daemon.ts";
import { isFull } from "./attacks.ts";
import { costlyFiles, type CostlyFile } from "./costly-files.ts";
import { Neighbour } from "./neighbour.ts";
import { Stalls } from "./stalls.ts";

/** Who writes a pipeline file cannot stall the process that runs it: files are read in a thread, within a budget. */

interface Problems extends Reconcile {
  problems: { file: string; code: string; severity: string }[];
}

let place: Workplace;
let daemon: Daemon;
let stalls: Stalls;
/** Files that are refused, and those which are only large. */
const costly = costlyFiles(isFull ? 1 : 0.1);
const refused = costly.filter(({ end }) => end !== "applied");
const large: CostlyFile[] = [
  ...costly.filter(({ end }) => end === "applied"),
  { name: "neighbour", text: pipelineFile("neighbour"), end: "applied" },
];
let accepted = 0;

beforeAll(async () => {
  place = await Workplace.make();
  await place.write("orders.yaml", pipelineFile("orders"));
  await Neighbour.write(place);
  stalls = new Stalls(join(place.path, "stalls"));
  daemon = await place.start({ env: { ...tokenEnv, ...(isFull && stalls.env) } });
  await daemon.until(async () => (await isAccepted()) || undefined, "to take events");
});

afterAll(() => place.clean());

/** Sends an event: whether it was accepted. */
async function isAccepted(): Promise<boolean> {
  const { status } = await fetch(`${daemon.events}/v1/pipelines/orders/topics/input/events`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-pipeline-access-token": token },
    body: JSON.stringify({ id: "a", n: accepted }),
  });
  if (status === 202) accepted += 1;
  return status === 202;
}

/** Whether the files are being read; what is read here is refused, so there is nothing else to wait for. */
async function isReading(): Promise<boolean> {
  const metrics = await daemon.get<string>("/metrics");
  return !/^sluice_gitops_in_progress_start_time_seconds 0$/m.test(metrics);
}

/** Whether each file is applied, or refused with its code. */
async function areDealtWith(files: readonly CostlyFile[]): Promise<boolean> {
  const { problems, pipelines } = await daemon.get<Problems>("/api/v1/reconcile");
  const codes = (file: string): string[] => problems.filter((one) => one.file === file).map(({ code }) => code);
  const applied = pipelines.filter(({ conditions }) =>
    conditions.some((one) => one.type === "Ready" && one.status === "True"),
  );
  return files.every(({ name, end }) =>
    end === "applied" ? applied.some(({ pipeline_id }) => pipeline_id === name) : codes(`${name}.yaml`).includes(end),
  );
}

/** Writes files, and sends events until they are dealt with: how many were accepted while files were read. */
async function meanwhile(files: readonly CostlyFile[]): Promise<number> {
  let between = 0;
  for (const { name, text } of files) await place.write(`${name}.yaml`, text);
  do {
    const wasReading = await isReading();
    expect(await isAccepted()).toBe(true);
    if (wasReading && (await isReading())) between += 1;
  } while (!(await areDealtWith(files)));
  return between;
}

test(
  "the process answers and takes events while the worst files are read, and refuses them",
  { timeout: 300_000 },
  async () => {
    // The start of a process compiles its program.
    const since = Date.now();
    const neighbour = await Neighbour.of(daemon);
    const { result: between, delays } = await neighbour.during(() => meanwhile(refused));
    // One that reads them itself answers nothing until it has read a file.
    expect(between).toBeGreaterThan(refused.length);
    if (!isFull) return;
    const block = stalls.longest(daemon.pid, since);
    neighbour.noted(`${refused.length} costly files`, delays, `longest stall ${block.toFixed(0)} ms`);
    expect(block).toBeLessThan(200);
  },
);

test("beside them, the others are applied, and every event is written", { timeout: 300_000 }, async () => {
  await meanwhile(large);
  expect((await daemon.settled("orders")).counters.rows_written).toBe(accepted);
});
