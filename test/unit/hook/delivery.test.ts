import { expect, test } from "vitest";
import { readDelivery } from "../../../reconciler/hook/delivery.ts";
import { ClientRateLimit } from "../../../reconciler/hook/rate-limit.ts";

const json = { "content-type": "application/json" };
const commit = "1".repeat(40);
const push = (ref: string) => JSON.stringify({ ref, after: commit, repository: {} });

/** Bodies of other hosts: the last of these branches is pushed to `commit`, the others to another one. */
const others = (names: string[]) =>
  names.map((name, index) => ({ name, hash: index + 1 < names.length ? "2".repeat(40) : commit }));

function cloud(type: string, ...names: string[]): string {
  const changes = others(names).map(({ name, hash }) => ({ old: null, new: { type, name, target: { hash } } }));
  return JSON.stringify({ push: { changes } });
}

function dataCenter(...names: string[]): string {
  const changes = others(names).map(({ name, hash }) => ({
    refId: `refs/heads/${name}`,
    toHash: hash,
    type: "UPDATE",
  }));
  return JSON.stringify({ eventKey: "repo:refs_changed", changes });
}

function azure(...names: string[]): string {
  const refUpdates = others(names).map(({ name, hash }) => ({ name: `refs/heads/${name}`, newObjectId: hash }));
  return JSON.stringify({ publisherId: "tfs", eventType: "git.push", resource: { refUpdates } });
}

test.each([
  ["GitHub: the branch", { "x-github-event": "push" }, push("refs/heads/main"), "push"],
  ["GitHub: another branch", { "x-github-event": "push" }, push("refs/heads/next"), "other branch"],
  [
    "GitHub: a branch whose name only begins so",
    { "x-github-event": "push" },
    push("refs/heads/main2"),
    "other branch",
  ],
  ["GitHub: a tag", { "x-github-event": "push" }, push("refs/tags/main"), "other branch"],
  ["GitHub: ping", { "x-github-event": "ping" }, '{"zen": "Design for failure."}', "ping"],
  ["GitHub: an issue", { "x-github-event": "issues" }, push("refs/heads/main"), "other event"],
  [
    "GitHub: a form",
    { "x-github-event": "push", "content-type": "application/x-www-form-urlencoded" },
    `payload=${encodeURIComponent(push("refs/heads/next"))}`,
    "other branch",
  ],
  ["GitLab: the branch", { "x-gitlab-event": "Push Hook" }, push("refs/heads/main"), "push"],
  ["GitLab: another branch", { "x-gitlab-event": "Push Hook" }, push("refs/heads/next"), "other branch"],
  ["GitLab: a system hook", { "x-gitlab-event": "System Hook" }, push("refs/heads/main"), "push"],
  ["GitLab: a merge request", { "x-gitlab-event": "Merge Request Hook" }, "{}", "other event"],
  [
    "Gitea, which calls itself GitHub too",
    { "x-gitea-event": "push", "x-github-event": "push" },
    push("refs/heads/x"),
    "other branch",
  ],
  [
    "Forgejo: a release",
    { "x-forgejo-event": "release", "x-github-event": "push" },
    push("refs/heads/main"),
    "other event",
  ],
  ["another host: no body", { "content-type": "text/plain" }, "", "push"],
  ["another host: no body, and its client says JSON", { "content-type": "application/json" }, "", "push"],
  ["another host: some text", { "content-type": "text/plain" }, "look!", "push"],
  ["another host: JSON of its own", json, '{"ref": 7}', "push"],
  ["another host: another branch", json, push("refs/heads/next"), "other branch"],
  ["another host: JSON that is none", json, "{", "unreadable"],
  ["GitHub: JSON that is none", { "x-github-event": "push" }, "{", "unreadable"],
  ["null", json, "null", "push"],
  ["an array that is very deep", json, "[".repeat(200_000) + "]".repeat(200_000), "push"],
  ["Bitbucket Cloud: the branch", { "x-event-key": "repo:push" }, cloud("branch", "main"), "push"],
  ["Bitbucket Cloud: another branch", { "x-event-key": "repo:push" }, cloud("branch", "next"), "other branch"],
  ["Bitbucket Cloud: a tag", { "x-event-key": "repo:push" }, cloud("tag", "main"), "other branch"],
  ["Bitbucket Cloud: a comment", { "x-event-key": "pullrequest:comment_created" }, "{}", "other event"],
  ["Bitbucket Data Center: the branch", { "x-event-key": "repo:refs_changed" }, dataCenter("main"), "push"],
  ["Bitbucket Data Center: another", { "x-event-key": "repo:refs_changed" }, dataCenter("next"), "other branch"],
  ["Bitbucket Data Center: a mirror", { "x-event-key": "mirror:repo_synchronized" }, dataCenter("main"), "push"],
  ["Bitbucket Data Center: ping", { "x-event-key": "diagnostics:ping" }, '{"test": true}', "ping"],
  ["Azure DevOps: the branch", {}, azure("main"), "push"],
  ["Azure DevOps: another branch", {}, azure("next"), "other branch"],
  ["Azure DevOps: a pull request", {}, '{"publisherId": "tfs", "eventType": "git.pullrequest.created"}', "other event"],
])("%s", (_, headers, body, expected) => {
  expect(readDelivery({ ...json, ...headers }, Buffer.from(body), "main").kind).toBe(expected);
});

test.each([
  ["GitHub", push("refs/heads/main")],
  ["Bitbucket Cloud", cloud("branch", "next", "main")],
  ["Bitbucket Data Center", dataCenter("next", "main")],
  ["Azure DevOps", azure("next", "main")],
])("%s says which commit was pushed to the branch", (_, body) => {
  expect(readDelivery(json, Buffer.from(body), "main")).toEqual({ kind: "push", commit });
  expect(readDelivery(json, Buffer.from(body), "other")).toEqual({ kind: "other branch" });
});

test.each([
  ["GitHub: a deletion", { ref: "refs/heads/main", after: "0".repeat(40) }],
  ["Bitbucket Cloud: a deletion", { push: { changes: [{ old: { type: "branch", name: "main" }, new: null }] } }],
  ["a hash that is none", { ref: "refs/heads/main", after: "HEAD" }],
  ["a hash that is too short", { ref: "refs/heads/main", after: "1".repeat(12) }],
  ["no list", { push: { changes: {} }, changes: "all", resource: { refUpdates: [null, 7] } }],
])("no commit is waited for after %s", (_, body) => {
  expect(readDelivery(json, Buffer.from(JSON.stringify(body)), "main")).toEqual({ kind: "push" });
});

test("an empty body without a type is a push, and so is any branch where none is followed", () => {
  expect(readDelivery({}, Buffer.alloc(0), "main").kind).toBe("push");
  expect(readDelivery(json, Buffer.from(push("refs/tags/v1")), undefined)).toEqual({ kind: "push", commit });
});

test("an address that was refused often waits, others do not, and it is heard again later", () => {
  const limit = new ClientRateLimit();
  for (let count = 0; count < 19; count += 1) limit.add("192.0.2.1", 0);
  expect(limit.wait("192.0.2.1", 0)).toBe(0);
  limit.add("192.0.2.1", 0);
  expect(limit.wait("192.0.2.1", 0)).toBe(3000);
  expect(limit.wait("192.0.2.2", 0)).toBe(0);
  expect(limit.wait("192.0.2.1", 3000)).toBe(0);
  for (let count = 0; count < 1000; count += 1) limit.add("192.0.2.1", 3000);
  expect(limit.wait("192.0.2.1", 3000)).toBe(3000);
});

test("the addresses of one IPv6 network are one, and the number of addresses is bounded", () => {
  const limit = new ClientRateLimit();
  for (let count = 0; count < 20; count += 1) limit.add(`2001:db8::${count + 1}`, 0);
  expect(limit.wait("2001:db8:0:0:9::1", 0)).toBe(3000);
  expect(limit.wait("2001:db8:0:1::1", 0)).toBe(0);
  for (let count = 0; count < 1024; count += 1) limit.add(`10.0.${count >> 8}.${count & 255}`, 0);
  expect(limit.wait("2001:db8::1", 0)).toBe(0);
});
