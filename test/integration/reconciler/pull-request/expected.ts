import { compileFilter, isPushed } from "../../../../engine/language.ts";
import type { DesiredPipeline } from "../../../../reconciler/desired/desired-state.ts";
import type { ReportedChange } from "../../../../reconciler/preview/report.ts";
import type { JoinConfig, PipelineConfig } from "../../../../schemas/index.ts";
import type { SentEvent } from "./flow.ts";

/** A pipeline of a pull request, as it was before the merge and as the plan says that it is afterwards. */
export interface Passage {
  id: string;
  before?: DesiredPipeline;
  after?: DesiredPipeline;
  /** What the plan says of it; absent where it says nothing. */
  change?: ReportedChange;
}

/** Between how many and how many rows. */
export interface Range {
  least: number;
  most: number;
}

const none: Range = { least: 0, most: 0 };
const exactly = (count: number): Range => ({ least: count, most: count });
const upTo = (most: number): Range => ({ least: 0, most });

export function sum(ranges: readonly Range[]): Range {
  return ranges.reduce((a, b) => ({ least: a.least + b.least, most: a.most + b.most }), none);
}

/** The rows that a pipeline makes of an accepted event, by what the plan says. */
export function rowsOf({ before, after, change }: Passage, event: SentEvent): Range {
  const [from, to] = [inletOf(before, event), inletOf(after, event)];
  const [early, late] = [isRunning(before) && keeps(from, event), isRunning(after) && keeps(to, event)];
  if (event.phase === "troubled") return early ? rowsInTrouble(change) : none;
  if (event.isRepeated === true) return late ? repeated(from, to, change) : none;
  if (event.phase === "after") return late && !isOftenDropped(to) ? exactly(1) : upTo(Number(late));
  const goesOn = isRunning(after) && to !== undefined;
  if (from === undefined || !isRunning(before)) return late ? readAnew(event, change) : none;
  const comesAgain = early && change?.costs.some(({ code }) => code === "Rewinds") === true;
  if (event.phase === "before") return exactly(Number(early) + Number(comesAgain));
  // It is there once or twice, as it is read before the rewind or after it.
  if (comesAgain) return { least: 1, most: 2 };
  if (change?.calls.length === 0 || change === undefined) return exactly(Number(early));
  if (early && late && goesOn && !isOftenDropped(to) && isOrdered(change)) return exactly(1);
  return upTo(Number(early || late));
}

/** Rows of an event that met trouble, by what the plan says of that. */
function rowsInTrouble(change: ReportedChange | undefined): Range {
  const codes = new Set(change?.costs.map(({ code }) => code));
  if (codes.has("LostSkipped") || codes.has("UncertainSkipped")) return none;
  return exactly(codes.has("UncertainSent") ? 2 : 1);
}

/** The events that a pipeline cannot take, because they lack a declared field. */
export function lettersOf({ before, after, change }: Passage, event: SentEvent): Range {
  const isLetter = (pipeline: DesiredPipeline | undefined): boolean => {
    const inlet = inletOf(pipeline, event);
    return inlet !== undefined && isRunning(pipeline) && !hasFields(inlet);
  };
  const [early, late] = [isLetter(before), isLetter(after)];
  if (event.phase === "after" || event.isRepeated === true) return exactly(Number(late));
  if (event.phase === "before") return isRunning(before) ? exactly(Number(early)) : upTo(Number(late));
  return change === undefined ? exactly(Number(early)) : upTo(Number(early || late));
}

/** What a source of a pipeline does with its events. */
interface Inlet {
  fields: readonly { name: string; required?: boolean }[];
  filter?: string;
  /** The key of its dedup. */
  key?: string;
  /** The side of a join that it is, and the key of that side. Each left event has a right one with its fields. */
  side?: { name: "left" | "right"; key: string };
}

/** The source of a pipeline that gets an event; undefined where none does. */
function inletOf(pipeline: DesiredPipeline | undefined, { inlet }: SentEvent): Inlet | undefined {
  if (pipeline === undefined) return undefined;
  const { config, pipeline_id } = pipeline;
  const source = config.sources.find((one) => {
    if (inlet.kind === "webhook") return one.type === "webhook" && pipeline_id === inlet.name;
    return one.type === "kafka" && one.topic === inlet.name;
  });
  return source === undefined ? undefined : describedInlet(config, source);
}

function describedInlet({ transforms, join }: PipelineConfig, source: PipelineConfig["sources"][number]): Inlet {
  const own = transforms.filter(({ source_id }) => source_id === source.source_id);
  const filter = own.flatMap((one) => (one.type === "filter" ? [one.config.expression] : []))[0];
  const key = own.flatMap((one) => (one.type === "dedup" ? [String(one.config.key)] : []))[0];
  return {
    fields: "schema_fields" in source ? source.schema_fields : [],
    ...(filter !== undefined && { filter }),
    ...(key !== undefined && { key }),
    ...(join !== undefined && { side: sideOf(join, source.source_id) }),
  };
}

function sideOf({ left_source, right_source }: JoinConfig, source_id: string): NonNullable<Inlet["side"]> {
  const isLeft = left_source.source_id === source_id;
  return isLeft ? { name: "left", key: left_source.key } : { name: "right", key: right_source.key };
}

function isRunning(pipeline: DesiredPipeline | undefined): boolean {
  return pipeline?.directives.state === "Running";
}

function hasFields({ fields }: Inlet): boolean {
  return fields.every(({ name, required }) => required === false || name === "id" || name === "level");
}

function keeps(inlet: Inlet | undefined, { id, level }: SentEvent): boolean {
  if (inlet === undefined || !hasFields(inlet)) return false;
  const { filter, fields, side } = inlet;
  // A left event makes the row, of an id that its right event has; its level is the id of none.
  if (side !== undefined && (side.name === "right" || side.key !== "id")) return false;
  return filter === undefined || compileFilter(filter, fields as never).matches({ id, level }, Date.now());
}

/** Where the key is not the id, one event stands for many. */
function isOftenDropped(inlet: Inlet | undefined): boolean {
  return inlet?.key !== undefined && inlet.key !== "id";
}

/** Whether no accepted event is dropped, and none is refused; what a join forgets is. */
function isOrdered({ kind, costs, losses }: ReportedChange): boolean {
  if (losses.some(({ code }) => code === "JoinEvents")) return false;
  return kind !== "recreate" && !costs.some(({ code }) => code === "EventsDropped" || code === "SendersRefused");
}

/** Events that nobody has read yet: they waited in a stream, or in a topic before where its reading begins. */
function readAnew({ inlet, phase }: SentEvent, change: ReportedChange | undefined): Range {
  if (inlet.kind === "webhook") return exactly(1);
  const start = change?.begins.find(({ topic }) => topic === inlet.name)?.start ?? "latest";
  if (start !== "latest") return exactly(1);
  return phase === "before" ? none : upTo(1);
}

/** A repeat passes unless dedup remembers it. */
function repeated(from: Inlet | undefined, to: Inlet | undefined, change: ReportedChange | undefined): Range {
  if (to?.key === undefined) return exactly(1);
  if (isOftenDropped(to)) return upTo(1);
  const forgets = change?.costs.some(({ code }) => code === "DedupForgets" || code === "DedupBegins") === true;
  return exactly(Number(forgets && from !== undefined));
}

/** Whether a pipeline takes events although it does not run. */
export function takesEvents(pipeline: DesiredPipeline | undefined): boolean {
  return pipeline !== undefined && isPushed(pipeline.config) && pipeline.directives.state !== "Terminated";
}
