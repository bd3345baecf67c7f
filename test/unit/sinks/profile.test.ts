import { describe, expect, test } from "vitest";
import { commonSettings, tokenSetting } from "../../../engine/sinks/clickhouse/insert/insert-settings.ts";
import { PartitionLimit } from "../../../engine/sinks/clickhouse/insert/inserter.ts";
import { type Profile, readProfile, refusalOf } from "../../../engine/sinks/clickhouse/insert/profile.ts";
import type { Select } from "../../../engine/sinks/clickhouse/transport/sql.ts";
import { RequestError } from "../../../engine/sinks/clickhouse/transport/request-error.ts";

interface Held {
  value: string;
  isChanged: boolean;
  min: string | null;
  max: string | null;
  readonly: number;
}

const wanted = commonSettings(true);
const limit = PartitionLimit.setting;

/** A SELECT that the server refuses with this code. */
function failing(code: number): Select {
  return async () => {
    throw new RequestError({ from: "server", code, name: "NAME", text: "no" });
  };
}

/** A profile that lets everything be set, but for what a test says. */
function profile(changes: Record<string, Partial<Held> | undefined> = {}): Profile {
  const free: Held = { value: "", isChanged: false, min: null, max: null, readonly: 0 };
  const held = new Map<string, Held>(
    [...Object.keys(wanted), tokenSetting, limit, "readonly"].map((name) => [name, free]),
  );
  held.set("readonly", { ...free, value: "0" });
  held.set(limit, { ...free, value: "100" });
  for (const [name, change] of Object.entries(changes)) {
    if (change === undefined) held.delete(name);
    else held.set(name, { ...free, ...held.get(name), ...change });
  }
  return held;
}

describe("an insert may be sent where the profile", () => {
  test.each<[string, Profile]>([
    ["forbids nothing", profile()],
    ["holds what an insert needs, and lets nobody change it", profile({ async_insert: { value: "0", readonly: 1 } })],
    ["writes the same number otherwise", profile({ max_insert_block_size: { value: "1048449.0", readonly: 1 } })],
    ["allows a range that takes it in", profile({ max_insert_block_size: { min: "1", max: "1048449" } })],
    ["says nothing of readonly", profile({ readonly: undefined })],
    ["limits the partitions", profile({ [limit]: { value: "100", readonly: 1 } })],
  ])("%s", (_title, held) => {
    expect(refusalOf(held, wanted, "u")).toBeUndefined();
  });
});

describe("an insert cannot be sent, and it is said why, where the profile", () => {
  test.each<[string, Profile, string]>([
    [
      "is read-only",
      profile({ readonly: { value: "1" } }),
      "the settings profile of user u has readonly = 1, which forbids every insert: expected 0; an administrator should set it to 0 there",
    ],
    ["lets settings alone be changed", profile({ readonly: { value: "2" } }), "has readonly = 2"],
    [
      "holds another value and lets nobody change it",
      profile({ async_insert: { value: "1", readonly: 1 } }),
      "the settings profile of user u holds async_insert = 1 and forbids to change it, but every insert needs 0; an administrator should set it to 0 there, or lift that constraint",
    ],
    [
      "allows less only",
      profile({ max_insert_block_size: { value: "1000", max: "2000" } }),
      "holds max_insert_block_size = 1000 and allows no more than 2000, but every insert needs 1048449",
    ],
    [
      "allows more only",
      profile({ min_insert_block_size_bytes: { value: "10", min: "1" } }),
      "holds min_insert_block_size_bytes = 10 and allows no less than 1, but every insert needs 0",
    ],
    [
      "forbids a token",
      profile({ [tokenSetting]: { readonly: 1 } }),
      "forbids to change insert_deduplication_token, but every insert needs its own",
    ],
    [
      "is of a server that knows no token",
      profile({ [tokenSetting]: undefined }),
      "does not know the setting insert_deduplication_token, by which it would recognise a repeated insert: it has to be upgraded to 22.2 or later",
    ],
    [
      "is of a server that lacks another setting",
      profile({ async_insert: undefined }),
      "does not know the setting async_insert, which every insert needs as 0: it has to be upgraded",
    ],
  ])("%s", (_title, held, expected) => {
    expect(refusalOf(held, wanted, "u")).toContain(expected);
  });

  test("every reason is named", () => {
    const held = profile({
      async_insert: { value: "1", readonly: 1 },
      insert_deduplicate: { value: "0", readonly: 1 },
    });
    expect(refusalOf(held, wanted, "u")).toMatch(/insert_deduplicate = 0.*; .*async_insert = 1/);
  });
});

describe("the limit of partitions", () => {
  test.each<[string, Profile | undefined, boolean]>([
    ["can be raised", profile(), true],
    ["can be tried where the profile cannot be read", undefined, true],
    ["cannot where the profile forbids it", profile({ [limit]: { readonly: 1 } }), false],
    ["cannot where the profile allows less", profile({ [limit]: { max: "999" } }), false],
    ["is not lowered", profile({ [limit]: { value: "2000" } }), false],
    ["is not set where there is none", profile({ [limit]: { value: "0" } }), false],
    ["cannot where the server does not know it", profile({ [limit]: undefined }), false],
  ])("%s", (_title, held, isRaised) => {
    const partitions = new PartitionLimit();
    partitions.learn(held);
    expect(partitions.settings).toEqual({});
    expect(partitions.raise()).toBe(isRaised);
    expect(partitions.settings).toEqual(isRaised ? { [limit]: "1000" } : {});
    partitions.learn(held);
    expect(partitions.settings).toEqual(isRaised ? { [limit]: "1000" } : {});
    partitions.learn(profile({ [limit]: { readonly: 1 } }));
    expect(partitions.settings).toEqual({});
  });
});

describe("reading the profile", () => {
  test.each([47, 60, 291, 497])("goes on without it after %i", async (code) => {
    expect(await readProfile(failing(code), ["async_insert"])).toBeUndefined();
  });

  test("fails where the server is not well", async () => {
    await expect(readProfile(failing(241), ["async_insert"])).rejects.toThrow(RequestError);
  });
});
