import { EventEmitter, once } from "node:events";
import { Registry } from "prom-client";
import { Engine, EngineError } from "../../../engine/index.ts";
import type { DesiredPipeline } from "../../../reconciler/desired/desired-state.ts";
import { load } from "../../../reconciler/desired/load.ts";
import type { Call } from "../../../reconciler/plan/calls.ts";
import { keptLog, tableOfSecrets } from "../../support/engine.ts";
import type { Fault } from "./fault.ts";
import { fileOf, kept } from "./scene.ts";
import type { Scene } from "./scene.ts";

const [first, second, third] = kept;

/** What the engine, and whoever else has a hand on it, can do. */
export const engineFaults: readonly Fault[] = [
  {
    name: "a pipeline is made, and the answer is lost",
    pushes: true,
    calls: ["create new-one", "stop new-one", "delete new-one"],
    begin: async (scene) => {
      scene.witness.after = failOnce("create", "new-one");
      await scene.push({ "new-one.yaml": fileOf("new-one") });
      return () => scene.push({ "new-one.yaml": null }).then(() => undefined);
    },
    told: "ReconciliationSucceeded",
    of: "new-one",
    isHarmless: true,
  },
  {
    name: "a stop that does not end, while others change",
    told: "Progressing",
    of: first,
    pushes: true,
    isHarmless: true,
    calls: [`stop ${first}`, `update ${first}`, `resume ${first}`],
    begin: async (scene) => {
      const release = holdUp(scene, "stop", first);
      await scene.push({ [`${first}.yaml`]: fileOf(first, { expression: "id > -1" }) });
      await scene.push();
      return async () => {
        release();
        await scene.push({ [`${first}.yaml`]: fileOf(first) });
      };
    },
  },
  {
    name: "a terminate during a stop",
    told: "Progressing",
    of: "ending",
    pushes: true,
    isHarmless: true,
    terminates: true,
    calls: ["create ending", "stop ending", "terminate ending", "delete ending"],
    begin: async (scene) => {
      await scene.push({ "ending.yaml": fileOf("ending") });
      await scene.stands("ending", "Running");
      const release = holdUp(scene, "stop", "ending");
      await scene.push({ "ending.yaml": fileOf("ending", { sluice: ["state: Stopped"] }) });
      await scene.isChanging("ending");
      await scene.push({ "ending.yaml": fileOf("ending", { sluice: ["state: Terminated"] }) });
      return async () => {
        release();
        await scene.stands("ending", "Terminated");
        await scene.push({ "ending.yaml": null });
      };
    },
  },
  {
    name: "an edit that is refused",
    told: "ReconciliationFailed",
    of: second,
    pushes: true,
    isHarmless: true,
    calls: [`stop ${second}`, `update ${second}`, `resume ${second}`],
    begin: async (scene) => {
      scene.witness.before = fail("update", second);
      await scene.push({ [`${second}.yaml`]: fileOf(second, { expression: "id > -1" }) });
      return () => scene.push({ [`${second}.yaml`]: fileOf(second) }).then(() => undefined);
    },
  },
  {
    name: "one pipeline that can never be made, among others",
    told: "ReconciliationFailed",
    of: "never",
    pushes: true,
    isHarmless: true,
    calls: ["create never", "create other", "stop other", "delete other"],
    begin: async (scene) => {
      scene.witness.before = fail("create", "never");
      await scene.push({ "never.yaml": fileOf("never"), "other.yaml": fileOf("other") });
      return () => scene.push({ "never.yaml": null, "other.yaml": null }).then(() => undefined);
    },
  },
  {
    name: "changed by hand",
    calls: [`tag ${third}`, `rename ${third}`],
    begin: async ({ engine }) => {
      await engine.engine.tag(third, ["by-hand"]);
      await engine.engine.rename(third, "By hand");
      return () => undefined;
    },
  },
  {
    name: "stopped by hand",
    calls: [`resume ${third}`],
    begin: async ({ engine }) => {
      await engine.engine.stop(third);
      return () => undefined;
    },
  },
  {
    name: "deleted by hand",
    calls: ["create by-hand", "stop by-hand", "delete by-hand"],
    pushes: true,
    begin: async (scene) => {
      await scene.push({ "by-hand.yaml": fileOf("by-hand") });
      await scene.stands("by-hand", "Running");
      await scene.engine.engine.stop("by-hand");
      await scene.engine.engine.delete("by-hand");
      await scene.stands("by-hand", "Running");
      return () => scene.push({ "by-hand.yaml": null }).then(() => undefined);
    },
  },
  {
    name: "a pipeline of somebody else",
    calls: [],
    begin: async ({ engine }) => {
      const { config, options } = described("stranger");
      await engine.engine.create(config, options);
      return async () => {
        await engine.engine.stop("stranger");
        await engine.engine.delete("stranger");
      };
    },
  },
  {
    name: "a second Sluice on the same data dir",
    begin: async ({ engine: { dataDir } }) => {
      const settings = { dataDir, log: keptLog(), registry: new Registry(), secrets: tableOfSecrets() };
      const opened = await Engine.open(settings).then(
        (other) => other.close().then(() => "opened"),
        (error: unknown) => (error instanceof EngineError ? error.code : String(error)),
      );
      if (opened !== "DATA_DIR_HELD") throw new Error(`a second engine: expected DATA_DIR_HELD, found ${opened}`);
      return () => undefined;
    },
  },
];

/** What a file of this pipeline asks for. */
function described(pipeline_id: string): DesiredPipeline {
  const [pipeline] = load([{ path: "by-hand.yaml", bytes: Buffer.from(fileOf(pipeline_id)) }]).pipelines;
  if (pipeline === undefined) throw new Error(`${pipeline_id}: expected a valid pipeline file`);
  return pipeline;
}

function fail(call: Call, pipeline_id: string): (made: Call, of: string) => void {
  return (made, of) => {
    if (made === call && of === pipeline_id) throw new Error("disturbed on purpose");
  };
}

function failOnce(call: Call, pipeline_id: string): (made: Call, of: string) => void {
  let isDone = false;
  return (made, of) => {
    if (isDone || made !== call || of !== pipeline_id) return;
    isDone = true;
    throw new Error("the answer is lost on purpose");
  };
}

/** Holds a call up until it is told to go on. */
function holdUp(scene: Scene, call: Call, pipeline_id: string): () => void {
  const gate = new EventEmitter();
  const opened = once(gate, "open").then(() => undefined);
  scene.witness.before = (made, of) => (made === call && of === pipeline_id ? opened : undefined);
  return () => void gate.emit("open");
}
