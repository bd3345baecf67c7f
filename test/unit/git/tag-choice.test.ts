import { describe, expect, test } from "vitest";
import { isTagChoice, readTagChoice } from "../../../reconciler/git/tags/tag-choice.ts";

const tags = [
  "v1",
  "v1.4.2",
  "1.10.0",
  "v1.9.9",
  "v2.0.0-rc.1",
  "v2.0.0-rc.10",
  "v0.3.1",
  "v0.3.9",
  "v0.4.0",
  "latest",
];
const dates = ["release-2026-9-30", "release-2026-11-2", "release-2026-11-28-fix", "other-2027-1-1"];

const chosen = (text: string, names = tags) => readTagChoice(text)?.newestOf(names);

describe("a range of versions takes the newest tag", () => {
  test.each([
    ["v1.*", "1.10.0"],
    ["1.9.*", "v1.9.9"],
    ["*", "1.10.0"],
    ["~1.4", "v1.4.2"],
    ["~1.4.1", "v1.4.2"],
    ["~1", "1.10.0"],
    ["^1.4", "1.10.0"],
    ["^0.3.0", "v0.3.9"],
    ["^0.3", "v0.3.9"],
    ["^0", "v0.4.0"],
    [">=1.2 <1.10", "v1.9.9"],
    [">= 1.2, < 1.10", "v1.9.9"],
    [">0.3 <1", "v0.4.0"],
    [">1.4.2 <=1.9.9", "v1.9.9"],
    ["<=0.3", "v0.3.9"],
    ["0.3.* || 0.2.*", "v0.3.9"],
    ["0.3.0 - 0.3", "v0.3.9"],
    ["1.* !=1.10.0", "v1.9.9"],
    ["=1.4.2 || =0.3.1", "v1.4.2"],
    ["^1.0.0-0", "1.10.0"],
    [">=1.0.0-0", "v2.0.0-rc.10"],
    ["~2.0.0-rc.1", "v2.0.0-rc.10"],
    ["<=2.0.0-rc.9 >=1", "v2.0.0-rc.1"],
    [">=01.04.00 <1.09", "v1.4.2"],
  ])("%s: %s", (text, tag) => {
    expect(isTagChoice(text)).toBe(true);
    expect(chosen(text)).toBe(tag);
  });

  test.each(["v3.*", "~1.5", ">=2", "<0.3", ">=1.2 <1.1"])("%s: none", (text) => {
    expect(chosen(text)).toBeUndefined();
  });

  test("and of two names of one version the longer one", () => {
    expect(chosen("v1.0.*", ["v1", "v1.0", "v1.0.0"])).toBe("v1.0.0");
    expect(chosen("v1.0.*", ["1.0.0", "v1.0.0", "v1"])).toBe("v1.0.0");
  });

  test("and a release before its pre-releases, and of these the last", () => {
    const names = ["v2.0.0-1", "v2.0.0-alpha", "v2.0.0-alpha.1", "v2.0.0-alpha.beta"];
    for (const name of names) expect(chosen(">=2.0.0-0", [name, "v2.0.0"])).toBe("v2.0.0");
    expect(chosen(">=2.0.0-0", names)).toBe("v2.0.0-alpha.beta");
  });
});

describe("a pattern takes the last tag, with numbers as numbers", () => {
  test.each([
    ["release-*", "release-2026-11-28-fix"],
    ["release-2026-9-*", "release-2026-9-30"],
    ["*-2026-*-2", "release-2026-11-2"],
    ["*-1-1", "other-2027-1-1"],
  ])("%s: %s", (text, tag) => expect(chosen(text, dates)).toBe(tag));

  test("also where it looks like a range, but a number comes after one that is left out", () => {
    expect(chosen("v*.*.2", tags)).toBe("v1.4.2");
  });

  test.each(["release-*-release-2026-9-30", "x*", "*-30-30"])("%s: none", (text) => {
    expect(chosen(text, dates)).toBeUndefined();
  });
});

test.each(["v1.0", "release/1", "1.x", "a=b"])("%s is the name of a tag", (text) => {
  expect(isTagChoice(text)).toBe(false);
});

test.each([
  "-*",
  "a b",
  ">=",
  "^",
  "~x1",
  "a?*",
  ">= and < 2",
  "1.2-rc*||",
  "*".repeat(9),
  `${"1 ".repeat(150)}*`,
  ">=1.2-rc",
])("%j is neither", (text) => expect(readTagChoice(text)).toBeUndefined());
