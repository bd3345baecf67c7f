import type { Loss, LossCode, LossFacts } from "../loss.ts";
import type { Holdings, Unwritten } from "../reason.ts";
import { counted, listed } from "./words.ts";

/** The name of each kind of loss. */
const names: Readonly<Record<LossCode, string>> = {
  AcceptedEvents: "accepted events that are not written",
  DeadLetters: "its dead letters",
  DedupKeys: "what dedup remembers",
  JoinEvents: "what its join buffers",
  JoinRows: "rows of its join that are not written",
  AccessToken: "its access token",
  SecretValues: "the old values of its secrets",
  GroupPlace: "the committed offsets of its consumer group",
  Failure: "the status Failed (it is Stopped instead)",
  BegunEnd: "the begun deletion (it takes events instead)",
};

const figures: { [Code in LossCode]?: (facts: LossFacts[Code]) => string } = {
  AcceptedEvents: (facts) => holdingsText({ ...facts, dead_letters: 0 }),
  DeadLetters: ({ count }) => counted(count, "dead letter"),
  DedupKeys: ({ keys }) => names.DedupKeys + (keys === undefined ? "" : ` (${keys} keys)`),
  JoinEvents: ({ events = 0 }) => names.JoinEvents + (events === 0 ? "" : ` (${counted(events, "event")})`),
  JoinRows: ({ rows }) => (rows === undefined ? names.JoinRows : `${counted(rows, "row")} of its join`),
  AccessToken: ({ pipeline_id }) =>
    names.AccessToken + (pipeline_id === undefined ? "" : ` (sluice token rotate ${pipeline_id} prints a new one)`),
  SecretValues: ({ secrets }) => `the old ${secrets.length === 1 ? "value" : "values"} of ${listed(secrets)}`,
  GroupPlace: ({ run }) => `the committed offsets of its consumer group before run ${run} is taken over`,
};

/** With the figures of the plan, such as `2 dead letters`. */
export function lossText<Code extends LossCode>({ code, facts }: Loss<Code>): string {
  return figures[code]?.(facts) ?? names[code];
}

/** Such as `its dead letters and its access token`. */
export function lossNames(codes: readonly LossCode[]): string {
  return listed(codes.map((code) => names[code]));
}

/** The same for a pipeline that was deleted. */
export function pastLossNames(codes: readonly LossCode[]): string {
  return listed(codes.map((code) => past[code] ?? names[code]));
}

const past: { readonly [Code in LossCode]?: string } = {
  AcceptedEvents: "accepted events that were not written",
  DedupKeys: "what dedup remembered",
  JoinEvents: "what its join buffered",
  JoinRows: "rows of its join that were not written",
};

/** Such as `7 accepted events, 1 pending batch and 2 dead letters`; empty where there is nothing. */
export function holdingsText(of: Holdings): string {
  return listed(holdingParts(of));
}

export function holdingParts({ held, pending_batches, rows = 0, dead_letters }: Holdings): string[] {
  return [
    held === "unknown" ? "accepted events in a stream that cannot be opened" : counted(held, "accepted event"),
    counted(pending_batches, "pending batch", "pending batches"),
    rows === "unknown" ? "rows of a join that has not been opened yet" : counted(rows, "joined row"),
    counted(dead_letters, "dead letter"),
  ].filter((part) => part !== "");
}

/** Whether the verb of these holdings is in the singular. */
export function isOne({ held, pending_batches, rows = 0, dead_letters }: Holdings): boolean {
  return held !== "unknown" && rows !== "unknown" && held + pending_batches + rows + dead_letters === 1;
}

/** Such as `; 7 accepted events are written first`; empty where nothing is held. */
export function writtenFirst(of: Unwritten): string {
  const unwritten = { ...of, dead_letters: 0 };
  const text = holdingsText(unwritten);
  return text === "" ? "" : `; ${text} ${isOne(unwritten) ? "is" : "are"} written first`;
}
