import { cp, mkdir, mkdtemp, rename, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Fault } from "./fault.ts";
import { edited, fileOf, kept } from "./scene.ts";
import type { Scene } from "./scene.ts";

const [first, second, third] = kept;
const all = [...kept, edited];

/** What can happen to a folder without Git: what somebody copies into it is seen step by step. */
export const folderFaults: readonly Fault[] = [
  folderFault("a folder emptied and copied again, file by file", async (folder, scene) => {
    for (const id of all) await rm(join(folder, `${id}.yaml`));
    for (const id of [edited, first, second]) await copy(scene, folder, id);
  }),
  folderFault(
    "a file of several pipelines, written in two steps",
    (folder) => writeFile(join(folder, `${second}.yaml`), fileOf(second)),
    async (folder) => {
      await rm(join(folder, `${third}.yaml`));
      await writeFile(join(folder, `${second}.yaml`), `${fileOf(second)}---\n${fileOf(third)}`);
    },
  ),
  folderFault("a folder renamed, made again and filled", async (folder, scene) => {
    await rename(folder, `${folder}-old`);
    await mkdir(folder);
    for (const id of [first, edited, second]) await copy(scene, folder, id);
  }),
  folderFault("a link swapped to a folder that is still filled", async (folder, scene) => {
    await rename(folder, `${folder}-1`);
    await mkdir(`${folder}-2`);
    await symlink(`${folder}-2`, folder);
    for (const id of [first, edited, second]) await copy(scene, folder, id);
  }),
];

/** Does something to a folder. */
type Deed = (folder: string, scene: Scene) => Promise<void>;

/** A folder is followed, of which `half` leaves only a part without `third`. It is whole again at the end. */
function folderFault(name: string, half: Deed, prepare: Deed = async () => undefined): Fault {
  return {
    name,
    told: "FolderChanging",
    of: third,
    pushes: true,
    isHarmless: true,
    begin: async (scene) => {
      await scene.push();
      const home = await mkdtemp(join(scene.engine.dataDir, "folder-"));
      const folder = join(home, "pipelines");
      await mkdir(folder);
      for (const id of all) await copy(scene, folder, id);
      await prepare(folder, scene);
      await scene.follow({ folder });
      await scene.isFollowing("dir@");
      await half(folder, scene);
      return async () => {
        for (const id of all) await copy(scene, folder, id);
        await scene.follow();
        await rm(home, { recursive: true });
      };
    },
  };
}

function copy({ repository }: Scene, folder: string, id: string): Promise<void> {
  return cp(join(repository.path, `${id}.yaml`), join(folder, `${id}.yaml`));
}
