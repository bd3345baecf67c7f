import { expect, test } from "vitest";
import type { Profile } from "../../../engine/sinks/clickhouse/insert/profile.ts";
import { reviewOf } from "../../../engine/sinks/clickhouse/insert/profile-review.ts";

const sent = new Set(["insert_deduplicate"]);
const nothing = { corrections: {}, remarks: [] };

/** A profile with one setting; `isChanged`: the profile sets it. */
function profileOf(name: string, value: string, isChanged = true): Profile {
  return new Map([[name, { value, isChanged, min: null, max: null, readonly: 0 }]]);
}

test.each([
  ["is brought by each insert", "insert_deduplicate", "0"],
  ["was reviewed and is harmless", "insert_quorum", "2"],
  ["does not touch inserts by its name", "max_memory_usage", "1"],
  ["has the right value already", "materialized_views_ignore_errors", "0"],
  ["has the right value, as another version writes it", "materialized_views_ignore_errors", "false"],
])("nothing is done about a setting that %s", (_title, name, value) => {
  expect(reviewOf(profileOf(name, value), sent)).toEqual(nothing);
});

test("nothing is done about a setting that no profile sets", () => {
  expect(reviewOf(profileOf("insert_in_pieces", "1", false), sent)).toEqual(nothing);
  expect(reviewOf(profileOf("join_use_nulls", "1", false), sent)).toEqual(nothing);
});

test("a setting that changes rows is sent with the value that changes none", () => {
  const { corrections, remarks } = reviewOf(profileOf("materialized_views_ignore_errors", "1"), sent);
  expect([corrections, remarks]).toEqual([{ materialized_views_ignore_errors: "0" }, []]);
});

test("a setting whose value may be meant is named with it, and with what it does", () => {
  const { corrections, remarks } = reviewOf(profileOf("join_default_strictness", "ANY"), sent);
  expect(corrections).toEqual({});
  expect(remarks).toEqual([
    "join_default_strictness = ANY, which decides how many rows a JOIN of a view gives where its query does not say",
  ]);
});

test.each(["insert_in_pieces", "use_loose_deduplication", "view_quorum", "async_of_any_kind", "query_limit_of_rows"])(
  "a setting that no list knows is named where it may touch inserts: %s",
  (name) => {
    const { corrections, remarks } = reviewOf(profileOf(name, "7"), sent);
    expect(corrections).toEqual({});
    expect(remarks).toEqual([
      expect.stringMatching(new RegExp(`^${name} = 7, which this version of Sluice does not know`)),
    ]);
  },
);
