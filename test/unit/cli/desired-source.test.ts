import { describe, expect, test } from "vitest";
import { desiredSource, exposedCredentials } from "../../../reconciler/cli/daemon/desired-source.ts";
import type { Invocation } from "../../../reconciler/cli/invocation/invocation.ts";
import { resolveSettings } from "../../../reconciler/cli/invocation/resolve-settings.ts";
import { parseSettings } from "../../../reconciler/cli/invocation/settings-file.ts";
import type { RevisionSource } from "../../../reconciler/git/revision.ts";
import { FileAndEnvSecrets } from "../../../reconciler/secrets/file-and-env.ts";

/** The source that these settings make: what `sluice.yaml` says, one a line. */
function source(...lines: string[]): RevisionSource {
  const file = parseSettings("sluice.yaml", lines.join("\n"));
  const settings = resolveSettings("run", { flags: {}, env: {}, file });
  return desiredSource({ settings, env: {} } as unknown as Invocation, new FileAndEnvSecrets({}));
}

const repo = "repo: https://host/a.git";
const sha = "0123456789abcdef0123456789abcdef01234567";

describe("settings of a repository", () => {
  test.each([
    ["a branch", ["branch: prod"], { branch: "prod" }],
    ["a tag", ["tag: v1"], { tag: "v1" }],
    ["a commit", [`commit: "${sha}"`], { commit: sha }],
    ["credentials by reference", ["git_username: ada", "git_password: ${env:PASSWORD}"], {}],
    ["a token by reference", ["git_token: ${file:/run/token}"], {}],
    ["keys that may sign", ["verify_gpg: keys.asc", "verify_ssh: allowed_signers"], {}],
  ])("may name %s", (_title, lines, expected) => {
    expect(source(repo, ...lines).description).toEqual({
      kind: "git",
      url: "https://host/a.git",
      path: ".",
      ...expected,
    });
  });

  test.each([
    ["a branch and a tag", [repo, "branch: a", "tag: b"], /branch .*:2:1\) and tag .*:3:1\) exclude each other/],
    ["a part of a hash", [repo, "commit: abc1234"], /commit: expected the whole hash of a commit, 40 digits/],
    ["a password and a token", [repo, "git_password: ${env:A}", "git_token: ${env:B}"], /exclude each other: give one/],
    ["a token for ssh", ["repo: git@host:a.git", "git_token: ${env:A}"], /expected a repository over https/],
    ["a password in the URL besides", ["repo: https://ada:x@host/a.git", "git_token: ${env:A}"], /take it out/],
    ["keys for a plain folder", ["dir: pipelines", "verify_gpg: a"], /it applies to a repository only/],
  ])("must not name %s", (_title, lines, expected) => {
    expect(() => source(...lines)).toThrow(expected);
  });

  test.each<[string, string, string, boolean]>([
    ["a password on the command line", "flags", "https://ada:s3cret@host/a.git", true],
    ["a token on the command line", "flags", "https://s3cret@host/a.git", true],
    ["a user of ssh", "flags", "ssh://git@host/a.git", false],
    ["a path", "flags", "../pipelines", false],
    ["a password in a variable", "env", "https://ada:s3cret@host/a.git", false],
  ])("warn of %s: %s %s", (_title, from, url, isExposed) => {
    const flags = from === "flags" ? { repo: url } : {};
    const env = from === "env" ? { SLUICE_REPO: url } : {};
    const warning = exposedCredentials(resolveSettings("run", { flags, env, file: [] }));
    expect(warning === undefined).toBe(!isExposed);
    expect(warning ?? "").not.toContain("s3cret");
  });

  test.each(["git_password", "git_token"])("must not hold the secret itself in %s, which is not shown", (name) => {
    const make = () => source(repo, `${name}: s3cret`);
    expect(make).toThrow('expected a reference such as "${env:NAME}"');
    expect(make).toThrow(/^(?!.*s3cret)/);
  });
});
