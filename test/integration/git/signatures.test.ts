import { execFileSync } from "node:child_process";
import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { SignatureSettings } from "../../../reconciler/git/signatures.ts";
import { makeSshKey } from "../../support/git-server.ts";
import { GpgHome, signedBranch, signedWith, tamper } from "../../support/git-signing.ts";
import type { GpgKey } from "../../support/git-signing.ts";
import { isInstalled } from "../../support/programs.ts";
import { requireOrSkip } from "../../support/require-or-skip.ts";
import { failure, refusal, Scene, signal } from "./scene.ts";

const missing = ["gpg", "ssh-keygen"].filter((program) => !isInstalled(program));
let scene: Scene;
let keys: Record<"ada" | "bob" | "old" | "gone", GpgKey>;
let verify: Required<SignatureSettings>;

const file = (name: string) => join(scene.dataDir, name);

/** One branch for each way in which a commit can be signed, or not. */
beforeAll(async () => {
  if (missing.length > 0) return;
  scene = await Scene.make();
  const gpg = scene.add(await GpgHome.create(file("gpg")));
  const [ada, bob, old, gone] = [
    await gpg.key("ada"),
    await gpg.key("bob"),
    await gpg.key("old", { expired: true }),
    await gpg.key("gone"),
  ];
  keys = { ada, bob, old, gone };
  for (const name of ["ada", "bob", "old"]) makeSshKey(file(`ssh-${name}`));
  const { origin } = scene;
  await origin.commit({ "a.yaml": "one" }, "Not signed");
  for (const [name, key] of Object.entries(keys)) await signedBranch(origin, `gpg-${name}`, key);
  for (const name of ["ada", "bob", "old"]) await signedBranch(origin, `ssh-${name}`, { ssh: file(`ssh-${name}.pub`) });
  await tamper(origin, "gpg-ada", "gpg-changed");
  await tamper(origin, "ssh-ada", "ssh-changed");
  await signedBranch(origin, "ssh-back", { ssh: file("ssh-old.pub") }, "2019-01-01T00:00:00Z");
  await signedBranch(origin, "gpg-back", old, "2020-01-01T12:00:00Z");
  await gpg.revoke(gone);
  verify = { gpg: file("keys.asc"), ssh: file("allowed_signers") };
  await writeFile(verify.gpg, await gpg.publicKeys(ada, old, gone));
  const sshKey = (name: string) => readFile(file(`ssh-${name}.pub`), "utf8");
  await writeFile(
    verify.ssh,
    `ada@example.test ${await sshKey("ada")}old@example.test valid-before="20200101" ${await sshKey("old")}`,
  );
});

afterAll(() => scene?.end());

describe.each(["gpg", "ssh"] as const)("a commit that is signed with %s", (kind) => {
  test("by an accepted key is applied, and says by whom", async ({ skip }) => {
    requireOrSkip(missing[0] && `${missing[0]} is not installed`, skip);
    const revision = await scene.open({ branch: `${kind}-ada`, verify }).fetch(signal);
    const fingerprint =
      kind === "gpg"
        ? keys.ada.fingerprint
        : execFileSync("ssh-keygen", ["-lf", file("ssh-ada.pub")], { encoding: "utf8" }).split(" ")[1];
    const signer = kind === "gpg" ? "ada <ada@example.test>" : "ada@example.test";
    expect(revision.signature).toEqual({ kind, fingerprint, signer });
  });

  test.each([
    ["changed after it was signed", "changed", "SignatureInvalid"],
    ["by a key that is not accepted", "bob", "SignatureKeyUnknown"],
    ["by a key that has expired", "old", "SignatureKeyExpired"],
    ["by a key that has expired, and dated back", "back", "SignatureKeyExpired"],
  ])("%s is refused", async (_title, name, reason) => {
    if (missing.length > 0) return;
    expect(await failure(scene.open({ branch: `${kind}-${name}`, verify }))).toMatchObject({ reason, stalls: true });
  });

  test("where only keys of the other kind are accepted is refused", { tags: ["rest"] }, async () => {
    if (missing.length > 0) return;
    const other = kind === "gpg" ? { ssh: verify.ssh } : { gpg: verify.gpg };
    expect((await failure(scene.open({ branch: `${kind}-ada`, verify: other }))).reason).toBe("SignatureKeyUnknown");
  });

  test("but cannot be checked is not told as a bad one", { tags: ["rest"] }, async () => {
    if (missing.length > 0) return;
    const empty = file(`path-${kind}`);
    await mkdir(empty);
    for (const program of ["git", "sh"]) {
      await symlink(
        execFileSync("sh", ["-c", `command -v ${program}`], { encoding: "utf8" }).trim(),
        join(empty, program),
      );
    }
    const env = { ...process.env, PATH: empty };
    const only = kind === "gpg" ? { gpg: verify.gpg } : { ssh: verify.ssh };
    const error = await failure(scene.open({ branch: `${kind}-ada`, verify: only, env }));
    expect(error).toMatchObject({ reason: "VerificationUnavailable", stalls: false });
    expect(error.message).toContain(kind === "gpg" ? "gpg" : "ssh-keygen");
  });
});

describe.skipIf(missing.length > 0)("with signatures asked for", () => {
  test("a commit without one, and one of a revoked key, are refused", async () => {
    expect((await failure(scene.open({ verify }))).reason).toBe("SignatureMissing");
    expect((await failure(scene.open({ branch: "gpg-gone", verify }))).reason).toBe("SignatureKeyRevoked");
  });

  test("the last good revision stays where the next one does not verify, also after a restart", async () => {
    const { origin } = scene;
    await origin.git("branch", "--force", "moving", "gpg-ada");
    const source = scene.open({ branch: "moving", verify });
    const good = await source.fetch(signal);
    await origin.git("branch", "--force", "moving", "gpg-bob");
    for (const one of [source, source, scene.open({ branch: "moving", verify })]) {
      expect((await failure(one)).reason).toBe("SignatureKeyUnknown");
      expect(await one.cached(signal)).toEqual(good);
    }
    await origin.git("branch", "--force", "moving", "ssh-ada");
    expect((await source.fetch(signal)).signature?.kind).toBe("ssh");
  });

  test("a key that is accepted no more makes no revision good, nor the last one", { tags: ["rest"] }, async () => {
    const accepted = file("changing");
    await writeFile(accepted, await readFile(verify.ssh));
    const source = scene.open({ branch: "ssh-ada", verify: { ssh: accepted } });
    const good = await source.fetch(signal);
    expect(await source.fetch(signal)).toBe(good);
    await writeFile(accepted, `bob@example.test ${await readFile(file("ssh-bob.pub"), "utf8")}`);
    expect((await failure(source)).reason).toBe("SignatureKeyUnknown");
    expect((await refusal(source.cached(signal))).reason).toBe("SignatureKeyUnknown");
  });

  test("a commit that was good without them is verified before it is used", { tags: ["rest"] }, async () => {
    await scene.open({ branch: "main" }).fetch(signal);
    expect((await refusal(scene.open({ verify }).cached(signal))).reason).toBe("SignatureMissing");
  });

  test("a commit that is asked for by its hash must be signed as well", { tags: ["rest"] }, async () => {
    const source = scene.open({ branch: "gpg-ada", verify });
    await source.fetch(signal);
    const unsigned = await scene.origin.git("rev-parse", "main");
    expect((await refusal(source.at(unsigned, signal))).reason).toBe("SignatureMissing");
  });

  test("a tag that is signed itself must be good, of one that is not the commit", async () => {
    const { origin } = scene;
    const tag = (name: string, key: GpgKey, commit: string) =>
      origin.git(...signedWith(key), "tag", "--sign", "--message", name, name, commit);
    await tag("good", keys.ada, "main");
    await tag("bad", keys.bob, "gpg-ada");
    await origin.git("tag", "--annotate", "--message", "no signature", "plain", "gpg-ada");
    expect((await scene.open({ tag: "good", verify }).fetch(signal)).signature).toMatchObject({ kind: "gpg" });
    expect((await failure(scene.open({ tag: "bad", verify }))).reason).toBe("SignatureKeyUnknown");
    expect((await scene.open({ tag: "plain", verify }).fetch(signal)).signature).toMatchObject({ kind: "gpg" });
    await origin.git("update-ref", "refs/tags/newest", "refs/tags/good");
    expect(await failure(scene.open({ tag: "newest", verify }))).toMatchObject({
      reason: "SignatureOfOtherTag",
      message: expect.stringMatching(/^tag newest is [0-9a-f]{40}, which was signed as the tag good/),
    });
  });

  test.each([
    ["is not there", undefined, "it cannot be read (ENOENT)"],
    ["is empty", "", "it is empty"],
    ["holds no key", "no key at all\n", "expected public keys as gpg --armor --export writes them"],
  ])("a file of keys that %s is said, and is no bad signature", async (_title, text, says) => {
    const path = file("no-keys.asc");
    if (text !== undefined) await writeFile(path, text);
    const error = await failure(scene.open({ branch: "gpg-ada", verify: { gpg: path } }));
    expect(error.reason).toBe("VerificationUnavailable");
    expect(error.message).toContain(says);
  });
});
