import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { cachedFolder } from "../cached-folder.ts";

const run = promisify(execFile);

/** A CA, what it signed, and the files that a broker wants. All texts are PEM. */
export interface Certificates {
  ca: string;
  clientCert: string;
  clientKey: string;
  /** Paths of the CA's certificate, and of the broker's certificate and key in one file. */
  files: { ca: string; server: string };
}

/** Made once, good for ten years; the broker's is for `localhost` and `127.0.0.1`. */
export async function certificates(): Promise<Certificates> {
  const folder = await cachedFolder("kafka", "certificates", makeAll);
  const text = (name: string): Promise<string> => readFile(join(folder, name), "utf8");
  const [ca, clientCert, clientKey] = await Promise.all([text("ca.pem"), text("client.pem"), text("client.key")]);
  return { ca, clientCert, clientKey, files: { ca: join(folder, "ca.pem"), server: join(folder, "server.both.pem") } };
}

/** Of a server or a client, by the CA of {@link certificates}, in a folder; `both` is the path of one file with both. */
export async function newCertificate(
  folder: string,
  of: "server" | "client",
): Promise<{ cert: string; key: string; both: string }> {
  const { files } = await certificates();
  const name = `${of}-${randomBytes(4).toString("hex")}`;
  const names = of === "server" ? ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"] : [];
  // Brokers refuse one for another subject while they run.
  await sign(folder, name, names, { ca: dirname(files.ca), subject: of });
  const text = (end: string): Promise<string> => readFile(join(folder, `${name}.${end}`), "utf8");
  const [cert, key] = [await text("pem"), await text("key")];
  const both = join(folder, `${name}.both.pem`);
  await writeFile(both, key + cert, { mode: 0o600 });
  return { cert, key, both };
}

async function makeAll(folder: string): Promise<void> {
  try {
    const own = ["-x509", "-days", "3650", "-addext", "keyUsage=critical,keyCertSign", "-out", "ca.pem"];
    await request(folder, "ca", "Test CA", own);
    await sign(folder, "server", ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]);
    await sign(folder, "client", []);
    const both = await Promise.all(["server.key", "server.pem"].map((name) => readFile(join(folder, name), "utf8")));
    await writeFile(join(folder, "server.both.pem"), both.join(""), { mode: 0o600 });
  } catch (error) {
    throw new Error(`a broker's certificates are made by openssl, which failed: ${String(error)}`, { cause: error });
  }
}

/** By the CA of a folder, the same one by default. */
async function sign(
  folder: string,
  name: string,
  extensions: string[],
  { ca = folder, subject = name } = {},
): Promise<void> {
  await request(folder, name, subject, [...extensions, "-out", `${name}.csr`]);
  const signer = ["-CA", join(ca, "ca.pem"), "-CAkey", join(ca, "ca.key"), "-CAcreateserial"];
  const terms = ["-days", "3650", "-copy_extensions", "copy"];
  await openssl(folder, ["x509", "-req", "-in", `${name}.csr`, ...signer, ...terms, "-out", `${name}.pem`]);
}

function request(folder: string, name: string, subject: string, rest: string[]): Promise<unknown> {
  const key = ["-newkey", "rsa:2048", "-nodes", "-keyout", `${name}.key`];
  return openssl(folder, ["req", "-new", ...key, "-subj", `/CN=${subject}`, ...rest]);
}

function openssl(cwd: string, args: string[]): Promise<unknown> {
  return run("openssl", args, { cwd });
}
