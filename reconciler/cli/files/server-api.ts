import { EngineError } from "../../../engine/language.ts";
import { readReference } from "../../../schemas/index.ts";
import { isLoopback } from "../../listeners/address.ts";
import { Rest, RestError } from "../../pull-request/rest.ts";
import { FileAndEnvSecrets } from "../../secrets/file-and-env.ts";
import { CliError } from "../invocation/cli-error.ts";
import type { Invocation } from "../invocation/invocation.ts";
import type { Settings } from "../invocation/settings.ts";
import { printable } from "../invocation/terminal.ts";

/** The settings that name a server. */
type ServerSetting = "plan_server" | "import_from";

/** An API that is read. */
export interface ServerApi {
  /** Its address, without a slash at the end. */
  name: string;
  /** Parsed JSON. Throws CliError, which names the address and never the token. */
  get(path: string): Promise<unknown>;
}

/** Milliseconds. */
const timeout = 30_000;

/**
 * The API at `server`, which `setting` names, with the token of the settings. An answer has at most `mostBytes`. Throws
 * CliError for an address or a token that cannot be used.
 */
export async function serverApi(
  server: string,
  setting: ServerSetting,
  { settings, env }: Pick<Invocation, "settings" | "env">,
  mostBytes: number,
): Promise<ServerApi> {
  const address = addressOf(server, setting, settings);
  const token = await tokenOf(settings, env);
  if (token !== undefined) refuseToShow(address, setting, settings);
  const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const rest = new Rest({ address: nameOf(address), headers, timeout, mostBytes });
  const get = async (path: string): Promise<unknown> => {
    try {
      return (await rest.call("GET", path)).body;
    } catch (error) {
      if (!(error instanceof RestError)) throw error;
      throw new CliError(printable(`${error.message}${wayOutOf(error, setting, settings)}`), { cause: error });
    }
  };
  return { name: nameOf(address), get };
}

function addressOf(server: string, setting: ServerSetting, settings: Settings): URL {
  const found = URL.canParse(server) ? new URL(server) : undefined;
  const expected = `${settings.origin(setting)}: expected the URL of ${setting === "import_from" ? "an engine" : "a status API"}, such as "http://127.0.0.1:8081", found`;
  if (found === undefined) throw new CliError(`${expected} a text that is no URL`);
  if (found.username === "" && found.password === "" && found.search === "" && found.hash === "") return found;
  throw new CliError(`${expected} one with a user, a query or a fragment: a token is given by --server-token`);
}

/** Without a slash at its end. */
function nameOf({ origin, pathname }: URL): string {
  return `${origin}${pathname}`.replace(/\/+$/, "");
}

/** Of several, one a line, the first: all of them are valid during a rotation. */
async function tokenOf(settings: Settings, env: Invocation["env"]): Promise<string | undefined> {
  const given = settings.optional("server_token");
  if (given === undefined) return undefined;
  const origin = settings.origin("server_token");
  if (readReference(given) === undefined) {
    throw new CliError(
      `${origin}: expected \${env:NAME} or \${file:/path}, found a text that is not exactly one reference`,
    );
  }
  try {
    const [first = ""] = (await new FileAndEnvSecrets(env).resolve(given)).trim().split(/\s*\n\s*/);
    if (/^[\x21-\x7e]+$/.test(first)) return first;
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
    throw new CliError(`${origin}: ${error.message}`, { cause: error });
  }
  throw new CliError(`${origin}: ${given}: expected a token without blanks, as "openssl rand -hex 32" gives`);
}

function refuseToShow({ protocol, hostname, host }: URL, setting: ServerSetting, settings: Settings): void {
  const name = hostname.replace(/^\[|\]$/g, "");
  const isHere = name === "localhost" || (/^[\d.]+$|:/.test(name) && isLoopback(name));
  if (protocol === "https:" || isHere || settings.isOn("insecure")) return;
  throw new CliError(
    `${settings.origin(setting)}: expected https, found http to ${host}, where all on the way would read the token: give a URL with https, or --insecure`,
  );
}

function wayOutOf({ status, isForbidden }: RestError, setting: ServerSetting, settings: Settings): string {
  if (isForbidden) {
    return settings.optional("server_token") === undefined
      ? ": give its token with --server-token"
      : ": --server-token has another token than this API expects";
  }
  if (setting === "import_from") return "";
  if (status === 404) return ": is this the status API (--api) of a sluice of this version?";
  return status === undefined ? ": is --server the address of its status API (--api)?" : "";
}
