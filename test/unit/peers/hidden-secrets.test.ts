import { assert, property, string } from "fast-check";
import { describe, expect, test } from "vitest";
import { hiding } from "../../../engine/peers/hidden-secrets.ts";
import { echoes } from "../../security/echoes.ts";

const secret = 'p4ss w0rd/"ü+&%';

describe.each(Object.entries(echoes))("a peer that says the secret %s", (_title, said) => {
  test("is shown without it", () => {
    const shown = hiding([secret])(`Login ${said("ada", secret)} failed.`);
    expect(shown).toMatch(/^Login .*\*\*\*.* failed\.$/);
    for (const other of Object.values(echoes)) expect(shown).not.toContain(other("ada", secret));
  });
});

test("in base64, the secret is hidden wherever it begins in a longer text", () => {
  assert(
    property(
      string({ minLength: 8, maxLength: 40 }),
      string({ maxLength: 20 }),
      string({ maxLength: 20 }),
      (hidden, before, after) => {
        const whole = Buffer.from(before + hidden + after);
        for (const alphabet of ["base64", "base64url"] as const) {
          expect(hiding([hidden])(`got <${whole.toString(alphabet)}>`)).toBe("got <***>");
        }
      },
    ),
  );
});

test("user and password of any URL are hidden, the user of ssh is not", () => {
  const hide = hiding([]);
  expect(hide("at https://ada:pw@host/a and http://token@host")).toBe("at https://***@host/a and http://***@host");
  expect(hide("ssh://git:pw@host/a and ssh://git@host/a")).toBe("ssh://git:***@host/a and ssh://git@host/a");
});

test("a text without secrets stays as it is, and a secret of two characters hides nothing", () => {
  const text = "Table d.t does not exist: id = 5, at https://host/a?b=c#d, user@host";
  expect(hiding([secret, "id", "", undefined])(text)).toBe(text);
});

test("a long text without the secret stays as it is: a search that grows with its square would not end", () => {
  const text = "QUJD".repeat(1 << 20);
  expect(hiding([secret])(text) === text).toBe(true);
});
