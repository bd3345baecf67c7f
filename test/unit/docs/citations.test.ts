import { existsSync, readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";

interface Citation {
  /** The file with the comment. */
  file: string;
  page: string;
  /** Absent where the whole page is cited. */
  heading?: string;
}

const citations = ["engine", "reconciler", "schemas", "test"].flatMap((tree) =>
  readdirSync(tree, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".ts") && !path.startsWith("unit/docs/"))
    .flatMap((path) => citationsOf(`${tree}/${path}`, readFileSync(`${tree}/${path}`, "utf8"))),
);

describe("pages that comments cite", () => {
  test("are there, with the headings", () => {
    expect(citations.length).toBeGreaterThan(40);
    expect(citations.filter((one) => !isThere(one))).toEqual([]);
  });

  test("are found over line ends, and planted ones that are not there are noticed", () => {
    const planted = citationsOf(
      "a.ts",
      "/**\n * Text (docs/api.md,\n * Status API; No such heading), docs/none.md.\n */",
    );
    expect(planted.map(({ page, heading }) => [page, heading])).toEqual([
      ["docs/api.md", "Status API"],
      ["docs/api.md", "No such heading"],
      ["docs/none.md", undefined],
    ]);
    expect(planted.map(isThere)).toEqual([true, false, false]);
  });
});

/** What comments cite as `docs/page.md`, or in parentheses as `(docs/page.md, Heading; Another)`. */
function citationsOf(file: string, text: string): Citation[] {
  const comments = [...text.matchAll(/\/\*\*[\s\S]*?\*\/|^ *\/\/ .*$/gm)].map(([comment]) =>
    comment.replaceAll(/\n\s*\* ?/g, " "),
  );
  return comments.flatMap((comment) =>
    [...comment.matchAll(/(\()?\b(docs\/[\w/-]+\.md)(?:, ([^)]+)\))?/g)].flatMap(([, opened, page = "", named]) => {
      if (opened === undefined || named === undefined) return [{ file, page }];
      return named.split("; ").map((heading) => ({ file, page, heading: heading.replaceAll('"', "") }));
    }),
  );
}

function isThere({ page, heading }: Citation): boolean {
  if (!existsSync(page)) return false;
  const headings = [...readFileSync(page, "utf8").matchAll(/^#+ (.+)$/gm)].map(([, text]) => text);
  return heading === undefined || headings.includes(heading);
}
