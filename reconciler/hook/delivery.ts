import type { IncomingHttpHeaders } from "node:http";

/** What a delivery says. Only `push` is a reason to look at the source; `unreadable` is not of its content type. */
export type Delivery = "push" | "ping" | "other branch" | "other event" | "unreadable";

/** Headers that name the event, and what they call a push. GitLab's system hooks tell of pushes among other things. */
const events: readonly { header: string; pushes: readonly string[] }[] = [
  // Gitea and Forgejo call themselves GitHub too, for programs that know no other.
  { header: "x-forgejo-event", pushes: ["push"] },
  { header: "x-gitea-event", pushes: ["push"] },
  { header: "x-github-event", pushes: ["push"] },
  { header: "x-gitlab-event", pushes: ["Push Hook", "Tag Push Hook", "System Hook"] },
];

/**
 * Reads a body whose signature is valid. A body that says no branch counts as a push of the branch that is followed: to poll
 * once more costs little. `branch` is absent where no branch is followed, or it is not known yet which.
 */
export function readDelivery(headers: IncomingHttpHeaders, body: Buffer, branch: string | undefined): Delivery {
  const named = events.find(({ header }) => header in headers);
  const event = named === undefined ? undefined : String(headers[named.header]);
  if (event === "ping") return "ping";
  if (event !== undefined && named?.pushes.includes(event) !== true) return "other event";
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
