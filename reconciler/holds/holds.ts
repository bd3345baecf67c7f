import { readFileSync } from "node:fs";
import { rename } from "node:fs/promises";
import { join } from "node:path";
import { writeFileDurably } from "../../engine/index.ts";
import { Mutex } from "../../engine/language.ts";
import { suspensionText } from "../plan/render/index.ts";
import { HoldError, holdsMoved, ownHold, parseHolds, stopOf } from "./hold.ts";
import type { Hold, HoldsState, Pin, StopHold } from "./hold.ts";

const longestReason = 500;
const longestName = 100;
const mostPipelines = 10_000;

/**
 * Suspensions and the pin of an operator, in `<data-dir>/holds.json`: they stay over restarts until they are lifted. A
 * file that is damaged suspends everything, because it is unknown which pipelines were suspended.
 */
export class Holds {
  readonly #path: string;
  #state: HoldsState;
  #damage: string | undefined;
  readonly #changes = new Mutex();

  private constructor(path: string, state: HoldsState, damage?: string) {
    this.#path = path;
    this.#state = state;
    this.#damage = damage;
  }

  static read(dataDir: string): Holds {
    const path = join(dataDir, "holds.json");
    let text: string;
    try {
      text = readFileSync(path, "utf8");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return new Holds(path, nothing);
      return Holds.#damaged(path, `cannot be read (${(error as NodeJS.ErrnoException).code})`);
    }
    const state = parseHolds(text);
    return state === undefined ? Holds.#damaged(path, "is damaged") : new Holds(path, state);
  }

  static #damaged(path: string, what: string): Holds {
    const damage =
      `${path} ${what}, so it is unknown what was suspended: everything is suspended now. Restore it and restart, or run ` +
      `"sluice resume", which renames it and begins without any suspension or pin`;
    return new Holds(path, { ...nothing, everything: { since: new Date().toISOString(), reason: damage } }, damage);
  }

  get state(): HoldsState {
    return this.#state;
  }

  /** Why the file could not be read, where that is so. */
  get damage(): string | undefined {
    return this.#damage;
  }

  /** The suspension that applies to this pipeline: its own, else that of everything. */
  of(pipeline_id: string): Hold | undefined {
    return ownHold(this.#state, pipeline_id) ?? this.#state.everything;
  }

  /** Suspends a pipeline, or everything. Throws HoldError where it is suspended already, or the text is too long. */
  async suspend(pipeline_id: string | undefined, { by, reason }: Omit<Hold, "since">): Promise<Hold> {
    this.#refuseDamage();
    const before = pipeline_id === undefined ? this.#state.everything : ownHold(this.#state, pipeline_id);
    const what = pipeline_id ?? "everything";
    if (before !== undefined) throw new HoldError(`${what} is suspended already: ${suspensionText(before)}`);
    mustBeShort(reason);
    if (Object.keys(this.#state.pipelines).length >= mostPipelines) {
      throw new HoldError(`${mostPipelines} pipelines are suspended, which is the maximum: suspend everything`);
    }
    const hold = { since: new Date().toISOString(), ...whoAndWhy(by, reason) };
    if (pipeline_id === undefined) await this.#change((state) => ({ ...state, everything: hold }));
    else await this.#change((state) => ({ ...state, pipelines: { ...state.pipelines, [pipeline_id]: hold } }));
    return hold;
  }

  /** Lifts the suspension of a pipeline, or the one of everything; gives what was lifted. Throws HoldError for none. */
  async resume(pipeline_id: string | undefined): Promise<Hold> {
    if (pipeline_id === undefined) return this.#resumeEverything();
    this.#refuseDamage();
    const hold = ownHold(this.#state, pipeline_id);
    if (hold === undefined) throw new HoldError(`${pipeline_id} is not suspended individually${this.#elsewhere()}`);
    await this.#change(({ pipelines, ...state }) => {
      const others = Object.entries(pipelines).filter(([id]) => id !== pipeline_id);
      return { ...state, pipelines: Object.fromEntries(others) };
    });
    return hold;
  }

  /** Stops or terminates a pipeline until a time, in place of an earlier stop. Throws HoldError for a text that is too long. */
  async stop(pipeline_id: string, { by, reason, until, way }: Omit<StopHold, "since">): Promise<StopHold> {
    this.#refuseDamage();
    mustBeShort(reason);
    const since = new Date().toISOString();
    const stop = { since, until, ...(way !== undefined && { way }), ...whoAndWhy(by, reason) };
    // Those that are over are forgotten with the next one.
    await this.#change((state) => ({ ...state, stops: { ...liveStops(state), [pipeline_id]: stop } }));
    return stop;
  }

  /** Milliseconds until the next stop is over; Infinity where there is none. */
  get untilNextEnd(): number {
    const ends = Object.values(liveStops(this.#state)).map(({ until }) => Date.parse(until));
    return Math.min(Infinity, ...ends) - Date.now();
  }

  /** Ends a stop early; gives the one that was ended, where there was one. */
  async start(pipeline_id: string): Promise<StopHold | undefined> {
    this.#refuseDamage();
    const stop = stopOf(this.#state, pipeline_id);
    if (stop === undefined) return undefined;
    await this.#change((state) => {
      const others = Object.entries(liveStops(state)).filter(([id]) => id !== pipeline_id);
      return { ...state, stops: Object.fromEntries(others) };
    });
    return stop;
  }

  /**
   * Pipelines that were moved, by their former ids, are held by the ids that they have now. `movesMade` is asked only where one is
   * held. Throws what the disk throws.
   */
  async move(movesMade: () => ReadonlyMap<string, string>): Promise<void> {
    const held = [this.#state.pipelines, this.#state.stops ?? {}].flatMap((of) => Object.keys(of));
    const moves = held.length === 0 ? new Map<string, string>() : movesMade();
    if (!held.some((id) => moves.has(id))) return;
    await this.#change((state) => holdsMoved(state, moves));
  }

  /** Makes a pin, in place of an earlier one. */
  async pin(pin: Omit<Pin, "since">): Promise<Pin> {
    this.#refuseDamage();
    const { by, reason, ...facts } = pin;
    const made: Pin = { ...facts, since: new Date().toISOString(), ...whoAndWhy(by, reason) };
    await this.#change((state) => ({ ...state, pin: made }));
    return made;
  }

  /** Lifts the pin, even if that cannot be saved: after a restart it is found to be over again. */
  async unpin(pin = this.#state.pin): Promise<void> {
    const unpinned = (state: HoldsState): HoldsState => (state.pin === pin ? withoutPin(state) : state);
    await this.#change(unpinned).finally(() => (this.#state = unpinned(this.#state)));
  }

  async #resumeEverything(): Promise<Hold> {
    const { everything } = this.#state;
    if (everything === undefined) {
      const ids = Object.keys(this.#state.pipelines);
      const own = ids.length === 0 ? "" : `; suspended individually: ${ids.slice(0, 10).join(", ")}`;
      throw new HoldError(`there is no suspension of everything to lift${own}`);
    }
    if (this.#damage !== undefined) await rename(this.#path, `${this.#path}.damaged`);
    this.#damage = undefined;
    await this.#change(({ everything: _everything, ...state }) => state);
    return everything;
  }

  #elsewhere(): string {
    if (this.#state.everything !== undefined)
      return `: everything is suspended, and "sluice resume" without an ID resumes it`;
    return "; where its file sets x-sluice.suspend, change the file";
  }

  #refuseDamage(): void {
    if (this.#damage !== undefined) throw new HoldError(this.#damage);
  }

  /** One change at a time. The memory follows only after the file is durable. */
  #change(change: (state: HoldsState) => HoldsState): Promise<void> {
    return this.#changes.run(async () => {
      const state = change(this.#state);
      await writeFileDurably(this.#path, `${JSON.stringify(state, undefined, 2)}\n`);
      this.#state = state;
    });
  }
}

const nothing: HoldsState = { version: 1, pipelines: {} };

function mustBeShort(reason = ""): void {
  if (reason.length <= longestReason) return;
  throw new HoldError(`--reason: expected at most ${longestReason} characters, found ${reason.length}`);
}

function liveStops(state: HoldsState): Record<string, StopHold> {
  const live = Object.keys(state.stops ?? {}).map((id) => [id, stopOf(state, id)] as const);
  return Object.fromEntries(live.filter((entry): entry is [string, StopHold] => entry[1] !== undefined));
}

function withoutPin({ pin: _pin, ...state }: HoldsState): HoldsState {
  return state;
}

function whoAndWhy(by = "", reason = ""): Omit<Hold, "since"> {
  const [name, why] = [onOneLine(by).slice(0, longestName), onOneLine(reason)];
  return { ...(name !== "" && { by: name }), ...(why !== "" && { reason: why }) };
}

/** On one line: it is shown in lists and logs. */
function onOneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, " ").trim();
}
