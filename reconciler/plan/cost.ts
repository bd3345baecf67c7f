import type { Unwritten } from "./reason.ts";

/**
 * What a change of a pipeline costs, or what else it means for events, rows and senders, as data: a code, and the facts
 * that its sentence names. A figure is that of this moment, and absent where it is zero or not known. Holds no secret.
 */
export type Cost<Code extends CostCode = CostCode> = {
  [One in Code]: { code: One; facts: CostFacts[One] };
}[Code];

export type CostCode = keyof CostFacts;

type Nothing = Record<string, never>;

export interface CostFacts {
  /** Topics that it reads no more. `lag`: offsets of them that it has not settled; 0 only where that is known. */
  TopicsLeft: { topics: string[]; lag?: number };
  /** Topics that it reads at other brokers. */
  BrokersChange: { topics: string[] };
  /** Events that are gone from their source are left out, without a pause. */
  LostSkipped: Nothing;
  /** A batch that may have been written counts as written. */
  UncertainSkipped: Nothing;
  /** Such a batch is sent again. */
  UncertainSent: Nothing;
  /** It goes on without a materialized view that refuses rows. */
  ViewSkipped: Nothing;
  /** The offsets that another run has committed are taken over. */
  TakenOver: { run: string };
  Rewinds: { to: string; hasDedup: boolean };
  /** What a column that is not Nullable stores for null. */
  NullChanges: { to: "default" | "zero" | "reject" };
  /** Records with a null value become dead letters, or are skipped. */
  TombstonesChange: { source_id: string; kept: boolean };
  /** Events of these topics, or types of source, are taken too. */
  SourcesBegin: { sources: string[] };
  /** It is applied while the pipeline runs. */
  AppliedLive: Nothing;
  /** The pipeline is stopped, edited and resumed. `waits`: where events wait meanwhile; `writes`: those accepted before. */
  Drains: { waits: "stream" | "topic"; writes?: Unwritten };
  /** What dedup remembers no longer counts. `window`: how far back repeats pass. */
  DedupForgets: Dedup;
  DedupEnds: Dedup;
  DedupBegins: Dedup;
  /** A join has other output fields. */
  JoinOutputs: Nothing;
  /** Keys, windows or sides of a join change: what it buffers no longer counts. */
  JoinForgets: { events?: number };
  /** The pipeline ends, or is terminated. `rows`: those that are dropped as well, because nothing writes them first. */
  JoinDropped: { events?: number; rows?: number };
  WindowChanges: { source_id: string; from: string; to: string };
  /** Other events pass a filter, or become other events. */
  ExpressionChanges: { source_id: string; type: "filter" | "stateless" };
  /** Declared fields, new or of another type, without which an event becomes a dead letter. */
  FieldsDemanded: { source_id: string; fields: string[] };
  /** Declared fields, new or of another type, that an event may lack. */
  FieldsTyped: { source_id: string; fields: string[] };
  /** Fields that are not demanded of an event any more. */
  FieldsFreed: { source_id: string; fields: string[] };
  /** Rows go to another port of the same host. */
  PortChanges: { host: string };
  /** Columns that are new, or filled in another way. */
  ColumnsFilled: { columns: string[] };
  /** Rows go to another table. */
  TargetChanges: { from: Target; to: Target };
  /** Columns that are no longer written. */
  ColumnsLeft: { columns: string[] };
  /** A pipeline that reads topics stops. `lag`: offsets that it has not settled. */
  ReadingStops: { lag?: number };
  /** It is terminated: accepted events that are in no prepared batch are dropped. */
  EventsDropped: { held?: number };
  /** It is recreated without its dead letters. */
  DeadLettersDropped: { count?: number };
  /** Events that are sent to it are refused from then on. */
  SendersRefused: Nothing;
  /** Its senders have to use another id. */
  SendersMove: { from: string; to: string };
  /** A token is made for its senders. */
  TokenMade: { pipeline_id: string };
  /** Before it is deleted, its dead letters have to be taken out. */
  DeadLettersFirst: { pipeline_id: string; count?: number };
}

interface Dedup {
  source_id: string;
  /** Such as `24h0m0s`. */
  window: string;
  /** That it remembers now. */
  keys?: number;
}

/** What a reader tells a table by. */
export interface Target {
  host: string;
  database: string;
  table: string;
}

/** A table, or columns of it, that a change needs. */
export interface TableNeed extends Target {
  /** The columns that are new, or that take another type; absent where the table itself is needed. */
  columns?: { name: string; type: string }[];
  /** Who sees to it: Sluice, where the file says so, or a person before the change is carried out. */
  by: "sluice" | "person";
  /** Absent where types change, which is no one statement. */
  statements: string[];
}
