import { createHmac } from "node:crypto";
import { describe, expect, test } from "vitest";
import { isProven, isSigned } from "../../../reconciler/hook/signature.ts";

const now = 1_700_000_000;
const secret = "It's a Secret to Everybody";
const old = "the secret of last month";
const body = Buffer.from("Hello, World!");
/** The example of GitHub's documentation. */
const digest = "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";

const basic = (text: string) => `Basic ${Buffer.from(text).toString("base64")}`;
const proven = (headers: Record<string, string>, sent = body, secrets = [secret]) =>
  isProven(headers, sent, secrets, now);

describe("who knows the secret", () => {
  test.each([
    ["GitHub", { "x-hub-signature-256": `sha256=${digest}` }],
    ["Gitea", { "x-gitea-signature": digest }],
    [
      "Forgejo",
      { "x-forgejo-signature": digest, "x-gitea-signature": digest, "x-hub-signature-256": `sha256=${digest}` },
    ],
    ["any other with HMAC", { "x-signature": `sha256=${digest}` }],
    ["one that writes digits in capitals", { "x-gitea-signature": digest.toUpperCase() }],
    ["Bitbucket", { "x-hub-signature": `sha256=${digest}` }],
    ["GitLab, by the secret itself", { "x-gitlab-token": secret }],
    ["Azure DevOps, by Basic", { authorization: basic(`hook:${secret}`) }],
    ["Azure DevOps, by Basic without a user", { authorization: basic(`:${secret}`).replace("Basic", "basic") }],
    ["Azure DevOps, by a header", { "x-hook-secret": secret }],
  ])("%s", (_, headers) => {
    expect([isSigned(headers), proven(headers), proven(headers, body, [old, secret])]).toEqual([true, true, true]);
  });

  test("GitLab with a signing token, as Standard Webhooks are signed", () => {
    // The example of that specification.
    const given = {
      "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
      "webhook-timestamp": "1614265330",
      "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    };
    const key = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    const sent = Buffer.from('{"test": 2432232314}');
    expect(isProven(given, sent, [key], 1_614_265_400)).toBe(true);
    expect(
      isProven(
        { ...given, "webhook-signature": `v1a,x v1,${"A".repeat(43)}= ${given["webhook-signature"]}` },
        sent,
        [old, key],
        1_614_265_100,
      ),
    ).toBe(true);
    expect(isProven(given, sent, [key], 1_614_265_631)).toBe(false);
    expect(isProven(given, sent, ["whsec_AAAA"], 1_614_265_400)).toBe(false);
    expect(isProven({ ...given, "webhook-id": "another" }, sent, [key], 1_614_265_400)).toBe(false);
  });
});

describe("who does not", () => {
  const other = createHmac("sha256", "another secret").update(body).digest("hex");
  test.each([
    ["another secret", { "x-hub-signature-256": `sha256=${other}` }],
    ["no digest", { "x-hub-signature-256": "sha256=" }],
    ["a part of the digest", { "x-hub-signature-256": `sha256=${digest.slice(0, 32)}` }],
    ["the digest and more", { "x-hub-signature-256": `sha256=${digest}00` }],
    ["two headers that were joined", { "x-signature": `sha256=${digest}, sha256=${digest}` }],
    ["SHA-1, which is not taken", { "x-hub-signature-256": "sha1=01dc10d0c83e72ed246219cdd91669667fe2ca59" }],
    ["no prefix", { "x-hub-signature-256": digest }],
    ["no hexadecimal digits", { "x-gitea-signature": "z".repeat(64) }],
    ["a part of the token", { "x-gitlab-token": secret.slice(1) }],
    ["an empty token", { "x-gitlab-token": "" }],
    ["another password", { authorization: basic(`hook:${secret}s`) }],
    ["no password", { authorization: basic("hook:") }],
    ["the secret as the user", { authorization: basic(`${secret}:hook`) }],
    ["the secret in the clear", { authorization: `Basic hook:${secret}` }],
    ["the secret as another scheme", { authorization: `Bearer ${secret}` }],
    ["another header", { "x-hook-secret": old }],
    ["a time that is none", { "webhook-id": "1", "webhook-timestamp": "soon", "webhook-signature": "v1,x" }],
    ["no time", { "webhook-id": "1", "webhook-signature": "v1,x" }],
  ])("%s", (_, headers) => {
    expect(proven(headers)).toBe(false);
  });

  test("one byte more, or a retired secret", () => {
    const headers = { "x-hub-signature-256": `sha256=${digest}` };
    expect(proven(headers, Buffer.from("Hello, World!\n"))).toBe(false);
    expect(proven(headers, body, [old])).toBe(false);
    expect(proven({ "x-hub-signature": `sha1=${digest.slice(0, 40)}` })).toBe(false);
    expect(isSigned({ "x-signature-256": digest })).toBe(false);
  });
});
