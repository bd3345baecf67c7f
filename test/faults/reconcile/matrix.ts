import { setTimeout as sleep } from "node:timers/promises";
import type { Fault, Remedy } from "./fault.ts";
import type { Scene } from "./scene.ts";
import { brokenBy } from "./verdict.ts";
import type { Verdict } from "./verdict.ts";

/** Milliseconds that the reconciler is given to notice a fault, and to make everything right after it. */
const noticing = 60_000;
const converging = 60_000;

export interface Course {
  /** Milliseconds that each fault lasts from when it was noticed. */
  lasting: number;
  /** Pushes, and its end, are announced. Otherwise the reconciler finds out by itself, which takes a back-off. */
  announced: boolean;
  log?: (verdict: Verdict) => void;
}

/** Lets faults befall a scene, one after the other. */
export async function befall(scene: Scene, faults: readonly Fault[], course: Course): Promise<Verdict[]> {
  const { log = () => undefined } = course;
  const verdicts: Verdict[] = [];
  for (const fault of faults) {
    const verdict = await suffer(scene, fault, course);
    log(verdict);
    verdicts.push(verdict);
  }
  return verdicts;
}

async function suffer(scene: Scene, fault: Fault, { lasting, announced }: Course): Promise<Verdict> {
  const before = { calls: scene.witness.calls.length, accepted: scene.senders.count };
  scene.senders.takeRefused();
  let remedy: Remedy | undefined;
  let told: string | undefined;
  let said = "";
  try {
    remedy = await fault.begin(scene);
    if (!fault.pushes) await scene.push();
    if (announced) scene.reconciler.trigger("webhook");
    told = await noticed(scene, fault);
    said = saidBy(scene);
    await sleep(lasting);
  } finally {
    await remedy?.();
    scene.witness.calm();
  }
  const ended = Date.now();
  if (announced) scene.reconciler.trigger("webhook");
  const head = await scene.repository.git("rev-parse", "main");
  const hasConverged = await within(converging, () => scene.hasConverged(head));
  const converged = (Date.now() - ended) / 1000;
  const refused = scene.senders.takeRefused();
  const calls = scene.witness.calls.slice(before.calls);
  const evidence = { calls, ended, refused, leaks: await scene.leaks(), down: scene.down(), hasConverged };
  const broken = brokenBy(fault, evidence);
  if (told === undefined)
    broken.push(`it was not told: expected ${[fault.skipped ?? fault.told].flat().join(" or ")}, found ${said}`);
  const accepted = scene.senders.count - before.accepted;
  return { name: fault.name, told: told ?? "", accepted, refused: refused.length, converged, broken };
}

/** What was told of it; empty where nothing need be, undefined where it did not come. */
async function noticed(scene: Scene, fault: Fault): Promise<string | undefined> {
  const { told = [], of, skipped, isHarmless, pushes } = fault;
  const look = (): string | undefined => {
    const { conditions, pipelines, skipped: left } = scene.snapshot;
    if (skipped !== undefined) return left.some(({ path }) => path === skipped) ? `${skipped} is not read` : undefined;
    const found = of === undefined ? conditions : pipelines.find(({ pipeline_id }) => pipeline_id === of)?.conditions;
    return found?.find(({ reason }) => [told].flat().includes(reason))?.reason;
  };
  if (told.length === 0 && skipped === undefined) return "";
  if (!(await within(noticing, () => look() !== undefined))) return undefined;
  const said = look() ?? "";
  const isApplied = !isHarmless || pushes || (await within(noticing, () => scene.hasApplied()));
  return isApplied ? said : undefined;
}

function saidBy({ snapshot: { conditions } }: Scene): string {
  return conditions.map(({ type, status, reason, message }) => `${type} ${status} ${reason}: ${message}`).join("; ");
}

async function within(limit: number, isSo: () => Promise<boolean> | boolean): Promise<boolean> {
  for (const end = Date.now() + limit; Date.now() < end; await sleep(20)) if (await isSo()) return true;
  return false;
}
