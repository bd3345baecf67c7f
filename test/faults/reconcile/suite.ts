import { type Fates, Scene, type SceneOptions } from "./scene.ts";
import { engineFaults } from "./engine-faults.ts";
import type { Fault } from "./fault.ts";
import { fieldFaults } from "./field-faults.ts";
import { folderFaults } from "./folder-faults.ts";
import { gitFaults } from "./git-faults.ts";
import { localFaults } from "./local-faults.ts";
import { befall } from "./matrix.ts";
import type { Course } from "./matrix.ts";
import { repositoryFaults } from "./repository-faults.ts";
import type { Amounts } from "./repository-faults.ts";
import type { Verdict } from "./verdict.ts";

export interface SuiteOptions extends Amounts, Course, Omit<SceneOptions, "files"> {
  /** Names of faults; without it, all of them. */
  only?: readonly string[];
}

/** Lets every fault befall one reconciler, and gives what each did, and what became of the events sent meanwhile. */
export async function reconcileFaults({
  lasting,
  announced,
  files,
  commits,
  only,
  log,
  ...times
}: SuiteOptions): Promise<{ verdicts: Verdict[]; events: Fates }> {
  const scene = await Scene.open({ files: files - 1, ...times });
  let verdicts: Verdict[] = [];
  let events: Fates | undefined;
  try {
    const all = [
      ...gitFaults,
      ...repositoryFaults({ files, commits }),
      ...fieldFaults,
      ...folderFaults,
      ...localFaults,
      ...engineFaults,
    ];
    const faults = only === undefined ? all : only.map((name) => named(name, all));
    verdicts = await befall(scene, faults, { lasting, announced, ...(log && { log }) });
  } finally {
    events = await scene.close();
  }
  return { verdicts, events };
}

function named(name: string, all: readonly Fault[]): Fault {
  const found = all.find((fault) => fault.name === name);
  if (found === undefined) throw new Error(`there is no fault "${name}"`);
  return found;
}
