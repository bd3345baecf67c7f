import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { placeComment } from "../../../reconciler/pull-request/comments.ts";
import { commentsOfJob, UnknownJob } from "../../../reconciler/pull-request/host.ts";
import { Rest, RestError } from "../../../reconciler/pull-request/rest.ts";
import { GitHost, type HostOptions, ownAccount, strangersAccount, token } from "../../support/git-host.ts";

const marker = "<!-- sluice-plan -->";
const plan = `${marker}\n\n### Sluice: 1 update\n`;

let folder: string;
let host: GitHost;

beforeEach(async () => void (folder = await mkdtemp(join(tmpdir(), "sluice-event-"))));
afterEach(async () => {
  await host?.stop();
  await rm(folder, { recursive: true, force: true });
});

async function started(options: Partial<HostOptions>): Promise<Awaited<ReturnType<typeof commentsOfJob>>> {
  host = await GitHost.start({ kind: "github", number: 12, ...options });
  const event = join(folder, "event.json");
  await writeFile(event, JSON.stringify({ pull_request: { number: 12, base: { sha: "0".repeat(40) } } }));
  return commentsOfJob(host.env(event), token);
}

describe.each(["github", "gitea", "gitlab"] as const)("on %s", (kind) => {
  test("a plan is one comment, which later ones replace", async () => {
    const comments = (await started({ kind }))!;
    host.add("LGTM", strangersAccount);
    const first = await placeComment(comments, plan, true);
    expect(first.kind).toBe("created");
    expect(first.address).toMatch(kind === "gitlab" ? /merge_requests\/12#note_101$/ : /pull\/12#c-101$/);
    expect(await placeComment(comments, plan, true)).toEqual({ ...first, kind: "same" });
    const next = `${marker}\n\n### Sluice: nothing changes\n`;
    expect(await placeComment(comments, next, false)).toEqual({ ...first, kind: "replaced" });
    expect(host.comments.map(({ body }) => body)).toEqual(["LGTM", next]);
  });

  test("where nothing changes and nothing was said, nothing is said", async () => {
    const comments = (await started({ kind }))!;
    expect(await placeComment(comments, plan, false)).toEqual({ kind: "none" });
    expect(host.comments).toEqual([]);
  });

  test("it is found behind hundreds of others, and what two jobs wrote at once becomes one", async () => {
    const comments = (await started({ kind }))!;
    for (let count = 0; count < 200; count += 1) host.add(`comment ${count}`, strangersAccount);
    host.add(`${marker}\r\nold`, ownAccount);
    host.add(`${marker}\nolder`, ownAccount);
    expect((await placeComment(comments, plan, true)).kind).toBe("replaced");
    expect(host.comments.length).toBe(201);
    expect(host.comments.at(-1)!.body).toBe(plan);
  });

  test("a comment of someone else with the same first line is left alone", async () => {
    const comments = (await started({ kind }))!;
    const forged = host.add(`${marker}\n\nNothing changes, merge it.`, strangersAccount);
    expect((await placeComment(comments, plan, true)).kind).toBe("created");
    expect(host.comments).toEqual([forged, { id: 101, body: plan, author: ownAccount }]);
  });
});

test("a token that may not comment is told so, with what the host says and without the token", async () => {
  const first = [{ call: /^POST/, status: 403, body: '{"message":"Resource not accessible by integration"}' }];
  const comments = (await started({ first }))!;
  const error = await placeComment(comments, plan, true).catch((reason: unknown) => reason as RestError);
  expect(error).toBeInstanceOf(RestError);
  expect(error).toMatchObject({ status: 403, isForbidden: true });
  expect((error as RestError).message).toMatch(/^POST http.*: answered 403: Resource not accessible by integration$/);
  expect(String((error as RestError).stack)).not.toContain(token);
});

test("a GitLab token without an account is told what it needs", async () => {
  const comments = (await started({ kind: "gitlab", first: [{ call: /GET \/user/, status: 403 }] }))!;
  host.add("a", strangersAccount);
  await expect(placeComment(comments, plan, true)).rejects.toThrow("give it the scope api");
});

function restOf(): Rest {
  return new Rest({ address: host.address, headers: { authorization: `Bearer ${token}` }, pause: 1, timeout: 60_000 });
}

describe("calls", () => {
  const asked = "/repos/data/config/issues/12/comments";

  test.each([429, 502, 503, 504])("a read is repeated after %i, three times at the most", async (status) => {
    await started({ first: [1, 2].map(() => ({ call: /^GET/, status })) });
    expect((await restOf().call("GET", asked)).body).toEqual([]);
    expect(host.asked.length).toBe(3);
    await host.stop();
    await started({ first: [1, 2, 3].map(() => ({ call: /^GET/, status })) });
    await expect(restOf().call("GET", asked)).rejects.toMatchObject({ status });
  });

  test("a comment that may have been made is not made again, one that was refused is", async () => {
    await started({ first: [{ call: /^POST/, status: 502 }] });
    await expect(restOf().call("POST", asked, { body: "a" })).rejects.toMatchObject({ status: 502 });
    expect(host.asked.length).toBe(1);
    await host.stop();
    await started({ first: [{ call: /^POST/, status: 429, headers: { "retry-after": "0" } }] });
    await restOf().call("POST", asked, { body: "a" });
    expect(host.comments.length).toBe(1);
  });

  test.each([
    ["an hour", "3600"],
    ["a date", "Tue, 24 Nov 2026 10:00:00 GMT"],
  ])("a wait of %s is not waited for", async (_title, wait) => {
    await started({ first: [{ call: /^GET/, status: 429, headers: { "retry-after": wait } }] });
    await expect(restOf().call("GET", asked)).rejects.toMatchObject({ status: 429 });
    expect(host.asked.length).toBe(1);
  });

  test("a redirection is not followed: the token would go with it", async () => {
    await started({ first: [{ call: /^GET/, status: 302, headers: { location: "http://127.0.0.1:1/" } }] });
    await expect(restOf().call("GET", asked)).rejects.toThrow("expected an answer");
  });

  test("what is no JSON, no list, or too large is refused", async () => {
    const comments = (await started({ first: [{ call: /^GET/, status: 200, body: "<html>" }] }))!;
    await expect(placeComment(comments, plan, true)).rejects.toThrow("expected JSON");
    await host.stop();
    const others = (await started({ first: [{ call: /^GET/, status: 200, body: "{}" }] }))!;
    await expect(placeComment(others, plan, true)).rejects.toThrow("expected a list, found a value of type object");
    await host.stop();
    await started({ first: [{ call: /^GET/, status: 200, body: "x".repeat(17 << 20) }] });
    await expect(new Rest({ address: host.address, headers: {} }).call("GET", asked)).rejects.toThrow(
      "at most 16777216 bytes",
    );
  });

  test("a list without an end is read up to a bound", async () => {
    const link = { link: '<http://x/>; rel="next"' };
    const first = Array.from({ length: 101 }, () => ({ call: /comments$/, status: 200, headers: link, body: "[]" }));
    const comments = (await started({ first }))!;
    await expect(placeComment(comments, plan, true)).rejects.toThrow("expected at most 3000 comments, found more");
    expect(host.asked.length).toBe(100);
  });

  test("a host that is not there is named", async () => {
    await started({});
    const gone = new Rest({ address: "http://127.0.0.1:9", headers: {} });
    await expect(gone.call("GET", "/user")).rejects.toThrow("GET http://127.0.0.1:9/user: expected an answer: ");
  });
});

describe("a job", () => {
  test("that is for no pull request has no comments", async () => {
    const event = join(folder, "push.json");
    await writeFile(event, JSON.stringify({ ref: "refs/heads/main" }));
    expect(await commentsOfJob({ GITHUB_ACTIONS: "true", GITHUB_EVENT_PATH: event }, token)).toBeUndefined();
    expect(await commentsOfJob({ GITLAB_CI: "true" }, token)).toBeUndefined();
  });

  test.each<[title: string, env: Record<string, string>, said: string]>([
    ["that is none", {}, "expected a job of GitHub Actions, Gitea, Forgejo or GitLab CI"],
    [
      "of GitLab without an API",
      { GITLAB_CI: "true", CI_MERGE_REQUEST_IID: "3" },
      "expected the variable CI_PROJECT_ID",
    ],
    ["of GitHub without an event", { GITHUB_ACTIONS: "true" }, "expected the variable GITHUB_EVENT_PATH"],
    ["whose event is not there", { GITHUB_ACTIONS: "true", GITHUB_EVENT_PATH: "/nowhere" }, "ENOENT"],
  ])("%s says what is missing", async (_title, env, said) => {
    const attempt = commentsOfJob(env, token);
    await expect(attempt).rejects.toThrow(UnknownJob);
    await expect(attempt).rejects.toThrow(said);
  });
});
