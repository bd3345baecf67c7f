import { edited, fileOf, kept } from "./scene.ts";
import type { Scene } from "./scene.ts";
import type { FileChange } from "../../support/git-repository.ts";
import type { Fault } from "./fault.ts";

const [first, second] = kept;

/** How much of a thing: `files` is one more than a source may have. */
export interface Amounts {
  files: number;
  commits: number;
}

/** What a commit, or whoever rewrites them, can do. */
export function repositoryFaults({ files, commits }: Amounts): readonly Fault[] {
  return [
    {
      name: "every file removed",
      told: "EmptySource",
      of: first,
      pushes: true,
      begin: async ({ repository }) => {
        await repository.commit(Object.fromEntries([...kept, edited].map((id) => [`${id}.yaml`, null])));
        return async () => void (await repository.git("revert", "--no-edit", "HEAD"));
      },
    },
    {
      name: "branch deleted",
      told: "BranchNotFound",
      begin: async ({ repository }) => {
        await repository.git("branch", "--quiet", "--move", "main", "gone");
        return () => repository.git("branch", "--move", "gone", "main").then(() => undefined);
      },
    },
    {
      name: "history replaced by an unrelated one",
      pushes: true,
      begin: async ({ repository }) => {
        await repository.replaceHistory(Object.fromEntries([...kept, edited].map((id) => [`${id}.yaml`, fileOf(id)])));
        await repository.git("branch", "--quiet", "--delete", "--force", "unrelated");
        return () => undefined;
      },
    },
    {
      name: "a file of 5 MB",
      skipped: "huge.yaml",
      isHarmless: true,
      pushes: true,
      begin: adds("huge.yaml", `a: "${"x".repeat(5 << 20)}"\n`),
    },
    { name: `${files} files`, told: "TooLarge", pushes: true, begin: (scene) => addsMany(scene, files) },
    {
      name: "a link that leads out",
      skipped: "outside.yaml",
      isHarmless: true,
      pushes: true,
      begin: async (scene) => {
        await scene.push({ "outside.yaml": { link: "/etc/passwd" } });
        return () => scene.push({ "outside.yaml": null }).then(() => undefined);
      },
    },
    movesTo("a pointer of Git LFS of another name", { "large.yaml": pointer }),
    movesTo("a linked folder", { shared: { link: "elsewhere" }, "elsewhere/readme.md": "" }),
    { name: "a submodule of itself", skipped: "again", isHarmless: true, pushes: true, begin: addsSubmodule },
    {
      name: "paths that differ in case",
      told: "DuplicateId",
      of: first,
      isHarmless: true,
      pushes: true,
      begin: adds("KEPT-1.yaml", fileOf(first)),
    },
    {
      name: "a byte order mark and CRLF",
      pushes: true,
      begin: replaces(first, `\uFEFF${fileOf(first).replaceAll("\n", "\r\n")}`),
    },
    {
      name: "a NUL byte",
      told: "InvalidFile",
      of: first,
      isHarmless: true,
      pushes: true,
      begin: replaces(first, `${fileOf(first)}\0`),
    },
    {
      name: "a YAML bomb",
      told: "InvalidFile",
      of: first,
      isHarmless: true,
      pushes: true,
      begin: replaces(first, `${bomb}${fileOf(first)}`),
    },
    {
      name: "duplicate keys",
      told: "InvalidFile",
      of: first,
      isHarmless: true,
      pushes: true,
      begin: replaces(first, `${fileOf(first)}version: v3\n`),
    },
    {
      name: "half a file",
      told: "InvalidFile",
      of: first,
      isHarmless: true,
      pushes: true,
      begin: replaces(first, fileOf(first).slice(0, 200)),
    },
    {
      name: "a broken commit in the middle of a series",
      pushes: true,
      calls: ["create between", "stop between", "delete between"],
      begin: async (scene) => {
        await scene.push({ "between.yaml": fileOf("between") });
        await scene.push({ "between.yaml": "pipeline_id: between\n  broken: [" });
        await scene.push({ "between.yaml": null });
        return () => undefined;
      },
    },
    {
      name: `${commits} commits in one breath`,
      pushes: true,
      begin: async (scene) => {
        for (let count = 0; count < commits; count += 1) await scene.push();
        return () => undefined;
      },
    },
    {
      name: "a field that cannot change",
      told: "ImmutableField",
      of: second,
      isHarmless: true,
      pushes: true,
      begin: replaces(second, `${fileOf(second)}resources: { nats: { stream: { max_msgs: 77 } } }\n`),
    },
  ];
}

const bomb = `a: &a [x, x, x, x, x, x, x, x, x]\n${["b", "c", "d", "e", "f", "g"]
  .map((name, index) => `${name}: &${name} [${Array.from({ length: 9 }, () => `*${"abcdef"[index]}`).join(", ")}]\n`)
  .join("")}`;

const pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n";

/** The file of a pipeline goes, and these come, behind which it may be. */
function movesTo(where: string, files: Record<string, FileChange>): Fault {
  const gone = Object.fromEntries(Object.keys(files).map((path) => [path, null]));
  return {
    name: `a file that moves to ${where}`,
    told: "PruneHeld",
    of: first,
    pushes: true,
    isHarmless: true,
    begin: async (scene) => {
      await scene.push({ [`${first}.yaml`]: null, ...files });
      return () => scene.push({ [`${first}.yaml`]: fileOf(first), ...gone }).then(() => undefined);
    },
  };
}

/** A commit with one more file, and one without it. */
function adds(path: string, text: string): Fault["begin"] {
  return async (scene) => {
    await scene.push({ [path]: text });
    return () => scene.push({ [path]: null }).then(() => undefined);
  };
}

/** A commit in which the file of a pipeline says something else, and one in which it is as before. */
function replaces(pipeline_id: string, text: string): Fault["begin"] {
  return async (scene) => {
    await scene.push({ [`${pipeline_id}.yaml`]: text });
    return () => scene.push({ [`${pipeline_id}.yaml`]: fileOf(pipeline_id) }).then(() => undefined);
  };
}

async function addsMany(scene: Scene, many: number): ReturnType<typeof addsSubmodule> {
  const files = Object.fromEntries(Array.from({ length: many }, (_, index) => [`many/${index}.yaml`, "\n"]));
  await scene.push(files);
  return () => scene.push({ many: null }).then(() => undefined);
}

async function addsSubmodule(scene: Scene): Promise<() => Promise<void>> {
  const { repository } = scene;
  await repository.git("update-index", "--add", "--cacheinfo", `160000,${await repository.head()},again`);
  await repository.git("commit", "--quiet", "--message", "A submodule");
  await repository.git("reset", "--quiet", "--hard");
  return async () => {
    await repository.git("rm", "--quiet", "--cached", "again");
    await repository.git("commit", "--quiet", "--message", "No submodule");
  };
}
