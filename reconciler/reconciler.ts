import type { Registry } from "prom-client";
import { sleep, type Log } from "../engine/index.ts";
import { Inventory, type NotRead } from "./actual/inventory.ts";
import { Apply, type Order } from "./apply/apply.ts";
import type { AppliedEngine } from "./apply/carry-out.ts";
import { Journal } from "./apply/journal.ts";
import { Operations } from "./apply/operations.ts";
import type { Outcome } from "./apply/outcome.ts";
import type { DesiredPipeline, DesiredState } from "./desired/desired-state.ts";
import type { FileReader } from "./desired/file-reader.ts";
import { Loader } from "./desired/load.ts";
import { type PollResult, SourcePoller } from "./git/source-poller.ts";
import { Holds } from "./holds/holds.ts";
import { noVariables, type Variables } from "./language/variables.ts";
import { PinnedSource } from "./holds/pinned-source.ts";
import { followedAfter, followedSource, isSameSource } from "./holds/source-change.ts";
import { Operator } from "./operator.ts";
import { commitIn, filesOf, unreadPaths, withoutWaiting, type Revision, type RevisionSource } from "./git/revision.ts";
import { parseDeletionLimit } from "./plan/budget.ts";
import { isStopByOperator, type Plan } from "./plan/change.ts";
import type { Level } from "./plan/level.ts";
import { type HistoryPage, OperationHistory, type PageRequest } from "./apply/history.ts";
import { type LastPlanned, Planner } from "./planner.ts";
import type { LiveState } from "./preview/live-state.ts";
import { Requests } from "./status/reconcile-request.ts";
import { type ReconcileSnapshot, Status } from "./status/status.ts";
import { jittered, type Trigger, type Turn, untilRetry } from "./status/turn.ts";
import { createTelemetry, type Telemetry } from "./status/telemetry.ts";

export type { ReconcileSnapshot } from "./status/status.ts";

export interface ReconcilerOptions {
  source: RevisionSource;
  engine: AppliedEngine;
  /** Where the inventory is stored. The folder exists and belongs to this process alone. */
  dataDir: string;
  log: Log;
  registry: Registry;
  /** Milliseconds between two polls of the source. */
  interval: number;
  /** How many pipelines one revision may delete, such as `5 or 20%`, which is the default: of a folder the lesser of both. */
  maxDeletions?: string;
  /** Changes of this level and graver ones wait for an approval in Git; by default none does. */
  approve?: Level;
  /**
   * The variables of the files, read again at each turn: the same object while none has changed. Default none. A turn
   * whose variables cannot be read changes nothing.
   */
  variables?: () => Promise<Variables>;
  /** What reads files; by default this thread. */
  reader?: FileReader;
  /** Milliseconds that a turn waits for slow changes, default 10,000; they continue during the next turns. */
  applyTimeout?: number;
}

/** Milliseconds. */
const defaultApplyTimeout = 10_000;

/** Milliseconds that what an operator ordered waits for the source, which may bring another commit with it. */
const orderPatience = 1_000;

/** What is known where no file was read since the start of this process. */
const noFiles = { sha: "", files: [], skipped: [] };
const noDesire: DesiredState = { pipelines: [], refused: [], problems: [] };

/** Triggers that wait for the back-off of a failed source. A person, or a change, does not wait. */
const respectsBackOff: ReadonlySet<Trigger> = new Set<Trigger>(["poll", "retry"]);

/**
 * Makes the engine match the source in a loop: fetch a revision, load its files, observe the engine, plan, apply. A
 * step that fails ends the turn and leaves running pipelines as they are. If the source cannot be read, the turn
 * continues with the last good revision, where one is known.
 */
export class Reconciler {
  /** The commands of an operator. */
  readonly operator: Operator;
  readonly #options: ReconcilerOptions;
  readonly #source: PinnedSource;
  readonly #holds: Holds;
  readonly #requests = new Requests();
  readonly #poller: SourcePoller;
  readonly #inventory: Inventory;
  readonly #telemetry: Telemetry;
  readonly #history: OperationHistory;
  readonly #apply: Apply;
  readonly #status: Status;
  readonly #planner: Planner;
  readonly #loader: Loader;
  readonly #variables: () => Promise<Variables>;
  #loaded: { revision: Revision; variables: Variables; desired: DesiredState } | undefined;
  /** The newest files that a plan was made for: while it is carried out, those of the last turn say less than what runs. */
  #planned: LastPlanned = { pipelines: [] };
  #pending: Trigger | undefined;
  #endPause: (() => void) | undefined;
  #isTurning = false;
  /** An operator has ordered something that no plan has considered yet. */
  #hasOrder = false;
  /** Ends the wait of a turn for the source. */
  #endFetchWait: (() => void) | undefined;
  /** Why the source is to be read once more after the fetch that is under way. */
  #again: Trigger | undefined;

  /** Reads the inventory, the journal of operations, and suspensions. Throws where one of the first two is damaged. */
  constructor(options: ReconcilerOptions) {
    const { engine, log, registry, dataDir, reader, approve } = options;
    this.#options = options;
    this.#loader = new Loader(reader);
    const inventory = (this.#inventory = Inventory.read(dataDir));
    const holds = (this.#holds = Holds.read(dataDir));
    const telemetry = (this.#telemetry = createTelemetry(log, registry));
    if (holds.damage !== undefined) telemetry.holdsDamaged(holds.damage);
    const source = (this.#source = new PinnedSource(options.source, holds, (...over) => telemetry.pinLifted(...over)));
    this.#poller = new SourcePoller(source, options.interval);
    this.#history = OperationHistory.read(dataDir);
    const operations = new Operations(Journal.read(dataDir), this.#history, telemetry);
    const onLate = (outcome: Outcome): void => this.#late(outcome);
    const isSuspended = (id: string): boolean => holds.of(id) !== undefined;
    this.#apply = new Apply({ engine, inventory, operations, telemetry, onLate, isSuspended });
    const busy = (): Apply["busy"] => this.#apply.busy;
    const limit = parseDeletionLimit(options.maxDeletions ?? "5 or 20%", options.source.description.kind);
    const variables = (this.#variables = options.variables ?? (async () => noVariables));
    const limits = { limit, approve };
    this.#planner = new Planner({ source, engine, inventory, operations, holds, ...limits, variables, busy, reader });
    const shared = { source, engine, inventory, holds, requests: this.#requests, busy };
    this.#status = new Status(shared);
    const isWorking = (): boolean => this.#isTurning || this.#pending !== undefined;
    this.operator = new Operator({
      ...shared,
      operations,
      status: this.#status,
      telemetry,
      preview: (revision) => this.#planner.preview(revision),
      described: () => this.#planned.pipelines,
      isWorking,
      look: () => this.trigger(),
      order: () => this.#order(),
    });
    telemetry.exposeState(() => this.snapshot());
  }

  /** Takes turns until `signal` aborts: one at once, then one after each interval and one after each trigger. */
  async run(signal: AbortSignal): Promise<void> {
    const source = this.#source;
    signal.addEventListener("abort", () => this.#endPause?.(), { once: true });
    try {
      await source.watch(() => this.trigger("change"));
      let trigger: Trigger = "start";
      while (!signal.aborted) trigger = await this.#pause(await this.turn(trigger, signal), signal);
    } finally {
      await this.#poller.idle();
      await source.close();
    }
  }

  /** Requests a turn. All calls before it begins cause one turn, which waits for no back-off if one of them does not. */
  trigger(trigger: Trigger = "manual"): void {
    if (this.#pending === undefined || respectsBackOff.has(this.#pending)) this.#pending = trigger;
    this.#endPause?.();
  }

  /** Requests a turn that does not wait for a source that is slow. */
  #order(): void {
    this.#hasOrder = true;
    this.#endFetchWait?.();
    this.trigger();
  }

  /** The commit of the followed ref that was read last, in full; undefined where none was. */
  get tip(): string | undefined {
    return this.#source.tip;
  }

  snapshot(): ReconcileSnapshot {
    return this.#status.snapshot();
  }

  /** What a plan would depend on at this moment, without secrets. */
  actual(): LiveState {
    return this.#planner.live(this.#planned);
  }

  /** The completed operations, newest first; kept over restarts. */
  history(request: PageRequest): HistoryPage {
    return this.#history.page(request);
  }

  /** One turn. Never throws: its result has the error. Must not be called while another one is under way. */
  async turn(trigger: Trigger, signal: AbortSignal): Promise<Turn> {
    const requestedAt = this.#requests.newest;
    const turn: Turn = {
      trigger,
      started: new Date(),
      began: performance.now(),
      ...(requestedAt !== undefined && { requestedAt }),
    };
    this.#isTurning = true;
    this.#telemetry.turnBegan();
    try {
      await this.#fetch(turn, signal);
      await this.#load(turn, signal);
      await this.#plan(turn);
      await this.#carryOut(turn, signal);
    } catch (error) {
      turn.error = error instanceof Error ? error : new Error(String(error));
      if (turn.plan === undefined) await this.#stopAllTheSame(signal);
    } finally {
      if (!signal.aborted) await this.#record(turn);
      this.#isTurning = false;
    }
    return turn;
  }

  async #fetch(turn: Turn, signal: AbortSignal): Promise<void> {
    const isUrgent = !respectsBackOff.has(turn.trigger);
    const { last_applied_revision } = this.#inventory.state;
    if (last_applied_revision !== undefined) this.#source.noteApplied(commitIn(last_applied_revision));
    const polled = await this.#polled(isUrgent, signal);
    if (polled.isPending === true || polled.isInterrupted === true) turn.isFetching = true;
    if (polled.isInterrupted === true) this.trigger(turn.trigger);
    if (polled.mark !== undefined) turn.readSince = polled.mark;
    if (polled.isJoined === true && isUrgent) this.#again = turn.trigger;
    if (polled.isPending !== true && this.#again !== undefined) {
      this.trigger(this.#again);
      this.#again = undefined;
    }
    const error = polled.error && this.#poller.explained(polled.error);
    if (polled.revision === undefined)
      throw error ?? new Error("the source was needed before it was read: it is read again");
    turn.revision = polled.revision;
    this.#telemetry.sourcePlaced(this.#source.description.url, polled.revision);
    if (error !== undefined) turn.fetchError = error;
  }

  /**
   * Waits for a fetch as long as the interval, so that drift is looked for meanwhile, and shortly where an operator has
   * ordered something, or for one that was waited for before. It goes on then, and its end causes a turn.
   */
  async #polled(isUrgent: boolean, signal: AbortSignal): Promise<PollResult> {
    const wait = new AbortController();
    const patience = (isJoined: boolean): Promise<void> => {
      const longest = this.#hasOrder ? orderPatience : this.#options.interval;
      this.#endFetchWait = () => wait.abort();
      return sleep(isJoined ? 0 : longest, wait.signal);
    };
    const mark = this.#requests.newest;
    try {
      return await this.#poller.poll(isUrgent, signal, {
        onRequest: (...request) => this.#telemetry.gitRequestEnded(...request),
        onLate: () => this.trigger("poll"),
        patience,
        ...(mark !== undefined && { mark }),
      });
    } finally {
      this.#endFetchWait = undefined;
      wait.abort();
    }
  }

  /** The same revision has the same files, so they are not loaded again while the variables are the same. */
  async #load(turn: Turn, signal: AbortSignal): Promise<void> {
    const { revision } = turn;
    if (revision === undefined) return;
    this.#hasOrder = false;
    const variables = await this.#variables();
    if (this.#loaded?.revision !== revision || this.#loaded.variables !== variables) {
      const unread = unreadPaths(revision, Object.keys(this.#inventory.state.not_read ?? {}));
      const read = await this.#loader.load(filesOf(revision), signal, variables, unread);
      this.#loaded = { revision, variables, desired: read };
    }
    turn.desired = this.#planner.desiredOf(this.#loaded.desired);
    turn.revision = withoutWaiting(revision, turn.desired.ignored ?? []);
    this.#telemetry.revisionLoaded(turn);
  }

  async #plan(turn: Turn): Promise<void> {
    const { revision, desired: read } = turn;
    if (revision === undefined || read === undefined) return;
    const made = await this.#planner.make(revision, read);
    const { plan, desired, pipelines, suspended, whileSuspended, sourceChange, notRead } = made;
    turn.plan = plan;
    turn.desired = desired;
    turn.notRead = notRead;
    if (whileSuspended !== undefined) turn.whileSuspended = whileSuspended;
    turn.pipelines = pipelines;
    this.#planned = { revision: revision.id, pipelines: desired.pipelines };
    turn.suspended = suspended;
    if (sourceChange !== undefined) turn.sourceChange = sourceChange;
    else this.#follow(revision, notRead);
    this.#telemetry.planMade(plan);
  }

  /**
   * The next revision is not compared with what was followed for a while only: an earlier commit that is pinned, a
   * redirect, a folder that may be half of a copy. Nor does a commit that is pinned decide that its source has everything.
   */
  #follow(revision: Revision, notRead: NotRead): void {
    const { source: before } = this.#inventory.state;
    if (before !== undefined && this.#holds.state.pin?.commit === revision.sha) return;
    const to = followedSource(this.#source.description, revision);
    const followed = followedAfter(before, to);
    const isKnown = revision.settling === undefined && isSameSource(followed, to);
    this.#inventory.follow(followed, isKnown ? notRead : undefined);
  }

  /** While everything is suspended, only stops and repairs; the plan names the waiting changes. */
  async #carryOut(turn: Turn, signal: AbortSignal): Promise<void> {
    const { suspended = new Set<string>(), pipelines, revision } = turn;
    const plan = this.#holds.state.everything === undefined ? turn.plan : turn.whileSuspended;
    if (plan === undefined || pipelines === undefined || revision === undefined) return;
    turn.outcomes = await this.#apply.carryOut(this.#orderOf({ pipelines, suspended }, plan, revision), signal);
  }

  #orderOf(
    { pipelines, suspended }: { pipelines: readonly DesiredPipeline[]; suspended: ReadonlySet<string> },
    plan: Plan,
    { id: revision, author, subject }: Revision,
  ): Order {
    return {
      plan,
      suspended,
      desired: new Map(pipelines.map((one) => [one.pipeline_id, one])),
      origin: { revision, ...(author !== undefined && { author }), ...(subject !== undefined && { subject }) },
      applyTimeout: this.#options.applyTimeout ?? defaultApplyTimeout,
    };
  }

  /** Makes the stops of an operator where no new plan can be made, by the newest files that could be read, or without any. */
  async #stopAllTheSame(signal: AbortSignal): Promise<void> {
    if (signal.aborted || Object.keys(this.#holds.state.stops ?? {}).length === 0) return;
    const id = this.#inventory.state.last_attempted_revision ?? "none";
    const { revision, desired } = this.#loaded ?? { revision: { ...noFiles, id }, desired: noDesire };
    try {
      const made = await this.#planner.make(revision, this.#planner.desiredOf(desired));
      const plan = made.whileSuspended;
      if (plan?.changes.some(isStopByOperator) !== true) return;
      const partial = this.#loaded === undefined ? ({ isPartial: true } as const) : {};
      await this.#apply.carryOut({ ...this.#orderOf(made, plan, revision), ...partial }, signal);
    } catch {
      // What ended the turn is told.
    }
  }

  /** The one place where a turn becomes status, metrics and log. */
  async #record(turn: Turn): Promise<void> {
    this.#status.record(turn);
    this.#telemetry.turnEnded(turn);
    await this.#save();
  }

  #late(outcome: Outcome): void {
    this.#status.late(outcome);
    void this.#save();
    this.trigger("retry");
  }

  async #save(): Promise<void> {
    try {
      await this.#inventory.save();
    } catch (error) {
      this.#telemetry.inventoryNotSaved(error);
    }
  }

  /** Waits for what comes first: a call of `trigger`, the next try of what failed, or the interval. */
  async #pause(turn: Turn, signal: AbortSignal): Promise<Trigger> {
    const poll = this.#poller.wait ?? jittered(this.#options.interval);
    const retry = Math.min(untilRetry(turn), this.#holds.untilNextEnd);
    const pause = new AbortController();
    this.#endPause = () => pause.abort();
    if (this.#pending === undefined && !signal.aborted) {
      await sleep(Math.min(poll, retry), pause.signal);
    }
    this.#endPause = undefined;
    const trigger = this.#pending ?? (retry < poll ? "retry" : "poll");
    this.#pending = undefined;
    return trigger;
  }
}
