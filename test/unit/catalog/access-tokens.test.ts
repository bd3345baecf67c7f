import { beforeEach, expect, test, vi } from "vitest";
import { AccessTokens, recordOf } from "../../../engine/catalog/access-tokens.ts";
import type { CatalogEntry } from "../../../engine/catalog/catalog.ts";
import { PipelineRegistry } from "../../../engine/catalog/registry.ts";
import { tokenHash } from "../../../engine/sources/webhook/token.ts";
import { tableOfSecrets } from "../../support/engine.ts";
import { silentRecorder, slowCatalog } from "./slow-catalog.ts";
import { view } from "../../integration/api/sample.ts";

const first = "a-first-token-of-orders";
let kept: Map<string, CatalogEntry>;
let registry: PipelineRegistry;
let tokens: AccessTokens;

beforeEach(async () => {
  const slow = slowCatalog();
  kept = slow.kept;
  registry = new PipelineRegistry(slow.catalog, silentRecorder);
  tokens = new AccessTokens(registry, tableOfSecrets());
  await registry.add({ ...view({ status: "Created" }), token: recordOf(first, false) });
});

/** Resolves when all changes of the pipeline that were begun are stored. */
const stored = async (): Promise<CatalogEntry> => {
  await registry.admit("orders", true);
  return kept.get("orders")!;
};

test("a use of the old token while it is replaced does not bring it back", async () => {
  const rotated = tokens.rotate("orders", { now: true });
  expect(tokens.accepts("orders", first)).toBe(true);
  const second = await rotated;
  expect((await stored()).token).toEqual(expect.objectContaining({ hash: tokenHash(second), last_used_at: null }));
  expect([first, second].map((token) => tokens.accepts("orders", token))).toEqual([false, true]);
});

test("of rotations at the same time the last one counts, and the one before it for a while", async () => {
  const [second, third] = await Promise.all([tokens.rotate("orders"), tokens.rotate("orders")]);
  expect([first, second, third].map((token) => tokens.accepts("orders", token))).toEqual([false, true, true]);
});

test("a token that was replaced ends with the pipeline: one of the same name that is created later refuses it", async () => {
  await tokens.rotate("orders");
  expect(tokens.accepts("orders", first)).toBe(true);
  await registry.remove("orders", () => undefined);
  expect(tokens.accepts("orders", first)).toBe(false);
  await registry.add({ ...view({ status: "Created" }), token: recordOf("a-token-of-another-pipeline", false) });
  expect(tokens.accepts("orders", first)).toBe(false);
});

test("a token that was replaced ends where the options set one", async () => {
  await tokens.rotate("orders");
  await registry.save("orders", { token: recordOf("a-token-of-the-options", true) });
  expect(tokens.accepts("orders", first)).toBe(false);
});

test("while its pipeline is created again, a token that was replaced is accepted as before", async () => {
  await tokens.rotate("orders");
  tokens.recreating("orders", true);
  const { token } = registry.get("orders");
  await registry.remove("orders", () => undefined);
  expect(tokens.accepts("orders", first)).toBe(true);
  await registry.add({ ...view({ status: "Created" }), token: token! });
  tokens.recreating("orders", false);
  expect(tokens.accepts("orders", first)).toBe(true);
});

test("a use is shown at once, stored, and no change of the pipeline", async () => {
  const before = registry.get("orders").updated_at;
  vi.useFakeTimers({ toFake: ["Date"], now: Date.parse(before) + 60_000 });
  try {
    tokens.accepts("orders", first);
    const { last_used_at } = tokens.show("orders");
    expect(last_used_at).not.toBeNull();
    expect(await stored()).toMatchObject({ token: { last_used_at }, updated_at: before });
  } finally {
    vi.useRealTimers();
  }
});
