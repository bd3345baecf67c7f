import { SourceError } from "./revision.ts";
import type { Signature, SourceReason } from "./revision.ts";

/** What `git verify-commit --raw` said of a signature, and its exit code. */
interface Said {
  code: number;
  output: string;
}

/** Reads the status lines of gpg (its doc/DETAILS). Throws SourceError unless there is one signature, and it is good. */
export function readGpgStatus(subject: string, { code, output }: Said): Signature {
  const lines = [...output.matchAll(/^\[GNUPG:\] (\w+) ?(.*)$/gm)];
  const of = (...names: string[]) =>
    lines.filter(([, name = ""]) => names.includes(name)).map(([, , rest = ""]) => rest);
  const key = (of("BADSIG", "REVKEYSIG", "EXPKEYSIG", "EXPSIG", "NO_PUBKEY", "ERRSIG", "GOODSIG")[0] ?? "").split(
    " ",
  )[0];
  const [valid = "", ...more] = of("VALIDSIG");
  const [good = ""] = of("GOODSIG");
  if (of("BADSIG").length > 0) throw bad(subject, "SignatureInvalid", key);
  if (of("REVKEYSIG").length > 0) throw bad(subject, "SignatureKeyRevoked", key);
  if (of("EXPKEYSIG", "EXPSIG").length > 0) throw bad(subject, "SignatureKeyExpired", key);
  if (of("NO_PUBKEY").length > 0) throw bad(subject, "SignatureKeyUnknown", key);
  if (code !== 0 || good === "" || valid === "" || more.length > 0) throw unclear(subject, output);
  const fields = valid.split(" ");
  return { kind: "gpg", fingerprint: fields[9] ?? fields[0] ?? "", signer: good.slice(good.indexOf(" ") + 1) };
}

/** Reads what ssh-keygen said. Throws SourceError unless an allowed signer made the signature. */
export function readSshVerdict(subject: string, { code, output }: Said): Signature {
  const match = /^Good "git" signature(?: for (.+))? with (\S+) key (SHA256:\S+)$/m.exec(output);
  const [, signer, , fingerprint] = match ?? [];
  if (match === null) {
    const isBad = /incorrect signature|Signature verification failed|Could not verify signature/.test(output);
    throw isBad && !/cannot run|No such file/.test(output)
      ? bad(subject, "SignatureInvalid")
      : unclear(subject, output);
  }
  if (code === 0 && signer !== undefined && fingerprint !== undefined) return { kind: "ssh", fingerprint, signer };
  if (/key has expired|not yet valid/.test(output)) throw bad(subject, "SignatureKeyExpired", fingerprint);
  if (/revoked/i.test(output)) throw bad(subject, "SignatureKeyRevoked", fingerprint);
  if (/No principal matched/.test(output)) throw bad(subject, "SignatureKeyUnknown", fingerprint);
  throw unclear(subject, output);
}

type Badness = Extract<SourceReason, `Signature${string}`>;

const sentences: Readonly<Record<Badness, string>> = {
  SignatureMissing: "is not signed",
  SignatureInvalid: "has a signature that does not fit what was signed: somebody has changed it",
  SignatureKeyUnknown: "is signed with a key that is none of the accepted ones",
  SignatureKeyExpired: "is signed with an accepted key, which is not valid any more, or was not when it signed",
  SignatureKeyRevoked: "is signed with an accepted key that was revoked",
};

function bad(subject: string, reason: Badness, key = ""): SourceError {
  const which = key === "" ? "" : ` (key ${key})`;
  return new SourceError(reason, `${subject} ${sentences[reason]}${which}; nothing of it is applied`);
}

/** Not to know is never told as a bad signature. */
function unclear(subject: string, output: string): SourceError {
  const said = output
    .replaceAll(/\s+/g, " ")
    .replaceAll(/\p{Cc}/gu, "")
    .trim()
    .slice(-300);
  return new SourceError(
    "VerificationUnavailable",
    `the signature of ${subject} cannot be checked: ${said || "no reason was given"}`,
  );
}
