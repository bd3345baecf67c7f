import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { load } from "js-yaml";
import { beforeAll, describe, expect, test } from "vitest";

interface Locked {
  integrity?: string;
  optional?: boolean;
  /** The systems that a package is for. */
  os?: string[];
}

interface Lock {
  packages: Record<string, Locked>;
}

interface Component {
  name: string;
  licenses?: { license?: { id?: string } }[];
  properties?: { name: string; value: string }[];
}

const manifest = JSON.parse(readFileSync("package.json", "utf8")) as Record<
  "dependencies" | "optionalDependencies",
  Record<string, string>
>;
const direct = { ...manifest.dependencies, ...manifest.optionalDependencies };

function lockIn(path: string): Lock {
  return JSON.parse(readFileSync(path, "utf8")) as Lock;
}

function isForDevelopment({ properties = [] }: Component): boolean {
  return properties.some(({ name, value }) => name === "cdx:npm:package:development" && value === "true");
}

describe("packages", () => {
  const { packages } = lockIn("package-lock.json");

  test("each is locked with the hash of what is installed, except builds of one package for other systems", () => {
    const unlocked = Object.entries(packages).filter(([path, { integrity }]) => path !== "" && integrity === undefined);
    expect(unlocked.filter(([, { optional, os }]) => optional !== true || os === undefined)).toEqual([]);
    // The registry that the file was written with has these for one system alone.
    expect(unlocked.map(([path]) => path).filter((path) => !path.startsWith("node_modules/@chdb/lib-"))).toEqual([]);
    const installed = Object.keys(lockIn("node_modules/.package-lock.json").packages);
    expect(unlocked.map(([path]) => path).filter((path) => installed.includes(path))).toEqual([]);
  });

  test("each that Sluice imports has its exact version, and a line in docs/security.md", () => {
    expect(Object.values(direct).filter((version) => !/^\d+\.\d+\.\d+$/.test(version))).toEqual([]);
    const section = readFileSync("docs/security.md", "utf8").split("## Dependencies")[1]!;
    const cells = [...section.matchAll(/^\| ([^|]+) \|/gm)].map(([, cell = ""]) => cell.replace(/\(.*\)/, ""));
    const named = cells.flatMap((cell) => cell.split(",").map((name) => name.trim()));
    expect(named.splice(0, 2)).toEqual(["package", expect.stringMatching(/^-+$/)]);
    expect(named.toSorted()).toEqual(Object.keys(direct).toSorted());
  });
});

describe("the bill of materials", { tags: ["rest"] }, () => {
  let components: Component[];

  beforeAll(() => {
    const text = execFileSync("npm", ["run", "--silent", "sbom"], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    });
    const bom = JSON.parse(text) as { bomFormat: string; components: Component[] };
    expect(bom.bomFormat).toBe("CycloneDX");
    ({ components } = bom);
  });

  test("names each package that Sluice imports, and what these import", () => {
    const names = components.map(({ name }) => name);
    const required = Object.keys(manifest.dependencies);
    expect(required.filter((name) => !names.includes(name))).toEqual([]);
    expect(names.length).toBeGreaterThan(2 * required.length);
  });

  test("each package that is not for development alone has a licence that allows what Sluice does with it", () => {
    const allowed = new Set(["MIT", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "0BSD", "PSF-2.0"]);
    const used = components.filter((component) => !isForDevelopment(component));
    expect(used.length).toBeGreaterThan(100);
    const others = used.filter(({ licenses = [] }) => {
      const ids = licenses.map(({ license }) => license?.id);
      return ids.length === 0 || ids.some((id) => !allowed.has(id ?? ""));
    });
    expect(others.map(({ name }) => name)).toEqual([]);
  });
});

describe("workflows", () => {
  const folder = ".github/workflows";
  const files = readdirSync(folder).map((name) => ({ name, text: readFileSync(`${folder}/${name}`, "utf8") }));

  test.each(files)("$name uses actions by the hash of their commit", ({ text }) => {
    const used = [...text.matchAll(/uses: (.*)$/gm)].map(([, action = ""]) => action);
    expect(used.length).toBeGreaterThan(0);
    expect(
      used.filter(
        (action) => !action.startsWith("./") && !/^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(action),
      ),
    ).toEqual([]);
  });

  test.each(files)(
    "$name may only read unless a job says otherwise, and leaves no credentials behind",
    ({ name, text }) => {
      const { permissions, jobs } = load(text) as {
        permissions: object;
        jobs: Record<string, { permissions?: object }>;
      };
      expect(permissions).toEqual({ contents: "read" });
      const wider = Object.values(jobs).filter((job) => job.permissions !== undefined);
      expect(wider.length).toBe(name === "release.yml" ? 1 : 0);
      expect(text.split("actions/checkout@").length).toBe(text.split("persist-credentials: false").length);
    },
  );
});

test("the tarball holds the built program and what its user reads, and no test", { tags: ["rest"] }, () => {
  const [packed] = JSON.parse(
    execFileSync("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    }),
  ) as { files: { path: string }[] }[];
  const paths = packed!.files.map(({ path }) => path);
  for (const path of [
    "package.json",
    "README.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "docs/security.md",
    "examples/monitoring/alerts.yaml",
    "schemas/pipeline-v3.schema.json",
  ])
    expect(paths).toContain(path);
  expect(paths.filter((path) => /^(test|engine|reconciler)\/|\.test\.ts$/.test(path))).toEqual([]);
});
