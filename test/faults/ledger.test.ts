/** @module-tag rest */
import { expect, test } from "vitest";
import { type Fate, Ledger } from "./ledger.ts";

type Answer = "accepted" | "unanswered";
type Found = Partial<Record<Fate, Record<string, number>>>;

test.each<[string, [string, Fate, Answer][], Found, boolean, [string, string][]]>([
  ["an accepted event that is there once is right", [["a", "row", "accepted"]], { row: { a: 1 } }, false, []],
  ["an accepted event that is nowhere is lost", [["a", "row", "accepted"]], {}, false, [["lost", "row a"]]],
  ["one that is there twice is doubled", [["a", "row", "accepted"]], { row: { a: 2 } }, false, [["doubled", "row a"]]],
  ["an unanswered event may be missing", [["a", "row", "unanswered"]], {}, false, []],
  ["an unanswered event may be there", [["a", "row", "unanswered"]], { row: { a: 1 } }, false, []],
  [
    "an unanswered event that is there twice is doubled",
    [["a", "row", "unanswered"]],
    { row: { a: 2 } },
    true,
    [["doubled", "row a"]],
  ],
  [
    "without dedup each repeat is a row",
    [
      ["a", "row", "accepted"],
      ["a", "row", "accepted"],
    ],
    { row: { a: 1 } },
    false,
    [["lost", "row a"]],
  ],
  [
    "with dedup all repeats are one row",
    [
      ["a", "row", "accepted"],
      ["a", "row", "accepted"],
    ],
    { row: { a: 1 } },
    true,
    [],
  ],
  [
    "a bad event that was mended is a letter and a row",
    [
      ["a", "letter", "accepted"],
      ["a", "row", "accepted"],
    ],
    { letter: { a: 1 } },
    true,
    [["lost", "row a"]],
  ],
  [
    "a bad event must not become a row",
    [["a", "letter", "accepted"]],
    { row: { a: 1 } },
    false,
    [
      ["lost", "letter a"],
      ["strangers", "row a"],
    ],
  ],
])("%s", (_title, posts, found, dropsRepeats, wrong) => {
  const ledger = new Ledger();
  for (const [id, fate, answer] of posts) ledger.note({ id, fate }, answer);
  const ids = { row: new Map(Object.entries(found.row ?? {})), letter: new Map(Object.entries(found.letter ?? {})) };
  const { lost, doubled, strangers } = ledger.audit(ids, dropsRepeats);
  const said = Object.entries({ lost, doubled, strangers }).flatMap(([what, names]) =>
    names.map((name) => [what, name]),
  );
  expect(said).toEqual(wrong);
});
