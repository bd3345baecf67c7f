import type { Fates } from "./scene.ts";
import { Scene } from "./scene.ts";
import { engineFaults } from "./engine-faults.ts";
import { fieldFaults } from "./field-faults.ts";
import { gitFaults } from "./git-faults.ts";
import { localFaults } from "./local-faults.ts";
import { befall } from "./matrix.ts";
import type { Course } from "./matrix.ts";
import { repositoryFaults } from "./repository-faults.ts";
import type { Amounts } from "./repository-faults.ts";
import type { Verdict } from "./verdict.ts";

export interface SuiteOptions extends Amounts, Course {
  /** Milliseconds that a Git command may take in all. */
  patience: number;
}

/** Lets every fault befall one reconciler, and gives what each did, and what became of the events sent meanwhile. */
export async function reconcileFaults({
  lasting,
  announced,
  patience,
  log,
  ...amounts
}: SuiteOptions): Promise<{ verdicts: Verdict[]; events: Fates }> {
  const scene = await Scene.open({ files: amounts.files - 1, patience });
  let verdicts: Verdict[] = [];
  let events: Fates | undefined;
  try {
    const faults = [...gitFaults, ...repositoryFaults(amounts), ...fieldFaults, ...localFaults, ...engineFaults];
    verdicts = await befall(scene, faults, { lasting, announced, ...(log && { log }) });
  } finally {
    events = await scene.close();
  }
  return { verdicts, events };
}
