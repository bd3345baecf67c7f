import { expect, test } from "vitest";
import { readDelivery } from "../../../reconciler/hook/delivery.ts";
import { ClientRateLimit } from "../../../reconciler/hook/rate-limit.ts";

const json = { "content-type": "application/json" };
const push = (ref: string) => JSON.stringify({ ref, after: "1".repeat(40), repository: {} });

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
  ["another host: some text", { "content-type": "text/plain" }, "look!", "push"],
  ["another host: JSON of its own", json, '{"ref": 7}', "push"],
  ["another host: another branch", json, push("refs/heads/next"), "other branch"],
  ["another host: JSON that is none", json, "{", "unreadable"],
  ["GitHub: JSON that is none", { "x-github-event": "push" }, "{", "unreadable"],
  ["null", json, "null", "push"],
  ["an array that is very deep", json, "[".repeat(200_000) + "]".repeat(200_000), "push"],
])("%s", (_, headers, body, expected) => {
  expect(readDelivery({ ...json, ...headers }, Buffer.from(body), "main")).toBe(expected);
});

test("an empty body without a type is a push, and so is any branch where none is followed", () => {
  expect(readDelivery({}, Buffer.alloc(0), "main")).toBe("push");
  expect(readDelivery(json, Buffer.from(push("refs/tags/v1")), undefined)).toBe("push");
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
