import { execFileSync } from "node:child_process";
import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { EngineError } from "../../../engine/index.ts";
import { FileAndEnvSecrets } from "../../../reconciler/secrets/file-and-env.ts";

const canary = "c4n4ry-value";
const secrets = new FileAndEnvSecrets({ TOKEN: canary, EMPTY: "", NESTED: "${env:TOKEN}", UNDEFINED: undefined });
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sluice-secrets-"));
  await writeFile(join(folder, "token"), `${canary}\n`);
  await writeFile(join(folder, "two-lines"), "one\ntwo\r\n\n");
  await writeFile(join(folder, "empty"), "\n");
  await writeFile(join(folder, "binary"), Buffer.from([0xff, 0xfe, 0x00]));
  await writeFile(join(folder, "huge"), "x".repeat(70_000));
  await symlink(join(folder, "token"), join(folder, "link"));
  execFileSync("mkfifo", [join(folder, "pipe")]);
});

afterAll(() => rm(folder, { recursive: true }));

const at = (text: string) => text.replaceAll("DIR", folder);

describe("what a reference stands for", () => {
  test.each([
    ["a text without a reference is left alone", "plain $HOME {x} $5", "plain $HOME {x} $5"],
    ["a variable", "${env:TOKEN}", canary],
    ["a variable inside of a text, twice", "a${env:TOKEN}b${env:TOKEN}", `a${canary}b${canary}`],
    ["a file, without its last line end", "${file:DIR/token}", canary],
    ["a file behind a link, as mounted secrets are", "${file:DIR/link}", canary],
    ["a file, with all but its last line end", "${file:DIR/two-lines}", "one\ntwo\r\n"],
    ["an escape", "$${env:TOKEN}", "${env:TOKEN}"],
    ["an escape beside a reference", "$${${env:TOKEN}}", "${" + canary + "}"],
    ["a value that looks like a reference is not followed", "${env:NESTED}", "${env:TOKEN}"],
  ])("%s", async (_title, text, expected) => {
    expect(await secrets.resolve(at(text))).toBe(expected);
  });
});

describe("what is refused", () => {
  test.each([
    ["an undefined variable", "${env:MISSING}", "secret ${env:MISSING} is not set"],
    ["a variable without a value", "${env:UNDEFINED}", "${env:UNDEFINED} is not set"],
    ["a name that every object has", "${env:constructor}", "${env:constructor} is not set"],
    ["an empty variable", "${env:EMPTY}", "${env:EMPTY} is empty"],
    ["a missing file", "${file:DIR/missing}", "${file:DIR/missing} cannot be read (ENOENT)"],
    ["an empty file", "${file:DIR/empty}", "is empty"],
    ["a file that is no text", "${file:DIR/binary}", "is not UTF-8 text"],
    ["a file that is too large", "${file:DIR/huge}", "has more than 65536 bytes"],
    ["a device without an end", "${file:/dev/zero}", "is not a file"],
    ["a named pipe", "${file:DIR/pipe}", "is not a file"],
    ["a folder", "${file:DIR}", "is not a file"],
    ["a relative path", "${file:token}", "names a relative path"],
    ["a reference in a reference", "${env:${env:TOKEN}}", "is not a known form of reference"],
    ["a scheme that is not known", "${vault:a/b}", "secret ${…} is not a known form of reference"],
    ["no scheme", "${TOKEN}", "is not a known form of reference"],
    ["no name", "${env:}", "is not a known form of reference"],
    ["no end", "pa${ssword", "secret ${…} is not a known form of reference"],
  ])("%s", async (_title, text, message) => {
    const error = await secrets.resolve(at(text)).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(EngineError);
    expect((error as EngineError).code).toBe("SECRET_NOT_FOUND");
    expect((error as EngineError).message).toContain(at(message));
    expect((error as EngineError).message).not.toContain("ssword");
  });

  test("the error of one reference does not tell the value of another", async () => {
    const error = await secrets.resolve("${env:TOKEN}:${env:MISSING}").catch(String);
    expect(error).not.toContain(canary);
  });
});
