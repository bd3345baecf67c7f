import { differing } from "../../support/cases.ts";
import type { Fates } from "./scene.ts";
import { Scene } from "./scene.ts";
import { engineFaults } from "./engine-faults.ts";
import type { Fault } from "./fault.ts";
import { fieldFaults } from "./field-faults.ts";
import { gitFaults } from "./git-faults.ts";
import { localFaults } from "./local-faults.ts";
import { befall } from "./matrix.ts";
import type { Course } from "./matrix.ts";
import { repositoryFaults } from "./repository-faults.ts";
import type { Amounts } from "./repository-faults.ts";
import type { Verdict } from "./verdict.ts";

export interface SuiteOptions extends Amounts, Course {
  /** Of the faults that are told by the same reason, of the source or of a pipeline, only the first. */
  isShort?: boolean;
  /** Milliseconds that a Git command may take in all. */
  patience: number;
}

/** Lets every fault befall one reconciler, and gives what each did, and what became of the events sent meanwhile. */
export async function reconcileFaults({
  lasting,
  announced,
  patience,
  isShort = false,
  log,
  ...amounts
}: SuiteOptions): Promise<{ verdicts: Verdict[]; events: Fates }> {
  const scene = await Scene.open({ files: amounts.files - 1, patience });
  let verdicts: Verdict[] = [];
  let events: Fates | undefined;
  try {
    const all = [...gitFaults, ...repositoryFaults(amounts), ...fieldFaults, ...localFaults, ...engineFaults];
    const faults = isShort ? differing(all, toldBy) : all;
    verdicts = await befall(scene, faults, { lasting, announced, ...(log && { log }) });
  } finally {
    events = await scene.close();
  }
  return { verdicts, events };
}

/** By what faults differ: the reason that they are told by. Of those that heal at once each is one of its own. */
function toldBy({ name, told }: Fault): string[] {
  return [told === undefined ? name : [told].flat().join()];
}
