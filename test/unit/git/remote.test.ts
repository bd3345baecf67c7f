import { resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { parseRemote } from "../../../reconciler/git/remote.ts";
import { normalisePath, SourceError } from "../../../reconciler/git/revision.ts";

describe("a remote", () => {
  test.each([
    ["a folder", "/srv/pipelines", "/srv/pipelines", "/srv/pipelines"],
    ["a relative folder", "./pipelines", resolve("pipelines"), resolve("pipelines")],
    ["a file URL", "file:///srv/pipelines", "file:///srv/pipelines", "file:///srv/pipelines"],
    ["the short form of ssh", "git@host:team/a.git", "git@host:team/a.git", "git@host:team/a.git"],
    ["the short form of ssh with an address of IPv6", "git@[::1]:a.git", "git@[::1]:a.git", "git@[::1]:a.git"],
    ["the short form of ssh with a port", "[host:2222]:a.git", "[host:2222]:a.git", "[host:2222]:a.git"],
    ["ssh", "ssh://git@host:22/a.git", "ssh://git@host:22/a.git", "ssh://git@host:22/a.git"],
    ["ssh with an address of IPv6", "ssh://git@[::1]:22/a.git", "ssh://git@[::1]:22/a.git", "ssh://git@[::1]:22/a.git"],
    ["ssh with a password", "ssh://git:s3cret@host/a.git", "ssh://git@host/a.git", "ssh://git@host/a.git"],
    ["https", "https://host/a.git", "https://host/a.git", "https://host/a.git"],
    ["the Git protocol", "git://host/a.git", "git://host/a.git", "git://host/a.git"],
    ["https with user and password", "https://ada:s3cret@host/a.git", "https://host/a.git", "https://host/a.git"],
    ["https with a token", "https://s3cret@host/a.git", "https://host/a.git", "https://host/a.git"],
    [
      "https with a query",
      "https://host/a.git?key=s3cret",
      "https://host/a.git?key=s3cret",
      "https://host/a.git?redacted",
    ],
  ])("may be %s", (_title, text, url, display) => {
    expect(parseRemote(text)).toMatchObject({ url, display });
  });

  test.each([
    ["an option", "-oProxyCommand=touch /tmp/x"],
    ["an option of upload-pack", "--upload-pack=touch /tmp/x"],
    ["a command", "ext::sh -c touch% /tmp/x"],
    ["a file descriptor", "fd::17"],
    ["a helper", "https::https://host/a.git"],
    ["an ssh host that is an option", "ssh://-oProxyCommand=x/a.git"],
    ["an ssh user that is an option", "ssh://-oProxyCommand=x@host/a.git"],
    ["an ssh host that Git decodes to an option", "ssh://%2doProxyCommand=x/a.git"],
    ["an ssh user that Git decodes to another host", "ssh://x%40evil.example%2f@host/a.git"],
    ["a host that is an option in the short form of ssh", "git@-oProxyCommand=x:a.git"],
    ["a path in which Git finds another host", "ssh://host/@[::1]:22/a.git"],
    ["such a path in the short form of ssh", "git@host:@[::1]/a.git"],
    ["two users in the short form of ssh", "git@evil.example@host:a.git"],
    ["an address in another spelling", "git://0x7f.1/a.git"],
    ["an address of IPv6 without brackets", "git@::1:a.git"],
    ["the Git protocol with a password, which it has no place for", "git://ada:s3cret@host/a.git"],
    ["another protocol", "ftp://host/a.git"],
    ["nothing", ""],
    ["a line break", "https://host/a.git\n--upload-pack=x"],
    ["no URL", "https://"],
  ])("must not be %s", (_title, text) => {
    expect(() => parseRemote(text)).toThrow(SourceError);
    expect(() => parseRemote(text)).toThrow("--repo: expected a folder, file:///folder, https://");
  });

  test.each([
    ["git://host/a.git", "is neither encrypted nor authenticated"],
    ["http://host/a.git", "is not encrypted"],
    ["http://127.0.0.1:8080/a.git", undefined],
    ["https://host/a.git", undefined],
    ["https://host/a.git?key=s3cret", "git shows the query of https://host/a.git?redacted in the list of processes"],
    ["ssh://git@host/a.git", undefined],
  ])("says what is unsafe of %s", (text, warning) => {
    const told = parseRemote(text).warning;
    expect(told === undefined ? undefined : told.includes(warning ?? "nothing")).toBe(warning && true);
  });

  test("that is refused is quoted without its password", () => {
    expect(() => parseRemote("ftp://ada:s3cret@host/a.git")).toThrow(/^(?!.*s3cret)/);
  });

  test.each([
    ["its password", "https://ada:s3cret@host/a.git", "could not log in with s3cret"],
    ["its password as the URL spells it", "https://ada:s3%2Fcret@host/a.git", "https://ada:s3%2Fcret@host s3/cret"],
    ["its token", "https://s3cret-token@host/a.git", "no access for s3cret-token"],
    ["any user information of another URL", "https://host/a.git", "redirected to https://x:s3cret@other/a"],
  ])("takes %s out of a text", (_title, url, text) => {
    expect(parseRemote(url).redact(text)).not.toMatch(/s3.?cret|s3%2Fcret/);
  });

  test("leaves the rest of a text alone", () => {
    const text = "fatal: repository 'https://host/a.git' not found by git";
    expect(parseRemote("https://git:s3cret@host/a.git").redact(text)).toBe(text);
  });
});

describe("--path", () => {
  test.each([
    ["", "."],
    [".", "."],
    ["./prod/", "prod"],
    ["a//b/./c", "a/b/c"],
  ])("%j is %j", (path, expected) => {
    expect(normalisePath(path)).toBe(expected);
  });

  test.each(["..", "a/../../b", "/etc", "a\0b"])("%j leads out of the tree", (path) => {
    expect(() => normalisePath(path)).toThrow("expected a folder inside the repository");
  });
});
