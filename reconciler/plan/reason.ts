import type { Status } from "../../engine/index.ts";
import type { DeletionLimit, MoveObstacle } from "../actual/state.ts";
import type { WishedState } from "../desired/desired-state.ts";
import type { Call, Ending } from "./calls.ts";
import type { Cause, ChangeKind, HindranceCause } from "./change.ts";
import type { Level } from "./level.ts";
import type { Loss, LossCode } from "./loss.ts";

/**
 * Why a change is what it is, as data: a code, and the facts that its sentence names. Reasons are compared deeply to
 * find out what is new, so facts hold nothing that the sentence leaves out. Holds no secret.
 */
export type Reason<Code extends ReasonCode = ReasonCode> = {
  [One in Code]: { code: One; facts: ReasonFacts[One] };
}[Code];

export type ReasonCode = keyof ReasonFacts;

/** A reason that contains another one. */
interface Wrapped {
  of: Reason;
}

/** A file that no longer describes the pipeline. */
interface Gone {
  file: string;
}

type Nothing = Record<string, never>;

export interface ReasonFacts {
  // Calls are made.
  New: Beginning;
  /** The pipeline was deleted in the engine, and is created again. */
  CreatedAgain: Beginning & { lost: LossCode[] };
  Edited: Edit;
  /** Its file gives it another pipeline_id: `of` is what else changes. `isAsked`: by `x-sluice.moved_from`. */
  Moved: Wrapped & {
    from: string;
    isAsked: boolean;
    group?: { from: string; to: string };
  };
  StateDiffers: StateDifference & { failure?: string };
  Recreated: Recreation;
  Adopted: Wrapped;
  Drifted: Wrapped;
  FileRemoved: Gone & Deletion;
  SecretChanged: { secrets: string[] };
  /** A change that takes new values of secrets as well. */
  SecretsToo: Wrapped & { secrets: string[] };
  /** A pipeline that an interrupted change had stopped runs again as it was. */
  RunsAgain: Wrapped & { revision: string };
  /** A pipeline that an interrupted recreation had deleted is created. */
  RecreationFinished: Wrapped & { revision: string };
  /** A begun deletion is cancelled because the file no longer wants it, although the rest of the file is refused. */
  EndTakenBack: Wrapped;
  /** A change that replaces the one under way. */
  Replaces: Wrapped;
  StopsAfterAll: Nothing;
  /** To what was applied before with this revision, and so without an approval. */
  GoesBack: Wrapped & { revision: string };

  // Nothing is done.
  InSync: { status: Status };
  /** `waits`: what would be done. Absent where there is nothing to do. */
  SuspendedByFile: { waits?: Reason };
  SuspendedByOperator: Suspension & { pipeline_id: string; waits?: Reason };
  /** An operator's stop is over, and no file says what then. */
  StopOver: { of: Reason };
  /** `waits`: why the change that waits for the end of the stop would be made. */
  StoppedByOperator: Suspension & { until: string; way?: "terminate"; waits?: Reason };
  SuspendedFileGone: Gone;
  PruneDisabled: Gone;
  /** By a file of pipelines that cannot be used, or by what is not read, and may be gone since: then it has no reason. */
  PruneHeld: Gone & ({ unread: string } | { mayHold: { path: string; reason?: string }[] });
  /** A plain folder that may be half of a copy. `after`: milliseconds that it has to stand still; `changed`: what changed last. */
  FolderChanging: Wrapped & { after: number; changed?: string };
  NotOwned: Nothing;
  InProgress: Nothing;
  /** A change under way continues, because the one that would replace it depends on another pipeline. */
  InProgressMeanwhile: { dependency: NotRunning };
  InTransition: { status: Status };
  EndWaits: { trigger: EndTrigger; wait: EndWait };
  DependencyNotReady: { dependency: NotRunning };
  DriftLeft: Wrapped & { mode: "report" | "ignore" };
  DriftWaits: Wrapped & { times: number; next: number };

  // The subject of a drift.
  FieldsDiffer: { paths: string[] };
  StatusDiffers: { status: Status };
  DeletedInEngine: { lost: LossCode[] };

  // A person has to change something.
  FileUnusable: { obstacle: FileObstacle; status?: Status };
  ImmutableField: {
    path: string;
    from: unknown;
    to: unknown;
    reads: boolean;
    recreation_loses: LossCode[];
    anew?: TopicsAnew;
  };
  /** `moved_from`: the id of the pipeline, where it was to be moved. */
  NotAdopted: { paths: string[]; calls: Call[]; level: Level; moved_from?: string };
  DriftFight: Wrapped & { times: number };
  IdChanged: Exchange & Gone;
  NotMoved: { to: string } & MoveObstacle;
  EmptySource: Nothing;
  DeletionBudget: Gone & { waiting: number; begun: number; of: number; limit: DeletionLimit };
  /** Another source is followed on the data dir: it lacks these pipelines, or is one that the server redirects to, and edits them. */
  SourceChanged: { from: string; to: string; isRedirected: boolean; removes: string[]; edits: string[] };
  /** `approval`: the fingerprint that is to be approved; `approved`: the lesser level for which that change is. */
  NotApproved: Wrapped & { level: Level; approval: string; approved?: Level };
  EndHindered: { trigger: EndTrigger; hindrance: Hindrance };
  /** The config that an interrupted recreation was to create is no longer known. */
  SuccessorLost: Wrapped & { revision: string };
  /** For the inverse of a plan: it undoes a change, except for what is lost. */
  Undoes: { kind: ChangeKind; lost: Loss[] };
}

/** How a new pipeline begins. */
export interface Beginning {
  state: WishedState;
  topics: TopicStart[];
  /** Topics that other pipelines read, into other tables. */
  shared: SharedTopic[];
}

/** Where reading a topic starts if its consumer group has no offsets of it. */
export interface TopicStart {
  topic: string;
  group: string;
  /** Another group, at whose offsets it starts. */
  adopted?: string;
  /** `earliest`, `latest`, or a time in ISO 8601. */
  start: string;
}

/** A topic of a new pipeline that another one reads, or has read. */
export interface SharedTopic extends Omit<TopicStart, "group"> {
  other: string;
  /** The other pipeline goes on. */
  goesOn: boolean;
}

/** Topics that a recreation in another consumer group does not read on where the former group ends. */
export interface TopicsAnew {
  former: string;
  topics: (Omit<TopicStart, "group"> & { source_id: string })[];
}

/** A planned effect that is perhaps not intended. */
export type Caution<Code extends CautionCode = CautionCode> = {
  [One in Code]: { code: One; facts: CautionFacts[One] };
}[Code];

export type CautionCode = keyof CautionFacts;

export interface CautionFacts {
  /** Both pipelines write to one table. */
  RowsTwice: SharedTopic;
  /** Both topics of a join are read from their past, and events meet as they are read. */
  JoinReplays: { left: string; right: string };
  /** A new pipeline names former ids, and none of them is there. */
  NothingToMove: { from: string[] };
}

/** Events that are accepted and not yet written. */
export interface Unwritten {
  held: number | "unknown";
  pending_batches: number;
  /** Rows of a join that are not in the table; absent where there are none. */
  rows?: number | "unknown";
}

export interface Holdings extends Unwritten {
  dead_letters: number;
}

export interface Edit {
  paths: string[];
  reading: Rereading;
  /** Present if the status changes too. */
  state?: StateDifference;
  writes: Unwritten;
  /** Columns that are new in the mapping, and that `x-sluice.alter_table` adds to the table. Absent for none. */
  adds?: string[];
  /** It was changed in the engine as well, which this undoes. */
  isDrifted: boolean;
}

/** A pipeline that is recreated, because `path` cannot change after creation. */
export interface Recreation {
  path: string;
  writes: Unwritten;
  losses: Loss[];
  position?: RecreatedPosition;
  isDrifted: boolean;
}

/** How an edit of topics, brokers or options changes the position from which a pipeline reads. */
export interface Rereading {
  /** Where the topics are read if the new brokers are another cluster. */
  elsewhere: TopicStart[];
  added: TopicStart[];
  removed?: { topics: string[]; lag: number; becomesLetters: boolean };
  begins: boolean;
  /** The run whose committed offsets are taken over. */
  take_over?: string;
}

export interface StateDifference {
  status: Status;
  wish: WishedState;
  /** Its deletion had begun; `refuses`: it takes no events since. */
  ending?: "reads" | "refuses";
  /** What happens to events that are not written yet. */
  leaves?:
    | { way: "unread"; topics: string[]; lag: number }
    | { way: "written"; writes: Unwritten; max_age: string }
    | { way: "dropped"; held: number | "unknown" };
}

/** The committed offsets of a consumer group that stay after its pipeline is deleted. */
export interface GroupPlace {
  group: string;
  topics: string[];
  lag: number;
  /** Offsets that are settled and not committed. */
  uncommitted: number;
}

/** Where a recreated pipeline reads. */
export type RecreatedPosition =
  { reads: "anew"; topics: TopicStart[] } | { reads: "on"; group: string } | { reads: "left"; place: GroupPlace };

/** What a deletion does to events, dead letters and offsets of the pipeline. */
export interface Deletion {
  /** `dropped`: by a file that had it terminated; `kept`: written first, and dead letters keep it. */
  way: "dropped" | "kept";
  holds: Holdings;
  place?: GroupPlace;
}

/** Why a pipeline is deleted: its file was removed, or an immutable field changed. */
export type EndTrigger = { ending: "prune"; file: string } | { ending: "recreate"; path: string };

/** What a deletion waits for without a person. */
export type EndWait = { for: "status"; status: Status } | { for: "settled" | "written"; holds: Unsettled };

/** What blocks a deletion. `uncommitted` is absent where all offsets are committed, or there are none. */
export interface Unsettled extends Holdings {
  uncommitted?: number | "unknown";
}

/** Why a pipeline whose deletion has begun cannot be deleted yet. */
export interface Hindrance {
  cause: HindranceCause;
  why:
    | {
        code: "Holds";
        facts: {
          pipeline_id: string;
          ending: Ending;
          holds: Unsettled;
          /** It reads a log, and no sender pushes events to it. */
          reads: boolean;
          failed: boolean;
          /** Why it cannot write or commit. */
          trouble?: string;
        };
      }
    | { code: "MoreDeadLetters"; facts: { planned: number; present: number } };
}

/** A dependency that does not run, and will not after this plan. `status` is absent where it does not exist. */
export interface NotRunning {
  pipeline_id: string;
  status?: Status;
  why:
    | { is: "planned"; state?: WishedState }
    | { is: "left"; isRefused: boolean; cause: Cause; state?: WishedState }
    | { is: "unusable" }
    | { is: "unknown" };
}

/** Why a file cannot be used: its first problem, and how many more there are. */
export type FileObstacle = { problem: string; more: number } | { path: string; skipped: string } | { file: string };

/** Ids that vanished from a file, and ids that are new in it. */
export interface Exchange {
  from: string[];
  to: string[];
  /** The new ones read a topic. */
  isReader: boolean;
}

/** Who suspended a pipeline, and why. */
export interface Suspension {
  /** ISO 8601, UTC. */
  since: string;
  by?: string;
  reason?: string;
}
