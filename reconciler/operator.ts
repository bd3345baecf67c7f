import type { RewindPlan } from "../engine/index.ts";
import type { ObservedEngine } from "./actual/snapshot.ts";
import type { Operations } from "./apply/operations.ts";
import type { Inventory } from "./actual/inventory.ts";
import type { Underway } from "./actual/state.ts";
import type { DesiredPipeline } from "./desired/desired-state.ts";
import { commitIn, type Revision, type WaitingCommit } from "./git/revision.ts";
import { type Hold, HoldError, ownHold, stoppedId, type StopHold, suspendedId } from "./holds/hold.ts";
import type { Holds } from "./holds/holds.ts";
import type { SourceChange } from "./holds/source-change.ts";
import type { PinnedSource } from "./holds/pinned-source.ts";
import type { Change, Plan } from "./plan/change.ts";
import { endOf, type ReconcileAnswer, type Requested, type Requests } from "./status/reconcile-request.ts";
import { printPlan, shownChange, type ShownChange, someOf } from "./plan/render/index.ts";
import type { Status } from "./status/status.ts";
import type { Telemetry } from "./status/telemetry.ts";
import { printable } from "./language/problem.ts";

/** Who asks, as they call themselves, and why. */
export type Asker = Omit<Hold, "since">;

/** The result of a suspension or resumption by an operator. */
export interface SuspensionResult {
  /** Absent for everything. */
  pipeline_id?: string;
  /** The suspension that was set, or lifted. */
  hold: Hold;
  /** Pipelines with a change under way, which is completed. */
  under_way: string[];
}

/** The result of a rollback. */
export interface Rollback {
  revision: string;
  commit: string;
  author?: string;
  subject?: string;
  /** The newest revision: when the followed ref moves on from it, the pin ends. */
  head: string;
  /** The plan for people, as known at this moment, and its changes as data. */
  plan: string;
  changes: ShownChange[];
}

export interface OperatorDependencies {
  source: PinnedSource;
  engine: ObservedEngine;
  inventory: Pick<Inventory, "state" | "follow" | "save">;
  operations: Pick<Operations, "note">;
  holds: Holds;
  status: Status;
  requests: Requests;
  telemetry: Telemetry;
  busy: () => ReadonlyMap<string, Underway>;
  /** The plan of a turn on this revision at this moment. */
  preview: (revision: Revision) => Plan | Promise<Plan>;
  /** The pipelines of the newest files that a plan was made for. */
  described: () => readonly DesiredPipeline[];
  /** A turn is under way, or is asked for. */
  isWorking: () => boolean;
  /** Asks for a turn that reads the source. */
  look: () => void;
  /** Asks for a turn that carries out an order, and waits little for the source. */
  order: () => void;
}

/** Milliseconds. */
const longestStop = 30 * 24 * 3_600_000;
/** Partitions that a record of a rewind names. */
const mostPlaces = 20;
/** Milliseconds that a rollback waits for the repository. */
const rollbackTimeout = 120_000;

/** The commands of an operator. They never call the engine: the next turn follows them. */
export class Operator {
  readonly #dependencies: OperatorDependencies;

  constructor(dependencies: OperatorDependencies) {
    this.#dependencies = dependencies;
  }

  /** Requests a turn now; returns the token that is echoed when it has ended. */
  reconcile(of: Requested = "source"): string {
    const { requests, look, order } = this.#dependencies;
    const token = requests.ask();
    if (of === "turn") order();
    else look();
    return token;
  }

  answerTo(token: string, of: Requested = "source"): ReconcileAnswer {
    const { requests, status, busy, isWorking } = this.#dependencies;
    const under_way = [...busy().keys()];
    const turn = status.last;
    if (!requests.isHandled(token, of) || turn === undefined) {
      return { requested_at: token, state: "waiting", under_way, open: [], problems: [] };
    }
    const state = under_way.length > 0 || isWorking() ? "under way" : "ended";
    return { requested_at: token, state, under_way, ...endOf(turn, status.snapshot()) };
  }

  /**
   * Follows another source than before, of which a turn found that it lacks pipelines; or `commit`, which does not
   * descend from the one that was followed last. Throws HoldError where nothing, or another commit, waits for that.
   */
  async approve({ by }: Asker, commit?: string): Promise<SourceChange | WaitingCommit> {
    const { inventory, source, status, telemetry, order } = this.#dependencies;
    if (source.waiting !== undefined) return this.#approveCommit(source.waiting, by, commit);
    if (commit !== undefined) throw new HoldError("no commit waits for an approval");
    const { sourceChange: change, notRead } = status.last ?? {};
    if (change === undefined) throw new HoldError("nothing waits for an approval");
    inventory.follow(change.to, notRead);
    await inventory.save();
    telemetry.approved(change, by);
    order();
    return change;
  }

  /** It has to be named: another one may have been pushed since the operator looked. */
  async #approveCommit(waiting: WaitingCommit, by?: string, commit?: string): Promise<WaitingCommit> {
    const { source, telemetry, order } = this.#dependencies;
    const { from, to } = waiting;
    if (commit?.toLowerCase() !== to) {
      const found = commit === undefined ? "none" : printable(commit.slice(0, 100));
      const what = `expected the commit that waits for an approval, found ${found}`;
      throw new HoldError(`${what}: ${to} does not descend from ${from}; look at it, then run "sluice approve ${to}"`);
    }
    await source.approve(to);
    telemetry.commitApproved(waiting, by);
    order();
    return waiting;
  }

  /** Suspends a pipeline, or everything, until it is resumed. Throws HoldError. */
  async suspend(pipeline_id: string | undefined, asker: Asker): Promise<SuspensionResult> {
    const { holds, status, engine, telemetry } = this.#dependencies;
    const isKnown = (id: string): boolean =>
      status.knows(id) || engine.list().some((one) => one.pipeline_id === id) || holds.of(id) !== undefined;
    if (pipeline_id !== undefined && !isKnown(pipeline_id)) {
      throw new HoldError(`there is no pipeline ${printable(pipeline_id)}, and no file describes one`);
    }
    const hold = await holds.suspend(pipeline_id, asker);
    telemetry.suspended(pipeline_id, hold);
    return this.#suspensionResult(pipeline_id, hold);
  }

  /** Lifts a suspension, or the stop of a pipeline. Throws HoldError where there is none. */
  async resume(named: string | undefined, { by }: Asker): Promise<SuspensionResult> {
    const { holds, telemetry } = this.#dependencies;
    const of = named === undefined ? undefined : this.#named(named);
    const stop = of && (await holds.start(stoppedId(holds.state, of)));
    const pipeline_id = of && suspendedId(holds.state, of);
    const isSuspended = pipeline_id === undefined || ownHold(holds.state, pipeline_id) !== undefined;
    const hold = stop !== undefined && !isSuspended ? stop : await holds.resume(pipeline_id);
    telemetry.resumed(pipeline_id, by);
    return this.#suspensionResult(pipeline_id, hold);
  }

  /**
   * Stops or terminates a pipeline without a commit for so many milliseconds. Throws HoldError for one that was not created
   * from this source, and that no file describes.
   */
  async stop(
    pipeline_id: string,
    milliseconds: number,
    asker: Asker,
    way?: StopHold["way"],
  ): Promise<SuspensionResult> {
    const { holds, telemetry } = this.#dependencies;
    this.#mustBeOurs(pipeline_id);
    if (!(milliseconds > 0 && milliseconds <= longestStop)) {
      throw new HoldError(`--for: expected a time of at most 30 days, found ${milliseconds} ms`);
    }
    const until = new Date(Date.now() + milliseconds).toISOString();
    const hold = await holds.stop(pipeline_id, { ...asker, until, ...(way !== undefined && { way }) });
    telemetry.stopped(pipeline_id, hold);
    return this.#suspensionResult(pipeline_id, hold);
  }

  /** The pipeline that either of its ids names, where it is to be moved. */
  #named(pipeline_id: string): Pick<Change, "pipeline_id" | "moved_from"> {
    const isOf = (change: Change): boolean => [change.pipeline_id, change.moved_from].includes(pipeline_id);
    return this.#dependencies.status.last?.plan?.changes.find(isOf) ?? { pipeline_id };
  }

  /** Records that a pipeline was rewound, which the engine has done since `began`. */
  rewound({ pipeline_id, partitions, events }: RewindPlan, { by, reason }: Asker, began: Date): Promise<void> {
    const { inventory, operations } = this.#dependencies;
    const { pipelines, last_attempted_revision } = inventory.state;
    const ended = new Date();
    const places = partitions.map(({ topic, partition, from, to }) => `${topic}/${partition} from ${from} to ${to}`);
    return operations.note({
      pipeline_id,
      revision: pipelines[pipeline_id]?.revision ?? last_attempted_revision ?? "none",
      ...(by !== undefined && { author: by }),
      ...(reason !== undefined && { subject: reason }),
      plan: {
        kind: "rewind",
        cause: "RewoundByOperator",
        effect: "restart",
        events: "rows",
        reason: printable(`${events} offsets are read again: ${someOf(places, mostPlaces)}`),
        calls: [],
        fields: [],
      },
      began: began.toISOString(),
      ended: ended.toISOString(),
      result: "applied",
      measured: {
        seconds: (ended.getTime() - began.getTime()) / 1000,
        events_drained: 0,
        errors: 0,
        retries: 0,
        calls: [],
      },
    });
  }

  /** Its file may be one that cannot be used, or gone: what runs has to be stopped in time, whatever the reason. */
  #mustBeOurs(pipeline_id: string): void {
    const { engine, inventory, described } = this.#dependencies;
    const isThere = engine.list().some((one) => one.pipeline_id === pipeline_id);
    const isOwned = isThere && Object.hasOwn(inventory.state.pipelines, pipeline_id);
    if (isOwned || described().some((one) => one.pipeline_id === pipeline_id)) return;
    const found = isThere ? "one that was not" : "none";
    throw new HoldError(
      `${printable(pipeline_id)}: expected a pipeline that was created from this source, found ${found}; "sluice get" lists them`,
    );
  }

  /**
   * Pins a commit, or with `isDry` only returns the plan. `revision` is a commit, or the id of a revision; of recently
   * seen ones, the first digits are enough. Throws HoldError and SourceError.
   */
  async rollBack(revision: string, asker: Asker, isDry: boolean): Promise<Rollback> {
    const { source, holds, telemetry, preview } = this.#dependencies;
    const found = await source.target(this.#commitOf(revision), AbortSignal.timeout(rollbackTimeout));
    const { id, sha, author, subject } = found.revision;
    const who = { ...(author !== undefined && { author }), ...(subject !== undefined && { subject }) };
    const plan = await preview(found.revision);
    const shown = { plan: printPlan(plan), changes: plan.changes.map(shownChange) };
    const rollback = { revision: id, commit: sha, ...who, head: found.head.id, ...shown };
    if (isDry) return rollback;
    const { branch, redirected, sha: head } = found.head;
    const place = { ...(branch !== undefined && { branch }), ...(redirected !== undefined && { redirected }) };
    const pin = await holds.pin({ ...asker, ...who, commit: sha, revision: id, head, ...place });
    telemetry.pinned(pin);
    this.#dependencies.order();
    return rollback;
  }

  /** Lifts the pin; returns the revision that was pinned. Throws HoldError where there is none. */
  async cancelRollback({ by }: Asker): Promise<{ revision: string }> {
    const { holds, telemetry } = this.#dependencies;
    const { pin } = holds.state;
    if (pin === undefined) throw new HoldError("no commit is pinned");
    await holds.unpin();
    telemetry.unpinned(pin, by);
    this.#dependencies.order();
    return { revision: pin.revision };
  }

  #suspensionResult(pipeline_id: string | undefined, hold: Hold): SuspensionResult {
    this.#dependencies.order();
    const busy = [...this.#dependencies.busy().keys()];
    const under_way = busy.filter((id) => pipeline_id === undefined || id === pipeline_id);
    return { ...(pipeline_id !== undefined && { pipeline_id }), hold, under_way };
  }

  /** First digits are completed from the revisions that were seen. */
  #commitOf(revision: string): string {
    const digits = commitIn(revision).toLowerCase();
    if (/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(digits)) return digits;
    const given = JSON.stringify(revision.slice(0, 100));
    if (!/^[0-9a-f]{7,64}$/.test(digits)) {
      throw new HoldError(`expected a commit, or a revision such as main@sha1:1a2b3c4…, found ${given}`);
    }
    const seen = new Set(this.#dependencies.status.revisions.map(commitIn));
    const [found, ...others] = [...seen].filter((sha) => sha.startsWith(digits));
    if (found !== undefined && others.length === 0) return found;
    const many = found === undefined ? "none of the last revisions begins" : "several of the last revisions begin";
    throw new HoldError(`${many} with ${given}: give all digits of the commit, as "git rev-parse" prints them`);
  }
}
