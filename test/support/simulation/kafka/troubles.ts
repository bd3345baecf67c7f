import type { Draw } from "../network.ts";
import { codes, type CodeName, type RequestName } from "./codes.ts";

/** What goes wrong with a request. */
export type Trouble =
  /** It is refused: nothing is done. */
  | { kind: "error"; code: CodeName }
  /** A fetch brings nothing, whatever there is. */
  | { kind: "empty" }
  /** A fetch brings nothing, not even the ends of partitions: the client is to send nothing for so many milliseconds, by a quota. */
  | { kind: "throttled"; milliseconds: number }
  /** It is done, and answered so many milliseconds later. */
  | { kind: "slow"; milliseconds: number }
  /** It is done, and the connection breaks within the answer: after so many bytes, or where it is drawn. */
  | { kind: "cut"; after?: number }
  /** It is done, and never answered: nothing more comes by that connection, until the client's system gives it up. */
  | { kind: "silent" };

interface Rule {
  name: RequestName;
  trouble: Trouble;
  node: number | undefined;
  left: number;
}

export interface TroubleOptions {
  /** How many requests meet it; one if that is not said. */
  times?: number;
  /** Only at this node. */
  node?: number;
}

/** What is to go wrong with the next requests of a kind. */
export class Troubles {
  #rules: Rule[] = [];

  add(name: RequestName, trouble: Trouble, { times = 1, node }: TroubleOptions = {}): void {
    this.#rules.push({ name, trouble, node, left: times });
  }

  /** What a request meets at a node, which then has happened once. */
  take(name: RequestName, node: number): Trouble | undefined {
    const rule = this.#rules.find((one) => one.name === name && (one.node ?? node) === node);
    if (rule === undefined) return undefined;
    rule.left -= 1;
    if (rule.left <= 0) this.#rules = this.#rules.filter((one) => one !== rule);
    return rule.trouble;
  }

  clear(): void {
    this.#rules = [];
  }
}

const data: readonly CodeName[] = ["NOT_LEADER_OR_FOLLOWER", "UNKNOWN_TOPIC_OR_PARTITION", "KAFKA_STORAGE_ERROR"];
const group: readonly CodeName[] = ["NOT_COORDINATOR", "COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_NOT_AVAILABLE"];
const member: readonly CodeName[] = [...group, "REBALANCE_IN_PROGRESS", "UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION"];

/** What a healthy cluster may answer now and then, and goes on. */
export const passingErrors: Readonly<Record<RequestName, readonly CodeName[]>> = {
  Fetch: [...data, "LEADER_NOT_AVAILABLE"],
  ListOffsets: data,
  Metadata: ["LEADER_NOT_AVAILABLE"],
  OffsetCommit: member,
  OffsetFetch: group,
  FindCoordinator: ["COORDINATOR_NOT_AVAILABLE"],
  JoinGroup: [...group, "UNKNOWN_MEMBER_ID"],
  Heartbeat: member,
  LeaveGroup: group,
  SyncGroup: member,
  DescribeGroups: group,
  ApiVersions: [],
  OffsetForLeaderEpoch: data,
  ConsumerGroupDescribe: group,
};

/** Draws what may go wrong with a request and pass by itself. */
export function drawTrouble(name: RequestName, draw: Draw): Trouble {
  const errors = passingErrors[name];
  const others: readonly Trouble[] = [
    { kind: "slow", milliseconds: 1 + draw(5_000) },
    { kind: "cut" },
    { kind: "silent" },
    ...(name === "Fetch" ? [{ kind: "empty" as const }] : []),
  ];
  const at = draw(errors.length + others.length);
  return at < errors.length ? { kind: "error", code: errors[at]! } : others[at - errors.length]!;
}

/** The number of the code that a trouble answers; 0 where it refuses nothing. */
export function codeOf(trouble: Trouble | undefined): number {
  return trouble?.kind === "error" ? codes[trouble.code] : codes.NONE;
}

/** A trouble as it is counted. */
export function troubleText(name: RequestName, trouble: Trouble): string {
  return `trouble of ${name}: ${trouble.kind === "error" ? trouble.code : trouble.kind}`;
}
