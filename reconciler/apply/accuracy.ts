import type { OperationRecord } from "./history.ts";
import type { OutcomeResult } from "./outcome.ts";

/** How far plans were off: the document of `sluice history --accuracy`. */
export interface Accuracy {
  /** Changes that came to an end and were predicted. */
  changes: number;
  /** Those that were carried out. */
  applied: number;
  /** Those that were carried out with the planned calls, each made once. */
  calls: number;
  /** In events, milliseconds and dead letters; of changes that were carried out and have the figure on both sides. */
  drained: Deviation;
  pause_ms: Deviation;
  dead_letters_dropped: Deviation;
  /** Changes with another end or other calls than planned, newest first. */
  off: OffChange[];
}

/** How far one figure was off. */
export interface Deviation {
  changes: number;
  /** Sums over all of them. */
  predicted: number;
  happened: number;
  /** The distance of the two, without its sign, of a single change. */
  median_off: number;
  most_off: number;
}

export interface OffChange extends Pick<OperationRecord, "id" | "pipeline_id" | "revision" | "result" | "message"> {
  planned: string[];
  made: string[];
}

/** Ends that a newer revision, or a person, brought about: they say nothing about the plan. */
const unfinished: ReadonlySet<OutcomeResult> = new Set<OutcomeResult>([
  "replaced",
  "waiting",
  "suspended",
  "blocked",
  "under way",
]);

/** Compares what was predicted with what happened. Records of earlier versions have no prediction of figures. */
export function accuracyOf(records: readonly OperationRecord[]): Accuracy {
  const ended = records.filter(({ result, plan }) => !unfinished.has(result) && plan.expects !== undefined);
  const applied = ended.filter(({ result }) => result === "applied");
  return {
    changes: ended.length,
    applied: applied.length,
    calls: applied.filter(isAsPlanned).length,
    drained: deviation(applied, ({ plan, measured }) => [plan.expects?.drained, measured.events_drained]),
    pause_ms: deviation(applied, ({ plan, measured }) => [plan.expects?.pause_ms, measured.pause_ms]),
    dead_letters_dropped: deviation(applied, ({ plan, measured }) => [
      plan.expects?.dead_letters_dropped,
      measured.dead_letters_dropped,
    ]),
    off: ended.filter((one) => one.result !== "applied" || !isAsPlanned(one)).map(offChange),
  };
}

function isAsPlanned({ plan, measured }: OperationRecord): boolean {
  return measured.calls.every(({ result }) => result === "success") && String(madeIn(measured)) === String(plan.calls);
}

function madeIn({ calls }: OperationRecord["measured"]): string[] {
  return calls.map(({ call, result }) => (result === "success" ? call : `${call} (${result})`));
}

function offChange({ id, pipeline_id, revision, result, message, plan, measured }: OperationRecord): OffChange {
  const why = message === undefined ? {} : { message };
  return { id, pipeline_id, revision, result, ...why, planned: plan.calls, made: madeIn(measured) };
}

type Figures = [predicted: number | undefined, happened: number | undefined];

function deviation(records: readonly OperationRecord[], figuresOf: (record: OperationRecord) => Figures): Deviation {
  const pairs = records
    .map(figuresOf)
    .flatMap(([predicted, happened]) =>
      predicted === undefined || happened === undefined ? [] : [{ predicted, happened }],
    );
  const off = pairs.map(({ predicted, happened }) => Math.abs(happened - predicted)).toSorted((a, b) => a - b);
  return {
    changes: pairs.length,
    predicted: pairs.reduce((sum, one) => sum + one.predicted, 0),
    happened: pairs.reduce((sum, one) => sum + one.happened, 0),
    median_off: off[Math.floor((off.length - 1) / 2)] ?? 0,
    most_off: off.at(-1) ?? 0,
  };
}
