import type { IncomingHttpHeaders } from "node:http";

/** The kind of a delivery. Only `push` triggers a poll; `unreadable` does not match its content type. */
export type Delivery = "push" | "ping" | "other branch" | "other event" | "unreadable";

/** Headers that name the event, and their names for a push. GitLab's system hooks report pushes among other events. */
const events: readonly { header: string; pushes: readonly string[] }[] = [
  // Gitea and Forgejo also send the header of GitHub, for compatibility.
  { header: "x-forgejo-event", pushes: ["push"] },
  { header: "x-gitea-event", pushes: ["push"] },
  { header: "x-github-event", pushes: ["push"] },
  { header: "x-gitlab-event", pushes: ["Push Hook", "Tag Push Hook", "System Hook"] },
];

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
  if (event === "ping") return "ping";
  if (event !== undefined && named?.pushes.includes(event) !== true) return "other event";
  if (body === undefined) return "push";
  let value: unknown;
  try {
    value = JSON.parse(jsonOf(headers, body)) as unknown;
  } catch {
    return named === undefined && !isJson(headers) ? "push" : "unreadable";
  }
  return branchOf(value, branch);
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

function branchOf(value: unknown, branch: string | undefined): Delivery {
  if (typeof value !== "object" || value === null || branch === undefined) return "push";
  const ref = "ref" in value ? value.ref : undefined;
  return typeof ref === "string" && ref.startsWith("refs/") && ref !== `refs/heads/${branch}` ? "other branch" : "push";
}
