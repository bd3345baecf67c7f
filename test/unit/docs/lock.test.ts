import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

interface Lock {
  packages: Record<string, { integrity?: string; link?: boolean }>;
}

test("what is installed is checked against package-lock.json", () => {
  const { packages } = JSON.parse(readFileSync("package-lock.json", "utf8")) as Lock;
  const unchecked = Object.entries(packages)
    .filter(([path, { integrity, link }]) => path !== "" && link !== true && integrity === undefined)
    .map(([path]) => path.replace(/^.*node_modules\//, ""));
  // The registry that the file was written with has the engine of ClickHouse for this platform alone.
  expect(unchecked.filter((name) => !name.startsWith("@chdb/lib-"))).toEqual([]);
});
