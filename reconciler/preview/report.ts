import type { Status } from "../../engine/index.ts";
import { isObject, type Effect, type EventEffect } from "../../schemas/index.ts";
import type { ActualPipeline } from "../actual/state.ts";
import type { Problem } from "../language/problem.ts";
import { doesSomething, type Cause, type Change, type ChangeKind, type FieldChange } from "../plan/change.ts";
import type { Call } from "../plan/calls.ts";
import type { TableNeed } from "../plan/cost.ts";
import type { Reason, TopicStart } from "../plan/reason.ts";
import { cautionText, costText, lossText, reasonText, tableText } from "../plan/render/index.ts";
import { gravest, isAsGrave, type Level, levelOfField } from "../plan/level.ts";
import { noteText, secretText } from "./notes.ts";
import type { Preview, PreviewedChange } from "./preview.ts";
import { type TestedEvents, testsText } from "./tested-events.ts";

/** A preview with its sentences: the document of `sluice plan --format json`, from which the other formats are made. */
export interface PlanReport {
  version: 1;
  /** Whose values the files have; absent where that is one alone. */
  environment?: string;
  base: ComparedSide;
  head: ComparedSide;
  /** The gravest of all changes. */
  level: Level;
  /** Of all pipelines, by the kind of their change; `refused` also counts files that cannot be used, and `left` what is not carried out. */
  counts: Partial<Record<CountedKind, number>>;
  changes: ReportedChange[];
  errors: Problem[];
  notes: Said[];
}

export type CountedKind = Exclude<ChangeKind, "refuse" | "no-op"> | "refused" | "left" | "unchanged";

/** What is compared: `name` as a person calls it, and the hash of a commit. */
export interface ComparedSide {
  name: string;
  commit?: string;
}

/** Something that is said: its code, which never changes its meaning, and the sentence. */
export interface Said {
  code: string;
  text: string;
}

export interface ReportedChange {
  pipeline_id: string;
  /** The id that it has until it is moved; absent where it is not moved. */
  moved_from?: string;
  kind: ChangeKind;
  cause: Cause;
  level: Level;
  effect: Effect;
  /** What becomes of events from then on. */
  events: EventEffect;
  /** The fields that ask for the level. */
  asked_by: string[];
  reason: string;
  file?: string;
  line?: number;
  column?: number;
  calls: Call[];
  after: string[];
  fields: FieldChange[];
  costs: Said[];
  /** What a rollback does not restore. */
  losses: Said[];
  warnings: Said[];
  tables: (TableNeed & { text: string })[];
  /** Where its consumer group begins, if it has no offsets. */
  begins: TopicStart[];
  /** What becomes of the events of its tests; absent where it has none, or they were not run. */
  tests?: TestedEvents & { text: string };
  /** What runs at this moment; absent where no server was asked, or nothing runs. */
  now?: LiveFigures;
}

/** The figures of a pipeline at the moment of the plan. A figure that is not known, or has no meaning there, is absent. */
export interface LiveFigures {
  status: Status;
  /** Events that were accepted and are not written. */
  events?: number;
  /** Prepared batches that are not committed; their events count as `events`. */
  pending_batches: number;
  /** Offsets of its topics that it has not settled. */
  lag?: number;
  /** Keys that dedup remembers. */
  keys?: number;
  /** Events that its join buffers. */
  join_events?: number;
  /** Rows of its join that are not in the table. */
  join_rows?: number;
  dead_letters: number;
  /** Why it is paused. */
  paused?: string;
}

/** Notes of a report: a repository may hold any number of links. */
const mostNotes = 500;
/** Characters of a value, or of a statement, in a report. */
const longest = 8_000;

export function reportOf(preview: Preview, base: ComparedSide, head: ComparedSide): PlanReport {
  const { changes, errors, notes, unchanged } = preview;
  return {
    version: 1,
    base,
    head,
    level: gravest(changes, errors),
    counts: { ...countsOf(changes), ...(unchanged > 0 && { unchanged }) },
    changes: changes.map(reported),
    errors,
    notes: notes.slice(0, mostNotes).map((note) => ({ code: note.code, text: noteText(note) })),
  };
}

function countsOf(changes: readonly PreviewedChange[]): PlanReport["counts"] {
  const counts: PlanReport["counts"] = {};
  for (const one of changes) counts[countedAs(one)] = (counts[countedAs(one)] ?? 0) + 1;
  return counts;
}

function countedAs({ change: { kind }, level }: PreviewedChange): CountedKind {
  if (level === "refuse" || kind === "refuse") return "refused";
  return kind === "no-op" ? "left" : kind;
}

/** 0: nothing would be carried out; 1: a change is as grave as `limit`, or graver; 2: something changes, or is refused. */
export function exitCodeOf({ level }: Pick<PlanReport, "level">, limit: Level): 0 | 1 | 2 {
  if (isAsGrave(level, limit)) return 1;
  return level === "none" ? 0 : 2;
}

function reported(previewed: PreviewedChange): ReportedChange {
  const { change, level, costs, tables, directives, secrets, present, tests } = previewed;
  const {
    pipeline_id,
    moved_from,
    kind,
    cause,
    effect,
    events,
    why,
    file,
    line,
    column,
    calls,
    after,
    cautions = [],
  } = change;
  const place = { ...(file !== undefined && { file }), ...(line !== undefined && { line, column: column ?? 1 }) };
  const fields = [...change.fields, ...directives].map(shortened);
  const losses = doesSomething(change) ? (change.irreversible ?? []) : [];
  return {
    pipeline_id,
    ...(moved_from !== undefined && { moved_from }),
    kind,
    cause,
    level,
    effect,
    events,
    asked_by: askedBy(change, levelAsked({ level, effect, events })),
    reason: reasonText(why),
    ...place,
    calls,
    after,
    fields,
    costs: costs.map((cost) => ({ code: cost.code, text: costText(cost) })),
    losses: losses.map((loss) => ({ code: loss.code, text: lossText(loss) })),
    warnings: [
      ...cautions.map((caution) => ({ code: caution.code, text: cautionText(caution) })),
      ...secrets.map((one) => ({ code: one.refused ? "SecretRefused" : "SecretAdded", text: secretText(one) })),
    ],
    tables: tables.map((need) => ({ ...need, statements: need.statements.map(cut), text: tableText(need) })),
    begins: beginsOf(why),
    ...(tests !== undefined && { tests: { ...tests, text: testsText(tests) } }),
    ...(present !== undefined && { now: figuresOf(present) }),
  };
}

function figuresOf({
  status,
  held,
  pending_batches,
  lag,
  keys,
  join,
  dead_letters,
  paused,
}: ActualPipeline): LiveFigures {
  return {
    status,
    ...(held !== "unknown" && { events: held }),
    pending_batches,
    ...(lag !== undefined && { lag }),
    ...(keys !== undefined && { keys }),
    ...(join?.events !== undefined && { join_events: join.events }),
    ...(join !== undefined && { join_rows: join.rows }),
    dead_letters,
    ...(paused !== undefined && { paused: cut(paused) }),
  };
}

/** The fields that ask for a level. A pipeline that does not run is not stopped for one that would ask for it. */
function askedBy({ fields, effect }: Change, level: Level): string[] {
  const asks = (field: FieldChange): boolean => {
    if (level === "delete") return field.effect === "refuse";
    return level === "change" ? field.effect === effect && effect !== "none" : levelOfField(field) === level;
  };
  return level === "none" ? [] : fields.filter(asks).map(({ path }) => path);
}

/** The level that the fields of a change ask for: one that waits is none yet. */
export function levelAsked({ level, effect, events }: Pick<ReportedChange, "level" | "effect" | "events">): Level {
  return level === "none" ? levelOfField({ effect, events }) : level;
}

/** The topics that a change begins to read. */
function beginsOf({ code, facts }: Reason): TopicStart[] {
  if (code === "New" || code === "CreatedAgain") return facts.topics;
  if (code === "Edited") return [...facts.reading.elsewhere, ...facts.reading.added];
  if (code === "Recreated") return facts.position?.reads === "anew" ? facts.position.topics : [];
  if (code === "Adopted" || code === "Drifted" || code === "Moved") return beginsOf(facts.of);
  return [];
}

/** A value that is too long to show is its beginning, as text. */
function shortened(field: FieldChange): FieldChange {
  const { from, to, ...rest } = field;
  return {
    ...rest,
    ...(from !== undefined && { from: shortValue(from) }),
    ...(to !== undefined && { to: shortValue(to) }),
  };
}

function shortValue(value: unknown): unknown {
  if (typeof value === "string") return cut(value);
  if (!isObject(value) && !Array.isArray(value)) return value;
  const text = JSON.stringify(value);
  return text.length > longest ? cut(text) : value;
}

function cut(text: string): string {
  return text.length > longest ? `${text.slice(0, longest)}… (${text.length} characters)` : text;
}
