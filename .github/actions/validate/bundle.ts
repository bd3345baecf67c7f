import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const licence = /^(licen[cs]e|copying|notice)(\.\w+)?$/i;
const packageOf = /^(node_modules\/(?:@[^/]+\/)?[^/]+)\//;

/** The files of the action that are made: the program with all that it needs, and the licences of what is in it. */
export async function bundled(): Promise<{ "index.cjs": string; "LICENSES.txt": string }> {
  const {
    outputFiles: [program],
    metafile,
  } = await build({
    absWorkingDir: root,
    entryPoints: ["reconciler/cli/action/action.ts"],
    bundle: true,
    platform: "node",
    format: "cjs",
    target: "node20",
    charset: "utf8",
    legalComments: "none",
    metafile: true,
    write: false,
    logLevel: "warning",
  });
  const packages = Object.keys(metafile.inputs).flatMap((file) => packageOf.exec(file)?.[1] ?? []);
  return {
    "index.cjs": program?.text ?? "",
    "LICENSES.txt": [...new Set(packages)].toSorted().map(licenceOf).join("\n"),
  };
}

/** The licence of a package as it says itself. Throws for a package without one, which must not be handed on. */
function licenceOf(folder: string): string {
  const path = join(root, folder);
  const { name, version, license } = JSON.parse(readFileSync(join(path, "package.json"), "utf8")) as Manifest;
  const texts = readdirSync(path).filter((file) => licence.test(file));
  if (license === undefined) throw new Error(`${name}: expected a licence in its package.json, found none`);
  const shown = texts.toSorted().map((file) => readFileSync(join(path, file), "utf8").trim());
  return [`${name} ${version} (${license})`, "", ...shown, "", "-".repeat(80), ""].join("\n");
}

interface Manifest {
  name: string;
  version: string;
  license?: string;
}
