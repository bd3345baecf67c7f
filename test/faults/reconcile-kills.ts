import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Daemon, Listeners } from "../../examples/quickstart/daemon.ts";
import { Catalog } from "../../engine/catalog/catalog.ts";
import { Store } from "../../engine/state/store.ts";
import type { InventoryState } from "../../reconciler/actual/inventory.ts";
import type { HistoryPage, OperationRecord } from "../../reconciler/apply/history.ts";
import { freeListeners, token, tokenEnv, Workplace } from "../support/daemon.ts";
import { Random } from "../support/random.ts";
import { EventMix } from "./event-mix.ts";
import { findAll } from "./found.ts";
import { Ledger } from "./ledger.ts";
import { Poster } from "./poster.ts";
import { changedPipelines, type ChangedPipeline } from "./reconcile-changes.ts";
import { applySteps, type ApplyStep } from "./reconcile-steps.ts";
import { Trap } from "./trap.ts";

export interface ReconcileKillsOptions {
  /** Kills to be carried out, at the least. */
  kills: number;
  /** Pipelines of each kind of change. */
  ofEach: number;
  /** Steps of the first kills; the others are drawn. */
  steps?: readonly ApplyStep[];
  seed: number;
  /** Milliseconds between two events that are posted to one pipeline. */
  rest?: number;
  /** Each killed daemon is followed by a standby that waits already. */
  withStandby?: boolean;
  log?: (line: string) => void;
}

export interface ReconcileKillsReport {
  kills: number;
  /** Kills by step. */
  steps: Record<string, number>;
  commits: number;
  /** Steps that were waited for: a commit may come to its end without one of them. */
  armed: number;
  /** Operations that were carried on after a kill. */
  interrupted: number;
  /** Events that were accepted. */
  accepted: number;
  /** What a promise was not kept for. */
  broken: string[];
}

interface Reconcile {
  conditions: { type: string; status: string; reason: string }[];
}

/** Kills of one commit, after which it is left to come to its end. */
const killsAtMost = 14;

/**
 * Changes pipelines in every way that there is while events are posted to them, and kills the daemon with SIGKILL at the
 * steps of that; then looks at what has become of it.
 */
export async function killWhileReconciling(options: ReconcileKillsOptions): Promise<ReconcileKillsReport> {
  const run = await Run.start(options);
  try {
    return await run.all();
  } finally {
    await run.clean();
  }
}

class Run {
  readonly #options: ReconcileKillsOptions;
  readonly #place: Workplace;
  readonly #trap: Trap;
  readonly #listeners: Listeners;
  readonly #random: Random;
  readonly #pipelines: ChangedPipeline[];
  readonly #ledgers = new Map<string, Ledger>();
  readonly #steps: ApplyStep[];
  readonly #report: ReconcileKillsReport = {
    kills: 0,
    steps: {},
    armed: 0,
    commits: 0,
    interrupted: 0,
    accepted: 0,
    broken: [],
  };
  #posters: Poster[] = [];
  #waiting: Daemon | undefined;
  /** The last record of the commit before. */
  #seen = 0;

  private constructor(options: ReconcileKillsOptions, place: Workplace, trap: Trap, listeners: Listeners) {
    this.#options = options;
    this.#place = place;
    this.#trap = trap;
    this.#listeners = listeners;
    this.#random = new Random(options.seed);
    this.#steps = [...(options.steps ?? [])];
    this.#pipelines = changedPipelines(options.ofEach);
  }

  static async start(options: ReconcileKillsOptions): Promise<Run> {
    const place = await Workplace.make();
    const trap = await Trap.make(place.path, "reconcile-killer.ts");
    return new Run(options, place, trap, await freeListeners());
  }

  async all(): Promise<ReconcileKillsReport> {
    const { kills, withStandby = false, log } = this.#options;
    await this.#say(0);
    let daemon = await this.#converged(await this.#launch(), 0);
    await this.#look(daemon, 0);
    this.#post(daemon);
    if (withStandby) this.#waiting = await this.#launch();
    // The last commit is an odd one, after which every pipeline runs that events are posted to.
    for (let commit = 1; this.#report.kills < kills || commit % 2 === 1; commit += 1) {
      daemon = withStandby ? await this.#applyBeforeStandby(commit, daemon) : await this.#apply(commit, daemon);
      await this.#look(daemon, commit);
      this.#report.commits = commit;
      const { interrupted, broken } = this.#report;
      log?.(`commit ${commit}: ${this.#report.kills} kills, ${interrupted} carried on, ${broken.length} broken`);
    }
    await this.#audit(daemon);
    return this.#report;
  }

  clean(): Promise<void> {
    return this.#place.clean();
  }

  /** Starts daemons until one comes to the end of the commit, each but the last killed at a step. */
  async #apply(commit: number, before: Daemon): Promise<Daemon> {
    await before.stop("SIGKILL");
    await this.#forget();
    await this.#say(commit);
    for (let kill = 0; kill < killsAtMost && this.#report.kills < this.#options.kills; kill += 1) {
      const step = await this.#arm();
      const daemon = await this.#launch().catch(() => undefined);
      if (daemon !== undefined && (await this.#comesThrough(daemon, commit))) return daemon;
      await this.#killed(step);
    }
    return this.#converged(await this.#launch(), commit);
  }

  /** Kills the leader at a step of the commit, whose end the standby comes to. */
  async #applyBeforeStandby(commit: number, leader: Daemon): Promise<Daemon> {
    const standby = this.#waiting;
    if (standby === undefined) throw new Error("expected a standby to wait");
    const step = await this.#arm();
    await this.#say(commit);
    if (await this.#comesThrough(leader, commit)) return leader;
    await this.#killed(step);
    await standby.until(async () => ((await isLed(standby)) ? true : undefined), "to take the data dir over");
    this.#waiting = await this.#launch();
    return this.#converged(standby, commit);
  }

  async #arm(): Promise<ApplyStep> {
    this.#report.armed += 1;
    const step = this.#steps.shift() ?? this.#random.pick(...applySteps);
    await this.#trap.arm({ step, pipeline_id: "", nth: 1 + this.#random.below(Math.min(3, this.#options.ofEach)) });
    return step;
  }

  async #killed(step: ApplyStep): Promise<void> {
    await this.#trap.collect();
    this.#report.kills += 1;
    this.#report.steps[step] = (this.#report.steps[step] ?? 0) + 1;
  }

  /** Whether a daemon comes to the end of a commit, and not to the step at which it is killed. */
  async #comesThrough(daemon: Daemon, commit: number): Promise<boolean> {
    try {
      await this.#converged(daemon, commit);
    } catch (error) {
      if (daemon.hasEnded) return false;
      throw error;
    }
    // No change of this commit comes to the step any more.
    await this.#trap.disarm();
    return true;
  }

  #launch(): Promise<Daemon> {
    const standby = this.#options.withStandby === true ? ["--standby"] : [];
    const args = ["--dir", this.#place.pipelines, "--dir-settle", "1s", ...standby];
    return this.#place.start({ args, listeners: this.#listeners, env: { ...tokenEnv, ...this.#trap.env } });
  }

  /** Writes the files of a commit, while nobody reads them. */
  async #say(commit: number): Promise<void> {
    for (const { id, wished } of this.#pipelines) {
      const { text } = wished(commit);
      if (text === undefined) await rm(join(this.#place.pipelines, `${id}.yaml`), { force: true });
      else await this.#place.write(`${id}.yaml`, text);
    }
  }

  /** Takes pipelines out of the inventory, while nobody has it open. */
  async #forget(): Promise<void> {
    const path = join(this.#place.dataDir, "reconciler.json");
    const state = JSON.parse(await readFile(path, "utf8")) as InventoryState;
    for (const { id, isForgotten } of this.#pipelines) if (isForgotten) delete state.pipelines[id];
    await writeFile(path, JSON.stringify(state));
  }

  /** Resolves when every change of a commit is recorded, and nothing is left to do. */
  async #converged(daemon: Daemon, commit: number): Promise<Daemon> {
    const changed = this.#pipelines.filter(({ wished }) => wished(commit).isChanged);
    await daemon.until(async () => {
      const { conditions } = await daemon.get<Reconcile>("/api/v1/reconcile");
      if (conditions[0]?.reason !== "ReconciliationSucceeded") return undefined;
      const applied = new Set(
        (await this.#records(daemon))
          .filter(({ result }) => result === "applied")
          .map(({ pipeline_id }) => pipeline_id),
      );
      return changed.every(({ idAt }) => applied.has(idAt(commit))) ? true : undefined;
    }, "to come to the end of a commit");
    return daemon;
  }

  /** What was recorded since the commit before. */
  async #records(daemon: Daemon): Promise<OperationRecord[]> {
    const { records } = await daemon.get<HistoryPage>("/api/v1/history?limit=1000");
    return records.filter(({ id }) => id > this.#seen);
  }

  #post(daemon: Daemon): void {
    const { rest = 20 } = this.#options;
    for (const { id, isPosted } of this.#pipelines) {
      if (!isPosted) continue;
      const ledger = new Ledger();
      this.#ledgers.set(id, ledger);
      const mix = new EventMix(this.#random, { withBad: false, repeats: 0 });
      this.#posters.push(new Poster({ url: daemon.events, pipeline_id: id, token, mix, ledger, connections: 1, rest }));
    }
  }

  /** Holds what is there, and what was recorded, against what a commit asks for. */
  async #look(daemon: Daemon, commit: number): Promise<void> {
    const there = await daemon.get<{ pipeline_id: string; name: string; status: string }[]>("/api/v1/pipeline");
    const records = await this.#records(daemon);
    for (const { idAt, wished } of this.#pipelines) {
      const id = idAt(commit);
      const { text, status, name, isChanged } = wished(commit);
      const found = there.find(({ pipeline_id }) => pipeline_id === id);
      const isWished = text === undefined ? found === undefined : found?.status === status;
      if (!isWished) this.#broken(commit, id, `is ${found?.status ?? "not there"}, wished is ${status ?? "none"}`);
      if (name !== undefined && found?.name !== name) this.#broken(commit, id, `is named ${found?.name}, not ${name}`);
      this.#judge(
        commit,
        id,
        records.filter((one) => one.pipeline_id === id),
        isChanged,
      );
    }
    this.#seen = Math.max(this.#seen, ...records.map(({ id }) => id));
    for (const { pipeline_id } of there)
      if (!this.#pipelines.some(({ idAt }) => idAt(commit) === pipeline_id))
        this.#broken(commit, pipeline_id, "was never asked for");
  }

  #judge(commit: number, id: string, own: readonly OperationRecord[], isChanged: boolean): void {
    this.#report.interrupted += own.filter(({ interrupted = 0 }) => interrupted > 0).length;
    const applied = own.filter(({ result }) => result === "applied");
    if (applied.length !== (isChanged ? 1 : 0)) {
      const told = own.map(({ plan, result, message = "" }) => `${plan.kind} ${result} ${message}`).join("; ");
      this.#broken(commit, id, `has ${applied.length} applied changes in its history: ${told}`);
    }
    for (const { plan, measured } of own) {
      for (const call of ["create", "update", "move", "delete", "terminate"] as const) {
        const times = measured.calls.filter((made) => made.call === call && made.result === "success").length;
        if (times > 1) this.#broken(commit, id, `was given ${call} ${times} times for one ${plan.kind}`);
        if (times > 0 && !plan.calls.includes(call)) this.#broken(commit, id, `was given ${call}, which no plan named`);
      }
    }
  }

  /** Nothing that was accepted is lost or doubled, and no edit was made twice. */
  async #audit(daemon: Daemon): Promise<void> {
    await Promise.all(this.#posters.map((poster) => poster.stop()));
    for (const [id, ledger] of this.#ledgers) {
      await daemon.settled(id);
      const { accepted, lost, doubled, strangers } = ledger.audit(await findAll(daemon, id), false);
      this.#report.accepted += accepted;
      for (const [what, ids] of Object.entries({ lost, doubled, strangers }))
        if (ids.length > 0)
          this.#broken(this.#report.commits, id, `${ids.length} events ${what}: ${ids.slice(0, 5).join(", ")}`);
    }
    await this.#waiting?.stop("SIGTERM");
    await daemon.stop("SIGTERM");
    const store = Store.open(join(this.#place.dataDir, "state"));
    const revisions = new Map(new Catalog(store, () => new Set()).list().map((one) => [one.pipeline_id, one.revision]));
    await store.close();
    for (const { idAt, wished } of this.#pipelines) {
      const id = idAt(this.#report.commits);
      const { revision } = wished(this.#report.commits);
      const found = revisions.get(id);
      if (found !== revision)
        this.#broken(this.#report.commits, id, `was edited to revision ${found}, not ${revision}`);
    }
    const left = await readFile(join(this.#place.dataDir, "operations.ndjson"), "utf8");
    if (left !== "") this.#report.broken.push(`the journal of operations is not empty at the end: ${left}`);
  }

  #broken(commit: number, id: string, what: string): void {
    this.#report.broken.push(`commit ${commit}: ${id} ${what}`);
    this.#options.log?.(`BROKEN at commit ${commit}: ${id} ${what}`);
  }
}

/** Whether the process that owns the data dir is this one. */
async function isLed(daemon: Daemon): Promise<boolean> {
  return (await daemon.get<{ pid: number }>("/api/v1/info")).pid === daemon.pid;
}

/** Promises that were not kept, and kills that proved nothing. */
export function brokenWhileReconciling(report: ReconcileKillsReport): string[] {
  const { broken, interrupted, accepted, kills, armed } = report;
  return [
    ...broken,
    ...(interrupted === 0 ? ["no change was carried on after a kill, so nothing was tested"] : []),
    ...(kills * 3 < armed ? [`${kills} of ${armed} steps were reached, so little was tested`] : []),
    ...(accepted === 0 ? ["no event was accepted, so nothing was tested"] : []),
  ];
}
