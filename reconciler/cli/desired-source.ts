import { Folder } from "../git/folder.ts";
import { Repository } from "../git/repository.ts";
import type { RevisionSource } from "../git/revision.ts";
import { CliError } from "./cli-error.ts";
import type { Invocation } from "./invocation.ts";

/** Where the pipelines come from, as the settings say. Throws CliError or SourceError for settings that do not fit. */
export function desiredSource({ settings, env }: Invocation): RevisionSource {
  const [repo, dir, branch] = [settings.optional("repo"), settings.optional("dir"), settings.optional("branch")];
  if (repo !== undefined && dir !== undefined) {
    throw new CliError(
      `${settings.origin("repo")} and ${settings.origin("dir")} exclude each other: give a repository or a plain folder`,
    );
  }
  if (dir !== undefined) return new Folder({ path: dir });
  if (repo === undefined) throw new CliError("expected --repo URL|PATH or --dir PATH: where are the pipelines?");
  const [path, dataDir] = [settings.text("path"), settings.text("data_dir")];
  return new Repository({ url: repo, path, dataDir, env, ...(branch !== undefined && { branch }) });
}
