import { readReference } from "../../../schemas/index.ts";
import type { ReferenceReader } from "../../secrets/file-and-env.ts";
import type { AccessSettings } from "../../git/credentials.ts";
import { Folder } from "../../git/folder/folder.ts";
import { Repository } from "../../git/repository.ts";
import type { RevisionSource } from "../../git/revision.ts";
import { CliError } from "../invocation/cli-error.ts";
import type { Invocation } from "../invocation/invocation.ts";
import type { Settings } from "../invocation/settings.ts";
import { ofRepository, type SettingName } from "../invocation/settings-table.ts";

/** The source of the pipelines by the settings. Throws CliError or SourceError for settings that exclude each other. */
export function desiredSource({ settings, env }: Invocation, secrets: ReferenceReader): RevisionSource {
  const [repo, dir] = [settings.optional("repo"), settings.optional("dir")];
  exclude(settings, ["repo", "dir"], "give a repository or a plain folder");
  if (dir !== undefined) {
    for (const name of ofRepository) exclude(settings, ["dir", name], "it applies to a repository only");
    return new Folder({ path: dir, settle: settings.duration("dir_settle") });
  }
  if (repo === undefined) throw new CliError("expected --repo URL|PATH or --dir PATH: where are the pipelines?");
  exclude(settings, ["repo", "dir_settle"], "it applies to a plain folder only");
  exclude(settings, ["branch", "tag", "commit"], "name one thing to follow");
  const [path, dataDir] = [settings.text("path"), settings.text("data_dir")];
  const access = accessOf(settings, repo);
  const [gpg, ssh] = [settings.optional("verify_gpg"), settings.optional("verify_ssh")];
  const verify = { ...(gpg !== undefined && { gpg }), ...(ssh !== undefined && { ssh }) };
  const more = { maxSize: settings.size("git_max_size"), approvals: settings.optional("approve") !== undefined };
  return new Repository({ url: repo, ...referenceOf(settings), path, dataDir, env, access, secrets, verify, ...more });
}

/** What is wrong with a URL that every user of this machine can read in the list of processes; undefined where nothing is. */
export function exposedCredentials(settings: Settings): string | undefined {
  const repo = settings.optional("repo") ?? "";
  if (settings.origin("repo") !== "--repo" || !URL.canParse(repo)) return undefined;
  const { protocol, username, password } = new URL(repo);
  const isToken = /^https?:$/.test(protocol) && username !== "" && username !== "git";
  if (password === "" && !isToken) return undefined;
  return "--repo holds a user or a password, which every user of this machine can read in the list of processes: give --git-password or --git-token as a reference, or put the URL into SLUICE_REPO or the settings file";
}

function referenceOf(settings: Settings): { branch?: string; tag?: string; commit?: string } {
  const [branch, tag, commit] = [settings.optional("branch"), settings.optional("tag"), settings.optional("commit")];
  return {
    ...(branch !== undefined && { branch }),
    ...(tag !== undefined && { tag }),
    ...(commit !== undefined && { commit }),
  };
}

function accessOf(settings: Settings, repo: string): AccessSettings {
  exclude(settings, ["git_password", "git_token"], "give one of them");
  exclude(settings, ["git_username", "git_token"], "a token needs no user");
  mustRefer(settings, "git_password");
  mustRefer(settings, "git_token");
  const isGiven = settings.optional("git_password") ?? settings.optional("git_token");
  const name = settings.optional("git_password") === undefined ? "git_token" : "git_password";
  if (isGiven !== undefined && !/^https?:\/\//i.test(repo)) {
    throw new CliError(
      `${settings.origin(name)}: expected a repository over https to use it for; ssh takes --git-ssh-key`,
    );
  }
  if (isGiven !== undefined && /^https?:\/\/[^/]*@/i.test(repo)) {
    throw new CliError(
      `${settings.origin("repo")} holds a user or a password, which ${settings.origin(name)} excludes: take it out`,
    );
  }
  const fields = {
    username: "git_username",
    password: "git_password",
    token: "git_token",
    sshKey: "git_ssh_key",
    knownHosts: "git_known_hosts",
    caFile: "git_ca_file",
  } as const;
  return Object.fromEntries(
    Object.entries(fields).flatMap(([field, setting]) => {
      const value = settings.optional(setting);
      return value === undefined ? [] : [[field, value]];
    }),
  );
}

/** A plain-text secret in a shared file or on a command line is refused. The message does not show it. */
function mustRefer(settings: Settings, name: SettingName): void {
  const value = settings.optional(name);
  if (value === undefined || readReference(value) !== undefined) return;
  throw new CliError(
    `${settings.origin(name)}: expected a reference such as "\${env:NAME}" or "\${file:/path}", found plain text, which is not shown: put the secret into a variable or a file, and name it here`,
  );
}

function exclude(settings: Settings, names: readonly SettingName[], wayOut: string): void {
  const given = names.filter((name) => settings.optional(name) !== undefined);
  if (given.length < 2) return;
  const origins = given.map((name) => settings.origin(name)).join(" and ");
  throw new CliError(`${origins} exclude each other: ${wayOut}`);
}
