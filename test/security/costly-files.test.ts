import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Daemon, Reconcile } from "../../examples/quickstart/daemon.ts";
import { pipelineFile, token, tokenEnv, Workplace } from "../support/daemon.ts";
import { isFull, measured } from "./attacks.ts";
import { costlyFiles, type CostlyFile } from "./costly-files.ts";
import { Stalls } from "./stalls.ts";

/** Who writes a pipeline file cannot stall the process that runs it: files are read in a thread, within a budget. */

interface Problems extends Reconcile {
  problems: { file: string; code: string; severity: string }[];
}

let place: Workplace;
let daemon: Daemon;
let stalls: Stalls;

beforeEach(async () => {
  place = await Workplace.make();
  await place.write("orders.yaml", pipelineFile("orders"));
});

afterEach(() => place.clean());

/** From when on stalls count: the start of a process compiles its program. */
let since: number;

async function start(): Promise<void> {
  stalls = new Stalls(join(place.path, "stalls"));
  daemon = await place.start({ env: { ...tokenEnv, ...stalls.env } });
  await daemon.until(async () => (await sent(0)) || undefined, "to take events");
  since = Date.now();
}

/** Whether an event was accepted. */
async function sent(n: number): Promise<boolean> {
  const { status } = await fetch(`${daemon.events}/v1/pipelines/orders/topics/input/events`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-pipeline-access-token": token },
    body: JSON.stringify({ id: `${n}`, n }),
  });
  return status === 202;
}

/** Resolves when each file is applied, or refused with its code. */
async function dealtWith(files: readonly CostlyFile[]): Promise<void> {
  const isOver = async (): Promise<true | undefined> => {
    const { problems, pipelines } = await daemon.get<Problems>("/api/v1/reconcile");
    const codes = (file: string): string[] => problems.filter((one) => one.file === file).map(({ code }) => code);
    const applied = pipelines.filter(({ conditions }) =>
      conditions.some((one) => one.type === "Ready" && one.status === "True"),
    );
    const left = files.filter(({ name, end }) =>
      end === "applied"
        ? !applied.some(({ pipeline_id }) => pipeline_id === name)
        : !codes(`${name}.yaml`).includes(end),
    );
    return left.length === 0 ? true : undefined;
  };
  await daemon.until(isOver, `to deal with ${files.map(({ name }) => name).join(", ")}`);
}

test(
  "the process answers and takes events while the worst files are read, and applies the others",
  { timeout: 180_000 },
  async () => {
    await start();
    const files = costlyFiles(isFull ? 1 : 0.3);
    const neighbour: CostlyFile = { name: "neighbour", text: pipelineFile("neighbour"), end: "applied" };
    let accepted = 1;
    const over = new AbortController();
    const intake = (async () => {
      for (; !over.signal.aborted; accepted += 1) {
        expect(await sent(accepted)).toBe(true);
        await sleep(20);
      }
    })();
    for (const { name, text } of [...files, neighbour]) await place.write(`${name}.yaml`, text);
    await dealtWith([...files, neighbour]);
    over.abort();
    await intake;
    const block = stalls.longest(daemon.pid, since);
    measured(`${files.length} costly files`, daemon.pid, `longest stall ${block.toFixed(0)} ms`);
    expect(block).toBeLessThan(200);
    expect((await daemon.settled("orders")).counters.rows_written).toBe(accepted);
  },
);
