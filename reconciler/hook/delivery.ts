import type { IncomingHttpHeaders } from "node:http";
import { isObject } from "../../engine/language.ts";

/** The kind of a delivery. Only `push` triggers a poll; `unreadable` does not match its content type. */
export type DeliveryKind = "push" | "ping" | "other branch" | "other event" | "unreadable";

export interface Delivery {
  kind: DeliveryKind;
  /** What was pushed to the followed branch: a full hash. Absent where the body does not say it, or a deletion. */
  commit?: string;
}

/** Headers that name the event, and their names for a push. GitLab's system hooks report pushes among other events. */
const events: readonly { header: string; pushes: readonly string[] }[] = [
  // Gitea and Forgejo also send the header of GitHub, for compatibility.
  { header: "x-forgejo-event", pushes: ["push"] },
  { header: "x-gitea-event", pushes: ["push"] },
  { header: "x-github-event", pushes: ["push"] },
  { header: "x-gitlab-event", pushes: ["Push Hook", "Tag Push Hook", "System Hook"] },
  // Bitbucket Cloud, Bitbucket Data Center and its mirrors.
  { header: "x-event-key", pushes: ["repo:push", "repo:refs_changed", "mirror:repo_synchronized"] },
];

const pings: ReadonlySet<string> = new Set(["ping", "diagnostics:ping"]);

/** A branch or tag that a push changed, and the commit to which it points now. */
interface RefUpdate {
  ref: string;
  commit: unknown;
}

/**
 * Reads a body whose signature is valid. A body without a branch counts as a push to the followed branch: one more poll
 * costs little; so does one that was not kept. `branch` is absent if no branch is followed, or it is not known yet.
 */
export function readDelivery(
  headers: IncomingHttpHeaders,
  body: Buffer | undefined,
  branch: string | undefined,
): Delivery {
  const named = events.find(({ header }) => header in headers);
  const event = named === undefined ? undefined : String(headers[named.header]);
  if (event !== undefined && pings.has(event)) return { kind: "ping" };
  if (event !== undefined && named?.pushes.includes(event) !== true) return { kind: "other event" };
  if (body === undefined || (body.length === 0 && named === undefined)) return { kind: "push" };
  let value: unknown;
  try {
    value = JSON.parse(jsonOf(headers, body)) as unknown;
  } catch {
    return { kind: named === undefined && !isJson(headers) ? "push" : "unreadable" };
  }
  if (!isObject(value)) return { kind: "push" };
  if (named === undefined && isOtherEventOfAzure(value)) return { kind: "other event" };
  return ofBranch(updatesOf(value), branch);
}

/** GitHub sends a form unless it is configured to send JSON. */
function jsonOf(headers: IncomingHttpHeaders, body: Buffer): string {
  const text = body.toString("utf8");
  const isForm = headers["content-type"]?.startsWith("application/x-www-form-urlencoded") === true;
  return (isForm ? new URLSearchParams(text).get("payload") : undefined) ?? text;
}

function isJson(headers: IncomingHttpHeaders): boolean {
  return headers["content-type"]?.startsWith("application/json") === true;
}

/** Azure DevOps names the event in the body alone. */
function isOtherEventOfAzure({ publisherId, eventType }: Record<string, unknown>): boolean {
  return publisherId === "tfs" && eventType !== "git.push";
}

function ofBranch(updates: readonly RefUpdate[], branch: string | undefined): Delivery {
  const followed = updates.find(({ ref }) => branch === undefined || ref === `refs/heads/${branch}`);
  if (followed === undefined && updates.length > 0) return { kind: "other branch" };
  const commit = followed?.commit;
  // A branch that is deleted has a hash of zeros.
  const isCommit = typeof commit === "string" && /^(?!0+$)(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(commit);
  return { kind: "push", ...(isCommit && { commit }) };
}

/** What a push changed, in the words of each host. Empty where the body says it in none of them. */
function updatesOf({ ref, after, push, changes, resource }: Record<string, unknown>): RefUpdate[] {
  const updates = [
    // GitHub, GitLab, Gitea and Forgejo.
    { ref, commit: after },
    ...listOf(push, "changes").map(ofBitbucketCloud),
    // Bitbucket Data Center.
    ...listOf({ changes }, "changes").map(({ refId, toHash }) => ({ ref: refId, commit: toHash })),
    // Azure DevOps.
    ...listOf(resource, "refUpdates").map(({ name, newObjectId }) => ({ ref: name, commit: newObjectId })),
  ];
  return updates.filter((one): one is RefUpdate => typeof one.ref === "string" && one.ref.startsWith("refs/"));
}

/** A branch that is deleted has no new state. */
function ofBitbucketCloud({ old, new: made }: Record<string, unknown>): { ref: unknown; commit: unknown } {
  const named = isObject(made) ? made : isObject(old) ? old : {};
  const target = isObject(made) && isObject(made["target"]) ? made["target"] : {};
  return { ref: `refs/${named["type"] === "tag" ? "tags" : "heads"}/${String(named["name"])}`, commit: target["hash"] };
}

/** The objects of the list at `key`; none where there is no such list. */
function listOf(value: unknown, key: string): Record<string, unknown>[] {
  const list = isObject(value) ? value[key] : undefined;
  return Array.isArray(list) ? list.filter(isObject) : [];
}
