import { describe, expect, test } from "vitest";
import { ignoredHere } from "../../../reconciler/desired/ignore.ts";
import { load } from "../../../reconciler/desired/load.ts";
import { fileOf, goodPipeline } from "../../support/pipeline-file.ts";

/** The paths that are ignored of these, by `.sluiceignore` files. */
function ignored(rules: Record<string, string>, ...paths: string[]): readonly string[] {
  const files = Object.entries(rules).map(([path, text]) => ({ path, bytes: Buffer.from(text) }));
  return ignoredHere(files, [...Object.keys(rules), ...paths]).paths;
}

describe("a .sluiceignore", () => {
  test("names files and folders as a .gitignore does, of its own folder alone", () => {
    const paths = ["compose.yaml", "charts/a.yaml", "charts/keep.yaml", "team/compose.yaml", "team/x.json", "x.json"];
    expect(ignored({ ".sluiceignore": "# others\ncompose.yaml\ncharts/*\n!charts/keep.yaml\n" }, ...paths)).toEqual([
      "compose.yaml",
      "charts/a.yaml",
      "team/compose.yaml",
    ]);
    expect(ignored({ "team/.sluiceignore": "*.json\r\n/compose.yaml\r\n" }, ...paths)).toEqual([
      "team/compose.yaml",
      "team/x.json",
    ]);
    expect(ignored({ "a/.sluiceignore": "*" }, "ab/x.yaml", "a.yaml")).toEqual([]);
  });

  test("whose patterns are without end takes no time", () => {
    const star = `${"*a".repeat(50_000)}\n`;
    const many = "*a*a*a*b\n".repeat(10_000);
    expect(ignored({ ".sluiceignore": `${star}${many}x.yaml` }, `${"a".repeat(200)}.yaml`)).toEqual([]);
  });

  test("takes its files out of what is read", () => {
    const rules = fileOf("compose.yaml", ".sluiceignore");
    const { pipelines, problems, ignored: left } = load([fileOf(goodPipeline), fileOf("{", "compose.yaml"), rules]);
    expect([pipelines.length, problems, left]).toEqual([1, [], ["compose.yaml"]]);
  });
});
